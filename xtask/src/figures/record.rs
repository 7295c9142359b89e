//! The record of figures: one line of JSON for each.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The units in the order of their plots. They have no scale in common.
const UNITS: [&str; 4] = ["percent", "seconds", "tokens", "bytes"];

/// The output of a bench: a line of JSON for each figure.
pub(crate) struct Measurement {
    pub(crate) bench: String,
    pub(crate) text: String,
}

/// A figure.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    bench: String,
    title: String,
    pub(super) name: String,
    unit: String,
    /// The amount as people read it.
    pub(super) text: String,
    pub(super) amount: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bound: Option<f64>,
    pub(super) is_over: bool,
    machine: String,
    commit: String,
}

/// The figures of one title and one unit, which a plot shows.
pub(super) struct Part<'a> {
    pub(super) bench: &'a str,
    pub(super) title: &'a str,
    pub(super) unit: &'a str,
    pub(super) machine: &'a str,
    pub(super) commit: &'a str,
    pub(super) figures: Vec<&'a Figure>,
}

/// The latest figures.
#[derive(Default)]
pub(super) struct Record {
    figures: Vec<Figure>,
}

impl Record {
    /// Reads a record. It is empty if there is no file.
    pub(super) fn read(path: &Path) -> Result<Self> {
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        let figures = text.lines().map(|line| {
            serde_json::from_str(line).with_context(|| format!("expected a figure, found {line}"))
        });
        Ok(Self { figures: figures.collect::<Result<_>>()? })
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let lines = self.figures.iter().map(|figure| Ok(format!("{}\n", serde_json::to_string(figure)?)));
        let text = lines.collect::<Result<String>>()?;
        fs::write(path, text).with_context(|| format!("could not write {}", path.display()))
    }

    /// Replaces the parts that a bench has measured.
    pub(super) fn merge(&mut self, measured: &Measurement, root: &Path) -> Result<()> {
        let (machine, commit) = (machine(), commit(root)?);
        let mut new: Vec<Figure> = Vec::new();
        for line in measured.text.lines() {
            let mut fields: Map<String, Value> = serde_json::from_str(line)
                .with_context(|| format!("expected a line of JSON, found {line}"))?;
            for (key, value) in [("bench", &measured.bench), ("machine", &machine), ("commit", &commit)] {
                fields.insert(key.to_owned(), value.clone().into());
            }
            let title = fields.get("title").and_then(Value::as_str).unwrap_or_default().trim().to_owned();
            fields.insert("title".to_owned(), title.into());
            let figure: Figure = serde_json::from_value(fields.into())
                .with_context(|| format!("expected a figure, found {line}"))?;
            new.retain(|other| !(other.title == figure.title && other.name == figure.name));
            new.push(figure);
        }
        self.figures.retain(|old| new.iter().all(|figure| figure.title != old.title));
        self.figures.extend(new);
        Ok(())
    }

    /// Returns true if there is a figure of a bench.
    pub(super) fn has(&self, bench: &str) -> bool {
        self.figures.iter().any(|figure| figure.bench == bench)
    }

    /// Returns the parts in the order of their units.
    pub(super) fn parts(&self) -> Vec<Part<'_>> {
        let mut parts: Vec<Part<'_>> = Vec::new();
        for figure in &self.figures {
            match parts.iter_mut().find(|part| part.title == figure.title && part.unit == figure.unit) {
                Some(part) => part.figures.push(figure),
                None => parts.push(Part {
                    bench: &figure.bench,
                    title: &figure.title,
                    unit: &figure.unit,
                    machine: &figure.machine,
                    commit: &figure.commit,
                    figures: vec![figure],
                }),
            }
        }
        parts.sort_by_key(|part| UNITS.iter().position(|unit| *unit == part.unit));
        parts
    }
}

impl Part<'_> {
    /// Returns the name of the file of its plot.
    pub(super) fn slug(&self) -> String {
        let words = self.title.split(|letter: char| !letter.is_ascii_alphanumeric());
        let words: Vec<_> = words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect();
        format!("{}-{}", words.join("-"), self.unit)
    }
}

/// Returns the processor, the number of its threads, and the system.
fn machine() -> String {
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, model)| model.trim().to_owned());
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("Measured on {model}, {threads} threads, {}", std::env::consts::OS)
}

/// Returns the short hash of the commit, with a mark if files differ from it.
fn commit(root: &Path) -> Result<String> {
    let output = Command::new("git")
        .args(["describe", "--always", "--dirty", "--exclude", "*"])
        .current_dir(root)
        .output()
        .context("could not start git")?;
    ensure!(output.status.success(), "git describe: {}", String::from_utf8_lossy(&output.stderr));
    Ok(format!("commit `{}`.", String::from_utf8_lossy(&output.stdout).trim()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Measurement, Record};

    #[test]
    fn what_is_measured_again_replaces_the_whole_part() {
        let line = |name: &str, text: &str| {
            format!(
                r#"{{"title":"query","name":"{name}","unit":"seconds","amount":1.0,"text":"{text}","bound":null,"is_over":false}}"#
            )
        };
        let (mut record, root) = (Record::default(), Path::new(env!("CARGO_MANIFEST_DIR")));
        for (one, other) in [(line("a", "1 s"), line("b", "2 s")), (line("a", "3 s"), line("a", "4 s"))] {
            let measured = Measurement { bench: "search".to_owned(), text: format!("{one}\n{other}\n") };
            record.merge(&measured, root).unwrap();
        }
        let parts = record.parts();
        let texts: Vec<_> = parts.iter().flat_map(|part| &part.figures).map(|figure| &figure.text).collect();
        assert_eq!(texts, ["4 s"]);
        assert!(parts[0].commit.starts_with("commit `"), "{}", parts[0].commit);
    }
}
