//! The text that an agent receives of its memory.

use std::fmt::Write as _;

use super::notebook::{Notebook, Owner, TaskState};

/// The maximum length of a snapshot, in characters: about 1,000 tokens. The rest is counted instead.
pub const MAX_SNAPSHOT_CHARS: usize = 4_000;

/// Returns the goal, the tasks and the facts as text; the latest facts if there are too many. The text is empty if
/// there are no notes. The same notes give the same text.
pub(super) fn snapshot(notebook: &Notebook, owner: Owner<'_>) -> String {
    let mut text = String::new();
    if let Some(plan) = notebook.plan(owner) {
        if let Some(goal) = &plan.goal {
            let _ = writeln!(text, "Goal: {}", line(goal));
        }
        if !plan.tasks.is_empty() {
            text.push_str("Tasks:\n");
            let tasks = plan.tasks.iter().map(|task| {
                let status = match task.status {
                    TaskState::Pending => "pending",
                    TaskState::InProgress => "in progress",
                    TaskState::Completed => "completed",
                    TaskState::Cancelled => "cancelled",
                };
                format!("{}. [{status}] {}", task.id, line(&task.title))
            });
            list(&mut text, &tasks.collect::<Vec<_>>(), MAX_SNAPSHOT_CHARS / 2, Keep::First);
        }
    }
    let facts = notebook.facts(owner);
    if !facts.is_empty() {
        text.push_str("Facts:\n");
        let facts = facts.iter().map(|fact| format!("{}. {}", fact.id, line(&fact.text)));
        list(&mut text, &facts.collect::<Vec<_>>(), MAX_SNAPSHOT_CHARS, Keep::Last);
    }
    text.truncate(text.trim_end().len());
    text
}

/// The entries to keep if not all of them fit.
#[derive(Clone, Copy, PartialEq)]
enum Keep {
    First,
    Last,
}

/// Appends as many of the lines as fit into `limit` characters of the whole text, and a line that counts the rest.
fn list(text: &mut String, lines: &[String], limit: usize, keep: Keep) {
    let mut room = limit.saturating_sub(text.chars().count() + REST_CHARS);
    let mut fits = |line: &&String| {
        let left = room.checked_sub(line.chars().count() + 1);
        room = left.unwrap_or(0);
        left.is_some()
    };
    let shown = match keep {
        Keep::First => lines.iter().take_while(&mut fits).count(),
        Keep::Last => lines.iter().rev().take_while(&mut fits).count(),
    };
    let left_out = lines.len() - shown;
    if left_out > 0 && keep == Keep::Last {
        let _ = writeln!(text, "({left_out} earlier ones are not shown)");
    }
    let skipped = if keep == Keep::Last { left_out } else { 0 };
    for line in lines.iter().skip(skipped).take(shown) {
        let _ = writeln!(text, "{line}");
    }
    if left_out > 0 && keep == Keep::First {
        let _ = writeln!(text, "({left_out} more are not shown)");
    }
}

/// The maximum length of the line that counts the rest.
const REST_CHARS: usize = 40;

/// Puts a text on one line, so that it cannot look like another entry.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
