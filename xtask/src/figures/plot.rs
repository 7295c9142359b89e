//! Plots as SVG files, with colors that suit light and dark pages.

use std::fmt::Write as _;

use super::record::{Figure, Part};

/// The layout of a plot, in pixels.
const WIDTH: f64 = 760.0;
const ROW: f64 = 24.0;
const LABEL: f64 = 330.0;
const TEXT: f64 = 90.0;
const MARGIN: f64 = 10.0;

/// The ratio of the largest to the smallest figure from which a plot has a logarithmic scale.
const LOGARITHMIC: f64 = 30.0;

/// The space below the bars for a note on a logarithmic scale.
const NOTE: f64 = 16.0;

/// The number of letters of a label that fit.
const LABEL_LETTERS: usize = 54;

/// The colors. A picture in a page does not inherit those of the page.
const STYLE: &str = "\
svg { color-scheme: light dark }
text { font: 12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; fill: #18181b }
.note { fill: #52525b; font-size: 11px }
.page { fill: #ffffff }
.bar { fill: #2563b0 }
.peer { fill: #8b95a3 }
.over { fill: #c42b2b }
.bound { stroke: #18181b; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e9ee }
  .note { fill: #a3adbb }
  .page { fill: #1c2027 }
  .bar { fill: #6ca8f0 }
  .peer { fill: #78828f }
  .over { fill: #ff8f8f }
  .bound { stroke: #e6e9ee }
}
";

/// Returns a plot with a bar for each figure.
pub(super) fn plot(part: &Part<'_>) -> String {
    let scale = Scale::of(part);
    let mut marks = String::new();
    let mut top = MARGIN;
    for figure in &part.figures {
        let is_peer = figure.name.starts_with(' ');
        let class = match (figure.is_over, is_peer) {
            (true, _) => "bar over",
            (false, true) => "bar peer",
            (false, false) => "bar",
        };
        let (middle, width) = (top + ROW / 2.0 + 4.0, scale.width(figure.amount));
        // The line of a bound that is close behind the bar stands before the text.
        let bound = figure.bound.map(|bound| scale.width(bound));
        let end = bound.filter(|bound| (width..width + TEXT).contains(bound)).unwrap_or(width);
        let left = MARGIN + if is_peer { 12.0 } else { 0.0 };
        let name: String = figure.name.trim().chars().take(LABEL_LETTERS).collect();
        // Writing to a string does not fail.
        let _ = write!(
            marks,
            "<text x=\"{left}\" y=\"{middle}\">{}</text>\n<rect class=\"{class}\" x=\"{LABEL}\" y=\"{}\" width=\"{width:.1}\" \
             height=\"{}\" rx=\"2\"/>\n<text x=\"{:.1}\" y=\"{middle}\">{}</text>\n",
            escape(&name),
            top + 4.0,
            ROW - 8.0,
            LABEL + end + 6.0,
            escape(&figure.text),
        );
        if let Some(bound) = bound {
            let x = LABEL + bound;
            let _ = writeln!(
                marks,
                "<line class=\"bound\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{}\"/>",
                top + 1.0,
                top + ROW - 1.0,
            );
        }
        top += ROW;
    }
    if scale.is_logarithmic {
        top += NOTE;
        let _ = writeln!(
            marks,
            "<text class=\"note\" x=\"{LABEL}\" y=\"{}\">logarithmic scale</text>",
            top - 4.0
        );
    }
    let height = top + MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" role=\"img\" \
         aria-label=\"{}\">\n<style>\n{STYLE}</style>\n<rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\" rx=\"8\"/>\n{marks}</svg>\n",
        escape(part.title)
    )
}

/// The scale of the bars of a plot.
struct Scale {
    least: f64,
    most: f64,
    is_logarithmic: bool,
}

impl Scale {
    fn of(part: &Part<'_>) -> Self {
        let amounts = || {
            let both = |figure: &&Figure| [Some(figure.amount), figure.bound];
            part.figures.iter().flat_map(both).flatten().filter(|amount| *amount > 0.0)
        };
        let most = amounts().fold(f64::MIN_POSITIVE, f64::max);
        let least = amounts().fold(most, f64::min);
        let is_share = part.unit == "percent";
        Self {
            least,
            most: if is_share { 100.0_f64.max(most) } else { most },
            is_logarithmic: !is_share && most / least > LOGARITHMIC,
        }
    }

    /// Returns the length of a bar.
    fn width(&self, amount: f64) -> f64 {
        let room = WIDTH - LABEL - TEXT;
        let share = if self.is_logarithmic {
            // The smallest bar is a tenth of the room.
            0.1 + 0.9 * (amount.max(self.least) / self.least).ln() / (self.most / self.least).ln()
        } else {
            amount / self.most
        };
        room * share.clamp(0.0, 1.0)
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
