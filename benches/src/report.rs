//! The output of a bench.

use std::error::Error;
use std::fmt;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

/// The variable that names a file. Each figure that is printed is appended to it as a line of JSON.
const RECORD_VARIABLE: &str = "TOOLCRIB_BENCH_RECORD";

/// One line of a report: a measured figure and its bound.
#[derive(Clone, Debug)]
pub struct Row {
    what: String,
    figure: Figure,
    bound: Option<Bound>,
    /// Another figure, shown for comparison.
    peer: Option<Figure>,
    /// Another figure of the same thing.
    next: Option<Box<Row>>,
}

/// A measured figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A duration.
    Time(Duration),
    /// An amount of memory.
    Bytes(u64),
    /// A percentage, such as the quality of a ranking.
    Percent(f64),
}

#[derive(Clone, Debug)]
struct Bound {
    of: Figure,
    times: f64,
    /// Whether the bound is a minimum instead of a maximum.
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

    const fn unit(self) -> &'static str {
        match self {
            Self::Time(_) => "seconds",
            Self::Bytes(_) => "bytes",
            Self::Percent(_) => "percent",
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
    /// Creates a row with a figure and no bound.
    pub fn new(what: impl Into<String>, figure: impl Into<Figure>) -> Self {
        Self { what: what.into(), figure: figure.into(), bound: None, peer: None, next: None }
    }

    /// Sets a constant as the maximum.
    pub fn at_most(self, bound: impl Into<Figure>) -> Self {
        self.at_most_times(1.0, bound)
    }

    /// Sets a multiple of a peer's figure in the same run as the maximum.
    pub fn at_most_times(mut self, times: f64, peer: impl Into<Figure>) -> Self {
        self.bound = Some(Bound { of: peer.into(), times, is_least: false });
        self
    }

    /// Sets a constant as the minimum.
    pub fn at_least(mut self, bound: impl Into<Figure>) -> Self {
        self.bound = Some(Bound { of: bound.into(), times: 1.0, is_least: true });
        self
    }

    /// Shows the figure of a peer in the same run for comparison, without a bound.
    pub fn beside(mut self, peer: impl Into<Figure>) -> Self {
        self.peer = Some(peer.into());
        self
    }

    /// Shows another figure of the same thing on the same line.
    pub fn and(mut self, next: Self) -> Self {
        self.next = Some(next.into());
        self
    }

    /// Returns whether the figure violates its bound.
    pub fn is_over(&self) -> bool {
        self.next.as_ref().is_some_and(|next| next.is_over()) || self.is_over_itself()
    }

    fn is_over_itself(&self) -> bool {
        let Some(Bound { of, times, is_least }) = &self.bound else { return false };
        let (figure, bound) = (self.figure.amount(), of.amount() * times);
        if *is_least { figure < bound } else { figure > bound }
    }

    /// Prints the line. A figure that violates its bound, or cannot be recorded, makes [`run`] fail at the end.
    #[expect(clippy::print_stdout, reason = "a bench owns its terminal")]
    pub fn print(&self) {
        println!("{self}");
        if self.is_over() {
            OVER.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(path) = std::env::var_os(RECORD_VARIABLE) {
            let title = TITLE.lock().map(|title| title.clone()).unwrap_or_default();
            let file = OpenOptions::new().create(true).append(true).open(path);
            if let Err(error) = file.and_then(|mut file| writeln!(file, "{}", self.record(&title))) {
                println!("could not record this figure: {error}");
                OVER.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Returns the first figure of the row as JSON: its amount in seconds, bytes, or percent, its bound, and whether it
    /// violates the bound.
    fn record(&self, title: &str) -> Value {
        json!({
            "title": title,
            "name": self.what,
            "unit": self.figure.unit(),
            "amount": self.figure.amount(),
            "text": self.figure.to_string(),
            "bound": self.bound.as_ref().map(|bound| bound.of.amount() * bound.times),
            "is_over": self.is_over_itself(),
        })
    }
}

impl fmt::Display for Row {
    /// Writes the name, the figure, the bound, the ratio of the two, and the verdict.
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

/// The number of rows of this program that violate their bounds.
static OVER: AtomicUsize = AtomicUsize::new(0);

/// The error for figures that violate their bounds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OverBound {
    /// The number of figures.
    pub figures: usize,
}

impl fmt::Display for OverBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of the figures above are over their bounds", self.figures)
    }
}

impl fmt::Debug for OverBound {
    /// Writes a message for people, because a program prints the debug form of the error that its `main` returns.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for OverBound {}

/// The title of the part that is being printed.
static TITLE: Mutex<String> = Mutex::new(String::new());

/// Prints the title of a part of the report.
#[expect(clippy::print_stdout, reason = "a bench owns its terminal")]
pub fn title(text: &str) {
    println!("\n{text}");
    if let Ok(mut title) = TITLE.lock() {
        text.clone_into(&mut title);
    }
}

/// A part of a bench, which can run alone.
#[derive(Clone, Copy)]
pub struct Part {
    /// The name on the command line.
    pub name: &'static str,
    /// Measures and prints.
    pub run: fn() -> Result<(), Box<dyn Error>>,
}

/// Runs the parts of a bench that are named on the command line, or all parts. Fails at the end if a figure violates
/// its bound.
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
