//! Charts as inline SVG. Their colors come from the style, and each has a text in words.

use std::time::Duration;

use maud::{Markup, html};

/// The width of a chart in its own units.
const WIDTH: usize = 600;

/// The height of the bars of a chart in its own units.
const HEIGHT: usize = 120;

/// The height of the labels below the bars.
const LABELS: usize = 22;

/// The width and height of the parts of a whole.
const SEGMENTS: (f64, f64) = (600.0, 14.0);

/// The width and height of a sparkline.
const SPARK: (f64, f64) = (160.0, 28.0);

/// The width and height of a timeline.
const TIMELINE: (f64, f64) = (320.0, 28.0);

/// The space of a timeline on each side, so that marks at its ends are whole.
const TIMELINE_MARGIN: f64 = 8.0;

/// A bar of a chart: its label, if it has one, and its parts from the bottom, each with the class of its color.
pub(super) struct Bar<'a> {
    pub(super) label: Option<String>,
    pub(super) parts: Vec<(&'a str, usize)>,
}

impl Bar<'_> {
    fn total(&self) -> usize {
        self.parts.iter().map(|(_, count)| count).sum()
    }
}

/// Renders bars. The text says what they show.
pub(super) fn bars(text: &str, all: &[Bar<'_>]) -> Markup {
    let most = all.iter().map(Bar::total).max().unwrap_or_default().max(1);
    let step = WIDTH / all.len().max(1);
    let gap = if step > 20 { 8 } else { 2 };
    html! {
        svg class="chart" role="img" aria-label=(text) viewBox=(format!("0 0 {WIDTH} {}", HEIGHT + LABELS)) {
            line class="axis" x1="0" y1=(HEIGHT) x2=(WIDTH) y2=(HEIGHT) {}
            text class="label" x="2" y="10" { (most) }
            @for (number, bar) in all.iter().enumerate() {
                @for (class, y, height) in stacked(bar, most) {
                    rect class=(class) x=(number * step + gap / 2) y=(y) width=(step.saturating_sub(gap).max(1)) height=(height) {}
                }
                @if let Some(label) = &bar.label {
                    text class="label middle" x=(number * step + step / 2) y=(HEIGHT + 16) { (label) }
                }
            }
        }
    }
}

/// Returns the parts of a bar with their positions. A part that counts anything is visible.
fn stacked<'a>(bar: &Bar<'a>, most: usize) -> Vec<(&'a str, usize, usize)> {
    let mut top = HEIGHT;
    let parts = bar.parts.iter().filter(|(_, count)| *count > 0);
    parts
        .map(|(class, count)| {
            let height = (count * (HEIGHT - 14) / most).max(2).min(top);
            top -= height;
            (*class, top, height)
        })
        .collect()
}

/// Renders parts of a whole from left to right, each with the class of its color.
pub(super) fn segments(text: &str, parts: &[(&str, f64)]) -> Markup {
    let total: f64 = parts.iter().map(|(_, size)| size).sum::<f64>().max(f64::MIN_POSITIVE);
    let (width, height) = SEGMENTS;
    let mut left = 0.0;
    html! {
        svg class="segments" role="img" aria-label=(text) viewBox=(format!("0 0 {width} {height}")) preserveAspectRatio="none" {
            @for (class, size) in parts {
                @let start = left;
                @let () = left += size / total * width;
                rect class=(class) x=(format!("{start:.1}")) y="0" width=(format!("{:.1}", left - start)) height=(height) {}
            }
        }
    }
}

/// A mark of a timeline. Its shape depends on its class, so that colors are not needed to tell marks apart.
pub(super) struct Mark<'a> {
    /// The time in seconds of any epoch.
    pub(super) at: i64,
    /// `ok`, `failed`, `held`, `time` or `next`.
    pub(super) class: &'a str,
    /// The text that a pointer shows.
    pub(super) text: String,
}

