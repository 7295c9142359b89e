//! What happened beside the calls of a client, which it is told with its next result.

use rmcp::model::ContentBlock;

use crate::running::Ended;

/// How much is told with one result, in characters; the first note in any case. What else waits is told with the next.
pub(crate) const MAX_NOTED_CHARS: usize = 4_000;

/// What waits for the session of a call: that calls in the background have ended, what watchers and schedules have found. It is
/// told once.
pub(crate) async fn notes(ended: &Ended) -> Option<ContentBlock> {
    let told = ended.lease.runtime.tasks().tell_next(&ended.context.session, MAX_NOTED_CHARS).await;
    let lines: Vec<String> = told.iter().map(|note| format!("- {note}")).collect();
    (!lines.is_empty())
        .then(|| ContentBlock::text(format!("This happened beside your calls:\n{}", lines.join("\n"))))
}
