//! Notes about events outside of a client's calls, which are added to its next result.

use rmcp::model::ContentBlock;

use crate::calls::execution::FinishedCall;

/// The maximum length of the notes in one result, in characters, except that the first note is always included. Further
/// notes wait for the next result.
pub(crate) const MAX_NOTED_CHARS: usize = 4_000;

/// Returns the pending notes of the session of a call: background calls that have ended, and findings of watchers and
/// schedules. Each note is returned once.
pub(crate) async fn notes(ended: &FinishedCall) -> Option<ContentBlock> {
    let told = ended.lease.runtime.tasks().tell_next(&ended.context.session, MAX_NOTED_CHARS).await;
    let lines: Vec<String> = told.iter().map(|note| format!("- {note}")).collect();
    (!lines.is_empty())
        .then(|| ContentBlock::text(format!("This happened outside of your calls:\n{}", lines.join("\n"))))
}
