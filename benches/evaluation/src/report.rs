//! The figures of a run, as a table and as JSON, beside their bounds.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use crate::agent::{Searched, Unanswerable};
use crate::usage::{Cost, Kind, Usage};

/// The outcome of one task.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) id: &'static str,
    pub(crate) request: &'static str,
    /// The reason of a failure.
    pub(crate) failure: Option<String>,
    pub(crate) usage: Usage,
    pub(crate) searched: Vec<Searched>,
    pub(crate) unanswerable: Vec<Unanswerable>,
}

/// A run of all tasks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) outcomes: Vec<Outcome>,
    /// The tokens of the definitions that the agent is shown before it does anything.
    pub(crate) definitions: u32,
    pub(crate) tools_listed: usize,
    /// The tools of the app.
    pub(crate) tools: u64,
}

/// A figure and its bound.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Check {
    name: String,
    figure: f64,
    bound: f64,
    is_least: bool,
}

impl Check {
    pub(crate) fn holds(&self) -> bool {
        if self.is_least { self.figure >= self.bound } else { self.figure <= self.bound }
    }
}

impl Report {
    fn total(&self) -> Usage {
        let mut total = Usage::default();
        for outcome in &self.outcomes {
            total += outcome.usage;
        }
        total
    }

    fn done(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.failure.is_none()).count()
    }

    /// Returns the share of searches that showed the tool among the first so many, in percent.
    fn hits(&self, most: usize) -> f64 {
        let searched: Vec<_> = self.outcomes.iter().flat_map(|outcome| &outcome.searched).collect();
        let hits = searched.iter().filter(|one| one.rank.is_some_and(|rank| rank <= most)).count();
        share(hits, searched.len())
    }

    fn refused(&self) -> f64 {
        let all: Vec<_> = self.outcomes.iter().flat_map(|outcome| &outcome.unanswerable).collect();
        share(all.iter().filter(|one| one.is_refused).count(), all.len())
    }

    /// Returns the tokens of the task at this place of a hundred.
    fn percentile(&self, percent: usize) -> u32 {
        let mut tokens: Vec<u32> = self.outcomes.iter().map(|outcome| outcome.usage.total().tokens).collect();
        tokens.sort_unstable();
        let place = (tokens.len() * percent).div_ceil(100).saturating_sub(1);
        tokens.get(place).copied().unwrap_or_default()
    }

    /// Compares the figures with the bounds of a file; those that it does not name have none.
    pub(crate) fn checks(&self, bounds: &Map<String, Value>) -> Result<Vec<Check>> {
        let total = self.total();
        let Cost { calls, tokens } = total.total();
        let inspections = total.of(Kind::Inspect).calls;
        let tasks = self.outcomes.len().max(1);
        let mean = |figure: u32| f64::from(figure) / f64::from(u32::try_from(tasks).unwrap_or(u32::MAX));
        let before = |name: &str| -> Result<f64> {
            let baseline = bounds.get("before").and_then(Value::as_object).context("no `before`")?;
            baseline.get(name).and_then(Value::as_f64).with_context(|| format!("no `{name}` in `before`"))
        };
        let mut checks = Vec::new();
        for (name, bound) in bounds.iter().filter(|(_, bound)| !bound.is_object()) {
            let bound = bound.as_f64().with_context(|| format!("`{name}` is not a number"))?;
            let (figure, is_least) = match name.as_str() {
                "done_percent" => (share(self.done(), self.outcomes.len()), true),
                "mean_tokens" => (mean(tokens), false),
                "mean_calls" => (mean(calls), false),
                "tokens_percent_of_before" => (100.0 * mean(tokens) / before("mean_tokens")?, false),
                "inspections_percent_of_before" => {
                    (100.0 * mean(inspections) / before("mean_inspections")?, false)
                }
                "hit_1_percent" => (self.hits(1), true),
                "hit_5_percent" => (self.hits(5), true),
                "refused_percent" => (self.refused(), true),
                "definition_tokens" => (f64::from(self.definitions), false),
                other => anyhow::bail!("there is no figure `{other}`"),
            };
            checks.push(Check { name: name.clone(), figure, bound, is_least });
        }
        Ok(checks)
    }

    /// Writes the table that people read.
    pub(crate) fn text(&self, checks: &[Check]) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "{} tools; {} listed, {} tokens\n\n{:<20} {:>5} {:>7}  {:>7} {:>7} {:>7} {:>7}  ranks",
            self.tools,
            self.tools_listed,
            self.definitions,
            "task",
            "calls",
            "tokens",
            "search",
            "inspect",
            "execute",
            "read"
        );
        for outcome in &self.outcomes {
            let ranks =
                outcome.searched.iter().map(|one| one.rank.map_or("–".to_owned(), |rank| rank.to_string()));
            let refused = outcome
                .unanswerable
                .iter()
                .map(|one| if one.is_refused { "refused" } else { "shown others" });
            let ranks = ranks.chain(refused.map(str::to_owned)).collect::<Vec<_>>().join(", ");
            let _ = writeln!(text, "{}  {ranks}", row(outcome.id, &outcome.usage));
            if let Some(failure) = &outcome.failure {
                let _ = writeln!(text, "    FAILED: {failure}");
            }
        }
        let total = self.total();
        let calls = Kind::ALL.map(|kind| format!("{} {}", total.of(kind).calls, kind.name())).join(", ");
        let _ = writeln!(text, "{}\n", row("all", &total));
        let _ = writeln!(text, "done: {} of {}; calls: {calls}", self.done(), self.outcomes.len());
        let _ = writeln!(text, "tokens of a task: p50 {}, p90 {}", self.percentile(50), self.percentile(90));
        let _ = writeln!(
            text,
            "searches: hit@1 {:.0} %, hit@3 {:.0} %, hit@5 {:.0} %; of those for what no tool does, {:.0} % say so",
            self.hits(1),
            self.hits(3),
            self.hits(5),
            self.refused()
        );
        for check in checks {
            let (word, mark) = if check.is_least { ("at least", check) } else { ("at most", check) };
            let verdict = if mark.holds() { "" } else { "  OVER THE BOUND" };
            let _ =
                writeln!(text, "{:<30} {:>9.1}  {word} {}{verdict}", check.name, check.figure, check.bound);
        }
        text
    }

    /// Returns all figures.
    pub(crate) fn json(&self, checks: &[Check]) -> Value {
        let tasks = self.outcomes.iter().map(|outcome| {
            let searched = outcome.searched.iter().map(|one| json!({"query": one.query, "rank": one.rank}));
            let vain =
                outcome.unanswerable.iter().map(|one| json!({"query": one.query, "refused": one.is_refused}));
            json!({
                "id": outcome.id, "request": outcome.request, "done": outcome.failure.is_none(),
                "failure": outcome.failure, "usage": outcome.usage.json(),
                "searches": searched.collect::<Vec<_>>(), "unanswerable": vain.collect::<Vec<_>>(),
            })
        });
        let checks = checks.iter().map(|check| {
            json!({"name": check.name, "figure": check.figure, "bound": check.bound, "holds": check.holds()})
        });
        json!({
            "tools": self.tools, "listed": {"tools": self.tools_listed, "tokens": self.definitions},
            "done": self.done(), "total": self.total().json(),
            "tokens": {"p50": self.percentile(50), "p90": self.percentile(90)},
            "searches": {"hit_1": self.hits(1), "hit_3": self.hits(3), "hit_5": self.hits(5), "refused": self.refused()},
            "checks": checks.collect::<Vec<_>>(), "tasks": tasks.collect::<Vec<_>>(),
        })
    }
}

