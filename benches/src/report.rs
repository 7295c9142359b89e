//! What a bench prints.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// One line of a report: what was measured, and the bound that it is held against.
#[derive(Clone, Debug)]
pub struct Row {
    what: String,
    figure: Figure,
    bound: Option<Bound>,
}

/// Something that was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A duration.
    Time(Duration),
    /// An amount of memory.
    Bytes(u64),
}

#[derive(Clone, Debug)]
struct Bound {
    of: Figure,
    times: f64,
}

impl Figure {
    #[expect(clippy::cast_precision_loss, reason = "far below 2⁵³")]
    fn amount(self) -> f64 {
        match self {
            Self::Time(time) => time.as_secs_f64(),
            Self::Bytes(bytes) => bytes as f64,
        }
    }
}

impl From<Duration> for Figure {
    fn from(time: Duration) -> Self {
        Self::Time(time)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MEBIBYTE: f64 = 1024.0 * 1024.0;
        let amount = self.amount();
        let text = match self {
            Self::Bytes(_) => format!("{:.1} MiB", amount / MEBIBYTE),
            Self::Time(_) if amount < 1e-6 => format!("{:.0} ns", amount * 1e9),
            Self::Time(_) if amount < 1e-3 => format!("{:.2} µs", amount * 1e6),
            Self::Time(_) if amount < 1.0 => format!("{:.1} ms", amount * 1e3),
            Self::Time(_) => format!("{amount:.2} s"),
        };
        f.pad(&text)
    }
}

impl Row {
    /// A figure that is told and held against nothing.
    pub fn new(what: impl Into<String>, figure: impl Into<Figure>) -> Self {
        Self { what: what.into(), figure: figure.into(), bound: None }
    }

    /// Holds the figure against one that is written down.
    pub fn at_most(self, bound: impl Into<Figure>) -> Self {
        self.at_most_times(1.0, bound)
    }

    /// Holds the figure against so many times another one, of a peer in the same run.
    pub fn at_most_times(mut self, times: f64, peer: impl Into<Figure>) -> Self {
        self.bound = Some(Bound { of: peer.into(), times });
        self
    }

    /// Whether the figure is over its bound.
    pub fn is_over(&self) -> bool {
        self.bound.as_ref().is_some_and(|bound| self.figure.amount() > bound.of.amount() * bound.times)
    }

    /// Prints the line.
    #[expect(clippy::print_stdout, reason = "a bench owns its terminal")]
    pub fn print(&self) {
        println!("{self}");
    }
}

impl fmt::Display for Row {
    /// What, figure, bound, the ratio of the two, and the verdict.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<58} {:>10}", self.what, self.figure)?;
        let Some(Bound { of, times }) = &self.bound else { return Ok(()) };
        #[expect(clippy::float_cmp, reason = "1.0 is written, not computed")]
        let bound = if *times == 1.0 { of.to_string() } else { format!("{times} × {of}") };
        let ratio = self.figure.amount() / of.amount();
        let verdict = if self.is_over() { "over" } else { "ok" };
        write!(f, "   bound {bound:>14}   ratio {ratio:>6.2}   {verdict}")
    }
}

/// Prints the title of a part of the report.
#[expect(clippy::print_stdout, reason = "a bench owns its terminal")]
pub fn title(text: &str) {
    println!("\n{text}");
}

/// A part of a bench, which can be run by itself.
#[derive(Clone, Copy)]
pub struct Part {
    /// What it is called on the command line.
    pub name: &'static str,
    /// Measures and prints.
    pub run: fn() -> Result<(), Box<dyn Error>>,
}

/// Runs the parts of a bench that the command line names, all when it names none.
pub fn run(parts: &[Part]) -> Result<(), Box<dyn Error>> {
    // Cargo itself adds `--bench`.
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    if let Some(unknown) = wanted.iter().find(|name| parts.iter().all(|part| part.name != **name)) {
        let names: Vec<_> = parts.iter().map(|part| part.name).collect();
        return Err(format!("there is no part `{unknown}`; there is: {}", names.join(", ")).into());
    }
    let is_wanted = |part: &&Part| wanted.is_empty() || wanted.iter().any(|name| name == part.name);
    parts.iter().filter(is_wanted).try_for_each(|part| (part.run)())
}
