//! The page with the background calls, watchers, schedules and scripts.

use jiff::Timestamp;
use maud::{Markup, html};
use serde_json::Value;
use toolcrib_tasks::OwnedTask;
use toolcrib_tasks::schedule::{RunOutcome, ScheduleTimeline};

use super::super::charts::{Mark, shape, sparkline, timeline};
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
                        @if kind == "schedule" { (legend()) }
                        @let rows = html! {
                            @for (task, summary) in of_kind.iter().take(MAX_SHOWN) {
                                tr {
                                    td data-label="Task" { (text(&summary.id)) }
                                    td data-label="State" class="number" { (text(&summary.state)) }
                                    td data-label="What" { (text(&summary.what)) (self.details(task)) }
                                    td data-label="Next" class="number" { (text(summary.next.as_deref().unwrap_or("—"))) }
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

    /// Renders the values of a watcher, or the runs of a schedule.
    fn details(&self, task: &OwnedTask) -> Markup {
        match task {
            OwnedTask::Watcher(watcher) => {
                let checks = self.runtime.tasks().history(&watcher.task.watcher_id).unwrap_or_default();
                values(&checks)
            }
            OwnedTask::Schedule(schedule) => {
                let timeline = self.runtime.tasks().timeline(&schedule.task.schedule_id);
                timeline.map(|timeline| runs(&timeline, Timestamp::now())).unwrap_or_default()
            }
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

/// The marks of a timeline of runs, with their meanings.
const MARKS: [(&str, &str); 5] = [
    ("ok", "succeeded"),
    ("failed", "failed"),
    ("held", "cancelled, or unknown outcome"),
    ("time", "running"),
    ("next", "next"),
];

/// Renders the meanings of the marks of timelines.
fn legend() -> Markup {
    html! {
        p class="dim" {
            @for (class, meaning) in MARKS {
                span class="mark" {
                    svg class="mark" viewBox="-7 -7 14 14" aria-hidden="true" { g class=(class) { (shape(class)) } }
                    (meaning)
                }
                " "
            }
            "The vertical line is the present."
        }
    }
}

/// Renders the past and next runs of a schedule.
fn runs(timeline_of_runs: &ScheduleTimeline, now: Timestamp) -> Markup {
    let past = timeline_of_runs.past.iter().map(|run| (run.due, mark_of(run.outcome)));
    let next = timeline_of_runs.next.iter().map(|due| (*due, ("next", "next")));
    let all: Vec<_> = past.chain(next).collect();
    if all.is_empty() {
        return Markup::default();
    }
    let line =
        |(due, (_, outcome)): &(Timestamp, (&str, &str))| format!("{}: {outcome}", due.strftime("%F %T UTC"));
    let marks: Vec<_> =
        all.iter().map(|run| Mark { at: run.0.as_second(), class: run.1.0, text: line(run) }).collect();
    let failed = marks.iter().filter(|mark| mark.class == "failed").count();
    let (past, next) = (timeline_of_runs.past.len(), timeline_of_runs.next.len());
    html! {
        (timeline(&format!("{past} past runs, of which {failed} failed, and {next} next runs"), &marks, now.as_second()))
        details {
            summary class="dim" { (past) " past, " (next) " next" }
            ol class="runs dim" { @for run in &all { li { (line(run)) } } }
        }
    }
}

/// Returns the class of the mark of a run, and its outcome in words.
fn mark_of(outcome: RunOutcome) -> (&'static str, &'static str) {
    match outcome {
        RunOutcome::Succeeded => ("ok", "succeeded"),
        RunOutcome::Failed => ("failed", "failed"),
        RunOutcome::Running => ("time", "running"),
        RunOutcome::Cancelled => ("held", "cancelled"),
        _ => ("held", "the outcome is unknown"),
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
    use jiff::Timestamp;
    use serde_json::json;
    use toolcrib_tasks::schedule::{RunOutcome, ScheduleRun, ScheduleTimeline};

    use super::{runs, values};

    #[test]
    fn a_schedule_has_its_past_runs_with_their_outcomes_and_its_next_runs() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let run = |second, outcome| ScheduleRun { due: at(second), ended: None, outcome };
        let past = vec![run(0, RunOutcome::Succeeded), run(60, RunOutcome::Failed)];
        let html = runs(&ScheduleTimeline { past, next: vec![at(120)] }, at(90)).into_string();
        for part in [
            "2 past runs, of which 1 failed, and 1 next runs",
            "<li>1970-01-01 00:00:00 UTC: succeeded</li><li>1970-01-01 00:01:00 UTC: failed</li>",
            "<li>1970-01-01 00:02:00 UTC: next</li>",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        let none = ScheduleTimeline { past: Vec::new(), next: Vec::new() };
        assert_eq!(runs(&none, at(0)).into_string(), "");
    }

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
