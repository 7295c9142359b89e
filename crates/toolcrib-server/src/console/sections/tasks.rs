//! The page with the background calls, watchers, schedules and scripts.

use maud::{Markup, html};
use serde_json::Value;
use toolcrib_tasks::OwnedTask;

use super::super::charts::sparkline;
use super::super::html::text;
use super::{ConsoleView, heading, session, table};

/// The maximum number of tasks of a kind that are shown.
const MAX_SHOWN: usize = 100;

/// The maximum number of values of a sparkline.
const MAX_VALUES: usize = 60;

/// The kinds of tasks, with their titles.
const KINDS: [(&str, &str); 4] = [
    ("background", "In the background"),
    ("watcher", "Watchers"),
    ("schedule", "Schedules"),
    ("script", "Scripts"),
];

impl ConsoleView<'_> {
    pub(super) async fn tasks(&self) -> Markup {
        let all = self.runtime.tasks().list().await;
        let all: Vec<_> = all
            .iter()
            .map(|task| (task, task.summary()))
            .filter(|(_, summary)| self.viewer.may_see(&summary.session))
            .collect();
        html! {
            @if all.is_empty() { p class="none" { "Nothing runs in the background." } }
            @for (kind, title) in KINDS {
                @let mut of_kind: Vec<_> = all.iter().filter(|(_, summary)| summary.kind == kind).collect();
                @let () = of_kind.sort_by(|(_, one), (_, other)| one.next.is_none().cmp(&other.next.is_none()).then(one.next.cmp(&other.next)));
                section id=(kind) data-live="" {
                    @if !of_kind.is_empty() {
                        (heading(title, of_kind.len()))
                        @let rows = html! {
                            @for (task, summary) in of_kind.iter().take(MAX_SHOWN) {
                                tr {
                                    td data-label="Task" { (text(&summary.id)) }
                                    td data-label="State" { (text(&summary.state)) }
                                    td data-label="What" { (text(&summary.what)) (self.details(task)) }
                                    td data-label="Next" { (text(summary.next.as_deref().unwrap_or("—"))) }
                                    td data-label="Session" { (text(&session(&summary.session))) }
                                }
                            }
                        };
                        (table(title, &["Task", "State", "What", "Next", "Session"], &rows))
                        @if of_kind.len() > MAX_SHOWN { p class="dim" { "and " (of_kind.len() - MAX_SHOWN) " more" } }
                    }
                }
            }
        }
    }

    /// Renders the values of a watcher, or the next runs of a schedule.
    fn details(&self, task: &OwnedTask) -> Markup {
        match task {
            OwnedTask::Watcher(watcher) => {
                let checks = self.runtime.tasks().history(&watcher.task.watcher_id).unwrap_or_default();
                values(&checks)
            }
            OwnedTask::Schedule(schedule) if schedule.task.next_runs.len() > 1 => html! {
                ol class="runs dim" { @for run in &schedule.task.next_runs { li { (text(run)) } } }
            },
            _ => Markup::default(),
        }
    }
}

/// Renders the checks of a watcher, the last one first: the numbers that were read, or else how long the checks took.
fn values(checks: &Value) -> Markup {
    let checks = || checks.as_array().into_iter().flatten().take(MAX_VALUES);
    let mut numbers: Vec<f64> = checks().filter_map(|check| number(check.get("value")?)).collect();
    let mut what = "values";
    if numbers.len() < 2 {
        numbers = checks().filter_map(|check| check.get("took_ms")?.as_f64()).collect();
        what = "milliseconds of checks";
    }
    if numbers.len() < 2 {
        return Markup::default();
    }
    numbers.reverse();
    let last = numbers.last().copied().unwrap_or_default();
    html! {
        div class="values" {
            (sparkline(&format!("The last {} {what}, now {last}", numbers.len()), &numbers))
            span class="dim" { (last) " " @if what != "values" { (what) } }
        }
    }
}

/// Returns the number that a result is, or the only number in its first level.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        Value::Object(fields) => {
            let mut numbers = fields.values().filter_map(Value::as_f64);
            let first = numbers.next();
            first.filter(|_| numbers.next().is_none())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::values;

    #[test]
    fn a_watcher_has_a_line_through_its_numbers_or_its_durations() {
        let checks = json!([{"value": {"n": 3, "unit": "x"}, "took_ms": 1}, {"value": "1", "took_ms": 2}]);
        let html = values(&checks).into_string();
        assert!(html.contains("The last 2 values, now 3"), "{html}");
        let html = values(&json!([{"value": "x", "took_ms": 4}, {"error": "e", "took_ms": 2}])).into_string();
        assert!(html.contains("The last 2 milliseconds of checks, now 4"), "{html}");
        assert_eq!(values(&json!([{"value": 1, "took_ms": 4}])).into_string(), "");
    }
}
