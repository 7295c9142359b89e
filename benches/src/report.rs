//! The output of a bench.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// One line of a report: what was measured, and the bound that it is held against.
#[derive(Clone, Debug)]
pub struct Row {
    what: String,
    figure: Figure,
    bound: Option<Bound>,
    /// Another figure that it is shown beside.
    peer: Option<Figure>,
    /// Another figure of the same thing.
    next: Option<Box<Row>>,
}

/// Something that was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A duration.
    Time(Duration),
    /// An amount of memory.
    Bytes(u64),
    /// A share of a hundred, such as how good a ranking is.
    Percent(f64),
}

#[derive(Clone, Debug)]
struct Bound {
    of: Figure,
    times: f64,
    /// Whether the figure has to reach it, and not to stay below.
    is_least: bool,
}

impl Figure {
    #[expect(clippy::cast_precision_loss, reason = "far below 2⁵³")]
    fn amount(self) -> f64 {
        match self {
            Self::Time(time) => time.as_secs_f64(),
            Self::Bytes(bytes) => bytes as f64,
            Self::Percent(share) => share,
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
            Self::Percent(_) => format!("{amount:.1} %"),
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
        Self { what: what.into(), figure: figure.into(), bound: None, peer: None, next: None }
    }

    /// Holds the figure against one that is written down.
    pub fn at_most(self, bound: impl Into<Figure>) -> Self {
        self.at_most_times(1.0, bound)
    }

    /// Holds the figure against so many times another one, of a peer in the same run.
    pub fn at_most_times(mut self, times: f64, peer: impl Into<Figure>) -> Self {
        self.bound = Some(Bound { of: peer.into(), times, is_least: false });
        self
    }

    /// Holds the figure, of which more is better, against one that is written down.
    pub fn at_least(mut self, bound: impl Into<Figure>) -> Self {
        self.bound = Some(Bound { of: bound.into(), times: 1.0, is_least: true });
        self
    }

    /// Shows the figure beside that of a peer in the same run, which is no bound.
    pub fn beside(mut self, peer: impl Into<Figure>) -> Self {
        self.peer = Some(peer.into());
        self
    }

    /// Shows another figure of the same thing on the same line.
    pub fn and(mut self, next: Self) -> Self {
        self.next = Some(next.into());
        self
    }

    /// Whether a figure is on the wrong side of its bound.
    pub fn is_over(&self) -> bool {
        self.next.as_ref().is_some_and(|next| next.is_over()) || self.is_over_itself()
    }

    fn is_over_itself(&self) -> bool {
        let Some(Bound { of, times, is_least }) = &self.bound else { return false };
        let (figure, bound) = (self.figure.amount(), of.amount() * times);
        if *is_least { figure < bound } else { figure > bound }
    }

    /// Prints the line. A figure that is over its bound makes [`run`] fail in the end.
    #[expect(clippy::print_stdout, reason = "a bench owns its terminal")]
    pub fn print(&self) {
        println!("{self}");
        if self.is_over() {
            OVER.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl fmt::Display for Row {
    /// What, figure, bound, the ratio of the two, and the verdict.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<62}", self.what)?;
        let mut figures = Some(self);
        while let Some(row) = figures {
            row.fmt_figure(f)?;
            figures = row.next.as_deref();
        }
        Ok(())
    }
}

impl Row {
    fn fmt_figure(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {:>10}", self.figure)?;
        if let Some(peer) = self.peer {
            let ratio = self.figure.amount() / peer.amount();
            write!(f, "   beside {peer:>13}   ratio {ratio:>6.2}")?;
        }
        let Some(Bound { of, times, is_least }) = &self.bound else { return Ok(()) };
        #[expect(clippy::float_cmp, reason = "1.0 is written, not computed")]
        let bound = if *times == 1.0 { of.to_string() } else { format!("{times} × {of}") };
        let ratio = self.figure.amount() / of.amount();
        let verdict = match (self.is_over_itself(), is_least) {
            (false, _) => "ok",
            (true, false) => "over",
            (true, true) => "short",
        };
        write!(f, "   bound {bound:>14}   ratio {ratio:>6.2}   {verdict:<5}")
    }
}

/// How many rows of this program were over their bounds.
static OVER: AtomicUsize = AtomicUsize::new(0);

/// Figures that are over their bounds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OverBound {
    /// How many.
    pub figures: usize,
}

impl fmt::Display for OverBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of the figures above are over their bounds", self.figures)
    }
}

impl fmt::Debug for OverBound {
    /// As people read it, since that is what a program shows whose `main` fails.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for OverBound {}

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

/// Runs the parts of a bench that the command line names, all when it names none. Fails in the end when a figure was
/// over its bound.
pub fn run(parts: &[Part]) -> Result<(), Box<dyn Error>> {
    // Cargo itself adds `--bench`.
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    if let Some(unknown) = wanted.iter().find(|name| parts.iter().all(|part| part.name != **name)) {
        let names: Vec<_> = parts.iter().map(|part| part.name).collect();
        return Err(format!("there is no part `{unknown}`; there is: {}", names.join(", ")).into());
    }
    let is_wanted = |part: &&Part| wanted.is_empty() || wanted.iter().any(|name| name == part.name);
    parts.iter().filter(is_wanted).try_for_each(|part| (part.run)())?;
    match OVER.load(Ordering::Relaxed) {
        0 => Ok(()),
        figures => Err(OverBound { figures }.into()),
    }
}
