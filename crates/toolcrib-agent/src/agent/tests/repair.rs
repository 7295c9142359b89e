//! Conversations that were held elsewhere.

use toolcrib_port::CallContext;

use super::super::Conversation;
use super::{Caller, agent, call, says, scripted};
use crate::Message;
use crate::chat::RequestedCall;

fn asks(tool_calls: Vec<RequestedCall>) -> Message {
    Message::Assistant {
        content: String::new(),
        tool_calls,
        reasoning: String::new(),
        written: None,
        provider_items: None,
    }
}

fn shown(conversation: &Conversation) -> Vec<String> {
    let shown = conversation.messages().iter().map(|message| match message {
        Message::User { content } => format!("user {content}"),
        Message::Assistant { content, tool_calls, .. } => {
            let ids: Vec<_> = tool_calls.iter().map(|call| call.id.as_str()).collect();
            format!("assistant {content}{ids:?}")
        }
        Message::Tool { call_id, name, content, .. } if content.contains("outcome_unknown") => {
            format!("tool {call_id} {name} unknown")
        }
        Message::Tool { call_id, name, content, .. } => format!("tool {call_id} {name} {content}"),
        Message::Pictures { .. } => "pictures".to_owned(),
    });
    shown.collect()
}

#[test]
fn each_call_has_one_result_and_each_result_a_call() {
    let search = |id: &str| call(id, "search", "{}");
    let cases: [(Vec<Message>, &[&str]); 6] = [
        (
            vec![Message::user("a"), asks(vec![search("1"), search("2")]), Message::tool("2", "", "two")],
            &["user a", r#"assistant ["1", "2"]"#, "tool 1 search unknown", "tool 2 search two"],
        ),
        (
            vec![Message::tool("9", "x", "stray"), Message::user("a"), Message::tool("9", "x", "stray")],
            &["user a"],
        ),
        // In the order of the calls, also where something was said in between.
        (
            vec![
                asks(vec![search("1"), search("2")]),
                Message::tool("2", "", "two"),
                Message::user("well?"),
                Message::tool("1", "", "one"),
            ],
            &[r#"assistant ["1", "2"]"#, "tool 1 search one", "tool 2 search two", "user well?"],
        ),
        // A second result of one call belongs to none.
        (
            vec![asks(vec![search("1")]), Message::tool("1", "", "one"), Message::tool("1", "", "more")],
            &[r#"assistant ["1"]"#, "tool 1 search one"],
        ),
        // Ids that are used twice are told apart, with their results.
        (
            vec![
                asks(vec![search("1"), search("1")]),
                Message::tool("1", "", "one"),
                Message::tool("1", "", "two"),
                asks(vec![search("1"), search("")]),
                Message::tool("1", "", "three"),
            ],
            &[
                r#"assistant ["1", "call_0_2"]"#,
                "tool 1 search one",
                "tool call_0_2 search two",
                r#"assistant ["call_0_3", "call_0_4"]"#,
                "tool call_0_3 search three",
                "tool call_0_4 search unknown",
            ],
        ),
        (vec![asks(vec![search("1")])], &[r#"assistant ["1"]"#, "tool 1 search unknown"]),
    ];
    for (messages, expected) in cases {
        assert_eq!(shown(&Conversation::from_messages(messages)), expected);
    }
}

#[tokio::test]
async fn what_was_dropped_is_told_with_the_next_prompt_and_then_no_more() {
    let messages = vec![Message::user("a"), Message::assistant("b"), Message::tool("9", "x", "stray")];
    let mut conversation = Conversation::from_messages(messages);
    let model = scripted(|turn, request| {
        let told = request.messages.iter().filter(|message| message.content().contains("was dropped"));
        assert_eq!(told.count(), 1);
        let last = request.messages.last().unwrap().content();
        assert_eq!(last.contains("One result that belonged to no call was dropped"), turn == 1, "{last}");
        says("Yes.")
    });
    let (agent, caller, context) = (agent(), Caller::default(), CallContext::new("session"));
    for prompt in ["One.", "Two."] {
        agent.run(prompt, &mut conversation, &model, &caller, &context, &mut ()).await;
    }
}
