//! The section with the background tasks.

use maud::{Markup, html};
use toolcrib_tasks::{OwnedTask, TaskSummary};

use super::super::html::text;
use super::{PageView, heading, session, table};

/// The maximum number of tasks that are shown.
const MAX_SHOWN: usize = 100;

impl PageView<'_> {
    pub(super) async fn tasks(&self) -> Markup {
        let all = self.runtime.tasks().list().await;
        let running: Vec<_> = all
            .iter()
            .map(OwnedTask::summary)
            .filter(|task| !is_over(task) && self.may_see(&task.session))
            .collect();
        let rows = html! {
            @for task in running.iter().take(MAX_SHOWN) {
                tr {
                    @for cell in [&task.id, task.kind, &task.state, &task.what, task.next.as_deref().unwrap_or("")] {
                        td { (text(cell)) }
                    }
                    td { (text(&session(&task.session))) }
                }
            }
        };
        html! {
            section id="tasks" {
                (heading("Tasks", running.len()))
                @if running.is_empty() {
                    p class="none" { "Nothing runs in the background." }
                } @else {
                    (table(&["Task", "Kind", "State", "What", "Next", "Session"], &rows))
                }
            }
        }
    }
}

/// Returns true if the task will do nothing more.
fn is_over(task: &TaskSummary) -> bool {
    match task.kind {
        "schedule" => task.next.is_none(),
        _ => !matches!(task.state.as_str(), "running" | "watching" | "active"),
    }
}
