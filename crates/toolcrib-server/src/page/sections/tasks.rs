//! The section with the background tasks.

use toolcrib_runtime::{OwnedTask, TaskSummary};

use super::super::html::Html;
use super::{PageView, cell, end_table, session, table};

/// The maximum number of tasks that are shown.
const MAX_SHOWN: usize = 100;

impl PageView<'_> {
    pub(super) async fn tasks(&self, html: &mut Html) {
        let all = self.runtime.tasks().list().await;
        let running: Vec<_> = all
            .iter()
            .map(OwnedTask::summary)
            .filter(|task| !is_over(task) && self.may_see(&task.session))
            .collect();
        html.markup("<section id=\"tasks\">\n<h2>Tasks <span class=\"count\">").show(running.len());
        html.markup("</span></h2>\n");
        if running.is_empty() {
            html.markup("<p class=\"none\">Nothing runs in the background.</p>\n</section>\n");
            return;
        }
        table(html, &["Task", "Kind", "State", "What", "Next", "Session"]);
        for task in running.iter().take(MAX_SHOWN) {
            html.markup("<tr>");
            for text in [&task.id, task.kind, &task.state, &task.what, task.next.as_deref().unwrap_or("")] {
                cell(html, text);
            }
            cell(html, &session(&task.session));
            html.markup("</tr>\n");
        }
        end_table(html);
        html.markup("</section>\n");
    }
}

/// Returns true if the task will do nothing more.
fn is_over(task: &TaskSummary) -> bool {
    match task.kind {
        "schedule" => task.next.is_none(),
        _ => !matches!(task.state.as_str(), "running" | "watching" | "active"),
    }
}
