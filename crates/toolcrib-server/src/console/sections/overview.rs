//! The overview: what waits, the latest calls in numbers, the profiles, and the sources.

use std::time::Duration;

use maud::{Markup, html};

use super::super::charts::{Bar, bars};
use super::super::history::{OutcomeClass, PastCall};
use super::ConsoleView;
use crate::metrics::BUCKETS_MS;

/// The number of minutes of the chart of calls.
const MINUTES: usize = 60;

/// The number of minutes between two labels of the chart.
const LABEL_MINUTES: usize = 15;

impl ConsoleView<'_> {
    pub(super) fn overview(&self) -> Markup {
        let snapshot = self.runtime.snapshot();
        let is_visible = self.visibility();
        let tools = snapshot.iter().filter(|entry| is_visible(entry)).count();
        let all = self.console.history.latest();
        let calls: Vec<&PastCall> =
            all.iter().map(AsRef::as_ref).filter(|call| self.viewer.may_see(call.session())).collect();
        let failed = calls.iter().filter(|call| call.class() != OutcomeClass::Ok).count();
        let saved: u64 = calls.iter().filter_map(|call| call.record.saved_tokens).sum();
        let tile = |value: String, name: &str| html! { div { dt { (name) } dd { (value) } } };
        html! {
            (self.approvals())
            (self.user_questions())
            section id="numbers" data-live="" {
                h2 { "Since the start" }
                dl class="tiles" {
                    (tile(uptime(self.console.history.uptime()), "uptime"))
                    (tile(tools.to_string(), "tools"))
                    (tile(calls.len().to_string(), "latest calls"))
                    (tile(failed.to_string(), "of them not ok"))
                    (tile(median(&calls).map_or("—".to_owned(), milliseconds), "median time"))
                    (tile(saved.to_string(), "tokens saved"))
                }
                div class="charts" {
                    (outcomes(&calls))
                    (latencies(&calls))
                }
                p class="dim" { "Generation " (snapshot.generation()) " of the tools. " a href="/calls" { "All calls" } }
            }
            (self.profiles())
            (self.overrides())
            (self.sources())
        }
    }
}

/// Renders the calls of each minute by outcome.
fn outcomes(calls: &[&PastCall]) -> Markup {
    let mut minutes = vec![[0_usize; OutcomeClass::ALL.len()]; MINUTES];
    for call in calls {
        let minute = usize::try_from(call.ended.elapsed().as_secs() / 60).unwrap_or(usize::MAX);
        let Some(counts) = MINUTES.checked_sub(1 + minute).and_then(|at| minutes.get_mut(at)) else {
            continue;
        };
        for (class, count) in OutcomeClass::ALL.into_iter().zip(counts) {
            *count += usize::from(class == call.class());
        }
    }
    let total = |at: usize| minutes.iter().filter_map(|counts| counts.get(at)).sum::<usize>();
    let totals: Vec<_> =
        OutcomeClass::ALL.iter().enumerate().map(|(at, class)| (class.as_str(), total(at))).collect();
    let words: Vec<String> = totals.iter().map(|(class, count)| format!("{count} {class}")).collect();
    let all: Vec<_> = (0..MINUTES)
        .zip(&minutes)
        .map(|(at, counts)| {
            let ago = MINUTES - at;
            let label = ago.is_multiple_of(LABEL_MINUTES) && ago < MINUTES;
            let parts =
                OutcomeClass::ALL.iter().zip(counts).map(|(class, count)| (class.as_str(), *count)).collect();
            Bar { label: label.then(|| format!("−{ago} min")), parts }
        })
        .collect();
    html! {
        figure {
            figcaption {
                "Calls of the last hour "
                @for (class, count) in &totals { span class=(format!("key {class}")) { (count) " " (class) } " " }
            }
            (bars(&format!("Calls of the last hour by minute: {}", words.join(", ")), &all))
        }
    }
}

/// Renders the histogram of the durations.
fn latencies(calls: &[&PastCall]) -> Markup {
    let bounds = BUCKETS_MS.iter().copied().map(Some).chain([None]);
    let mut counts = vec![0_usize; BUCKETS_MS.len() + 1];
    for call in calls {
        let at = BUCKETS_MS.iter().position(|bound| within(call.record.total_ms, *bound));
        if let Some(count) = counts.get_mut(at.unwrap_or(BUCKETS_MS.len())) {
            *count += 1;
        }
    }
    let labels: Vec<String> = bounds
        .map(|bound| {
            bound
                .map_or("more".to_owned(), |bound| format!("≤{}", milliseconds(Duration::from_millis(bound))))
        })
        .collect();
    let words: Vec<String> =
        labels.iter().zip(&counts).map(|(label, count)| format!("{label}: {count}")).collect();
    let all: Vec<_> = labels
        .iter()
        .zip(&counts)
        .map(|(label, count)| Bar { label: Some(label.clone()), parts: vec![("time", *count)] })
        .collect();
    html! {
        figure {
            figcaption { "Time of the latest calls" }
            (bars(&format!("Calls by duration: {}", words.join(", ")), &all))
        }
    }
}

fn within(total_ms: f64, bound: u64) -> bool {
    Duration::try_from_secs_f64(total_ms / 1_000.0).is_ok_and(|time| time <= Duration::from_millis(bound))
}

/// Returns the median duration.
fn median(calls: &[&PastCall]) -> Option<Duration> {
    let mut all: Vec<f64> = calls.iter().map(|call| call.record.total_ms).collect();
    all.sort_by(f64::total_cmp);
    Duration::try_from_secs_f64(*all.get(all.len() / 2)? / 1_000.0).ok()
}

/// Returns a duration as people read it.
pub(super) fn milliseconds(time: Duration) -> String {
    if time < Duration::from_millis(10) {
        format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
    } else if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else if time < Duration::from_mins(1) {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} min", time.as_secs() / 60)
    }
    .replacen(".0 ", " ", 1)
}

fn uptime(time: Duration) -> String {
    let minutes = time.as_secs() / 60;
    match (minutes / (24 * 60), minutes / 60 % 24, minutes % 60) {
        (0, 0, 0) => format!("{} s", time.as_secs()),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        for (ms, shown) in [(1, "1 ms"), (25, "25 ms"), (1_000, "1 s"), (1_500, "1.5 s"), (300_000, "5 min")]
        {
            assert_eq!(milliseconds(Duration::from_millis(ms)), shown);
        }
        for (seconds, shown) in [(59, "59 s"), (61, "1 min"), (7_260, "2 h 1 min"), (90_000, "1 d 1 h")] {
            assert_eq!(uptime(Duration::from_secs(seconds)), shown);
        }
    }
}
