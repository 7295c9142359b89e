//! Runs whose futures are dropped.

use tokio::task::yield_now;
use toolcrib_testkit::dropped_after;

use super::*;
use crate::Outcome;

/// The most polls that a run of these tests takes.
const MAX_POLLS: usize = 200;

/// A model or a caller that takes a while.
struct Slow<T>(T);

#[async_trait]
impl<T: ChatModel> ChatModel for Slow<T> {
    async fn complete(
        &self,
        request: &ChatRequest<'_>,
        on_text: &mut TextSink<'_>,
    ) -> Result<ChatReply, Error> {
        yield_now().await;
        self.0.complete(request, on_text).await
    }
}

#[async_trait]
impl<T: ToolCaller> ToolCaller for Slow<T> {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        yield_now().await;
        self.0.call(call, context).await
    }
}

/// Checks that each call has exactly one result behind it.
fn assert_answered(messages: &[Message]) {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        match message {
            Message::Assistant { tool_calls, .. } => {
                assert_eq!(open, [""; 0], "{messages:#?}");
                open = tool_calls.iter().map(|call| call.id.as_str()).collect();
            }
            Message::Tool { call_id, .. } => {
                let at = open.iter().position(|id| id == call_id);
                open.remove(at.unwrap_or_else(|| panic!("{call_id}: {messages:#?}")));
            }
            _ => assert_eq!(open, [""; 0], "{messages:#?}"),
        }
    }
    assert_eq!(open, [""; 0], "{messages:#?}");
}

#[tokio::test]
async fn a_run_that_is_dropped_at_any_await_leaves_a_conversation_that_goes_on() {
    let mut lengths = std::collections::BTreeSet::new();
    for polls in 1.. {
        assert!(polls < MAX_POLLS, "it never ends");
        let model = Slow(scripted(|turn, _| match turn {
            1 => calls(vec![call("1", "notes.search", "{}"), call("2", "notes.search", "{}")]),
            _ => says("Done."),
        }));
        let (agent, caller, context) = (agent(), Slow(Caller::default()), CallContext::new("session"));
        let mut conversation = Conversation::new();
        let mut nobody = ();
        let run = agent.run("Find paint.", &mut conversation, &model, &caller, &context, &mut nobody);
        let ended = dropped_after(polls, run).await;
        lengths.insert(conversation.messages().len());
        let next = scripted(|_, request| {
            assert_answered(request.messages);
            says("Going on.")
        });
        let report = agent.run("And?", &mut conversation, &next, &caller, &context, &mut ()).await;
        assert!(matches!(report.outcome, Outcome::Completed), "{polls}: {report:?}");
        assert_answered(conversation.messages());
        if let Some(report) = ended {
            assert!(matches!(report.outcome, Outcome::Completed), "{report:?}");
            assert_eq!(caller.0.seen.lock().len(), 2);
            break;
        }
    }
    assert!(lengths.len() > 1, "it was dropped at several turns: {lengths:?}");
}