/// Renders marks in time, with a line at the present. The text says what they show.
pub(super) fn timeline(text: &str, marks: &[Mark<'_>], now: i64) -> Markup {
    let (width, height) = TIMELINE;
    let middle = height / 2.0;
    let begin = marks.iter().map(|mark| mark.at).min().unwrap_or(now).min(now);
    let end = marks.iter().map(|mark| mark.at).max().unwrap_or(now).max(now);
    let duration = seconds(begin, end).max(1.0);
    let x = |at: i64| TIMELINE_MARGIN + seconds(begin, at) / duration * (width - 2.0 * TIMELINE_MARGIN);
    html! {
        svg class="timeline-of-runs" role="img" aria-label=(text) viewBox=(format!("0 0 {width} {height}")) {
            line class="axis" x1="0" y1=(middle) x2=(width) y2=(middle) {}
            line class="now" x1=(format!("{:.1}", x(now))) y1="2" x2=(format!("{:.1}", x(now))) y2=(height - 2.0) {}
            @for mark in marks {
                g class=(mark.class) transform=(format!("translate({:.1} {middle})", x(mark.at))) {
                    title { (mark.text) }
                    (shape(mark.class))
                }
            }
        }
    }
}

/// Renders the shape of a mark around the origin.
pub(super) fn shape(class: &str) -> Markup {
    html! {
        @match class {
            "failed" => path class="cross" d="M-4-4L4 4M4-4L-4 4" {},
            "held" => path d="M0-5.5L5.5 0L0 5.5L-5.5 0Z" {},
            "time" => rect x="-4" y="-4" width="8" height="8" {},
            _ => circle r="4.5" {},
        }
    }
}

/// Returns the seconds from one time to another.
fn seconds(from: i64, to: i64) -> f64 {
    Duration::from_secs(u64::try_from(to.saturating_sub(from)).unwrap_or_default()).as_secs_f64()
}

/// Renders a line through values in their order, the oldest first.
pub(super) fn sparkline(text: &str, values: &[f64]) -> Markup {
    let (width, height) = SPARK;
    let (least, most) = values
        .iter()
        .fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(*value), most.max(*value)));
    let range = if most > least { most - least } else { 1.0 };
    let steps = u32::try_from(values.len().saturating_sub(1).max(1)).unwrap_or(u32::MAX);
    let points: Vec<String> = (0_u32..)
        .zip(values)
        .map(|(number, value)| {
            let x = f64::from(number) * (width - 4.0) / f64::from(steps) + 2.0;
            let y = (height - 4.0) * (1.0 - (value - least) / range) + 2.0;
            format!("{x:.1},{y:.1}")
        })
        .collect();
    html! {
        svg class="spark" role="img" aria-label=(text) viewBox=(format!("0 0 {width} {height}")) {
            polyline points=(points.join(" ")) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_that_counts_is_visible_and_none_leaves_the_chart() {
        let bar = Bar { label: None, parts: vec![("ok", 10_000), ("denied", 1), ("failed", 0)] };
        let parts = stacked(&bar, 10_001);
        assert_eq!(parts.len(), 2);
        assert!(parts.iter().all(|(_, y, height)| *height >= 2 && y + height <= HEIGHT), "{parts:?}");
        let svg = bars("calls", &[bar]).into_string();
        assert!(svg.contains("aria-label=\"calls\"") && svg.contains("class=\"denied\""), "{svg}");
    }

    #[test]
    fn a_timeline_places_runs_around_the_present_and_gives_each_outcome_a_shape() {
        let mark = |at, class| Mark { at, class, text: format!("at {at}") };
        let marks = [mark(100, "ok"), mark(150, "failed"), mark(300, "next")];
        let svg = timeline("runs", &marks, 200).into_string();
        for part in [
            "aria-label=\"runs\"",
            "<line class=\"now\" x1=\"160.0\"",
            "<g class=\"ok\" transform=\"translate(8.0 14)\"><title>at 100</title><circle",
            "<g class=\"failed\" transform=\"translate(84.0 14)\"><title>at 150</title><path",
            "<g class=\"next\" transform=\"translate(312.0 14)\">",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert!(timeline("none", &[], 7).into_string().contains("x1=\"8.0\""));
    }

    #[test]
    fn a_sparkline_stays_within_its_frame() {
        let svg = sparkline("values", &[1.0, 5.0, 3.0]).into_string();
        assert!(svg.contains("points=\"2.0,26.0 80.0,2.0 158.0,14.0\""), "{svg}");
        assert!(sparkline("one", &[7.0]).into_string().contains("points=\"2.0,26.0\""));
    }
}