fn row(name: &str, usage: &Usage) -> String {
    let Cost { calls, tokens } = usage.total();
    let kinds = Kind::ALL.map(|kind| format!("{:>7}", usage.of(kind).tokens)).join(" ");
    format!("{name:<20} {calls:>5} {tokens:>7}  {kinds}")
}

#[expect(clippy::cast_precision_loss, reason = "far below 2⁵³")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { 100.0 * part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    fn report() -> Report {
        let outcome = |rank: Option<usize>, failure: Option<&str>| {
            let mut usage = Usage::default();
            usage.add("get_tool", &json!({"name": "a.b"}), &[]);
            Outcome {
                id: "a",
                request: "",
                failure: failure.map(str::to_owned),
                usage,
                searched: vec![Searched { query: "q".into(), rank }],
                unanswerable: Vec::new(),
            }
        };
        Report { outcomes: vec![outcome(Some(1), None), outcome(Some(4), Some("no"))], ..Report::default() }
    }

    #[test]
    fn a_figure_beyond_its_bound_is_over_it() {
        let bounds = bounds(&json!({
            "done_percent": 60, "hit_1_percent": 50, "hit_5_percent": 100, "mean_calls": 0.5,
            "inspections_percent_of_before": 50, "before": {"mean_inspections": 2},
        }));
        let checks = report().checks(&bounds).unwrap();
        let held: Vec<_> = checks.iter().map(|check| (check.name.as_str(), check.holds())).collect();
        assert_eq!(
            held,
            [
                ("done_percent", false),
                ("hit_1_percent", true),
                ("hit_5_percent", true),
                ("mean_calls", false),
                ("inspections_percent_of_before", true),
            ]
        );
    }

    #[test]
    fn a_bound_of_an_unknown_figure_is_an_error() {
        assert!(report().checks(&bounds(&json!({"speed": 1}))).is_err());
    }
}
