//! What is said, from turn to turn and from prompt to prompt.

use parking_lot::Mutex;
use serde_json::json;
use toolcrib_port::CallContext;

use super::super::{Agent, Conversation};
use super::{Caller, agent, call, calls, results, run, says, scripted, sent};
use crate::Message;
use crate::chat::{ChatReply, Usage};

#[tokio::test]
async fn the_report_serializes_to_the_form_of_the_command_line() {
    let model = scripted(|turn, _| match turn {
        1 => ChatReply {
            usage: Usage { prompt_tokens: 10, completion_tokens: 2, ..Usage::default() },
            ..calls(vec![call("a", "notes__search", r#"{"query": "x"}"#)])
        },
        _ => ChatReply {
            usage: Usage { prompt_tokens: 20, completion_tokens: 3, ..Usage::default() },
            ..says("Done.")
        },
    });
    let (report, ..) = run(&agent(), &model).await;
    assert_eq!(
        serde_json::to_value(&report).unwrap(),
        json!({
            "outcome": "completed",
            "text": "Done.",
            "turns": 2,
            "calls": [{"name": "notes::search", "arguments": {"query": "x"}, "ok": true, "ms": 0}],
            "usage": {"prompt_tokens": 30, "completion_tokens": 5},
            "models": ["a-model"],
        })
    );
}

#[tokio::test]
async fn what_a_model_thought_before_its_calls_goes_back_only_where_its_server_wants_it() {
    for wants in [false, true] {
        let settings = agent().settings().clone().with_returned_reasoning(wants);
        let model = scripted(|turn, _| match turn {
            1 => {
                ChatReply { reasoning: "I look.".to_owned(), ..calls(vec![call("", "notes__search", "{}")]) }
            }
            _ => ChatReply { reasoning: "I have it.".to_owned(), ..says("Done.") },
        });
        let (_, conversation, _) = run(&Agent::new(settings), &model).await;
        let sent = serde_json::to_value(conversation.messages()).unwrap();
        assert_eq!(sent[1].get("reasoning"), wants.then(|| json!("I look.")).as_ref());
        assert_eq!(sent[3].get("reasoning"), None);
    }
}

#[tokio::test]
async fn an_empty_message_is_nudged_once() {
    let model = scripted(|turn, request| match turn {
        1 => says("  "),
        _ => says(request.messages.last().unwrap().content()),
    });
    let (report, ..) = run(&agent(), &model).await;
    assert!(report.text.contains("was empty"), "{}", report.text);

    let model = scripted(|_, _| says(""));
    let (report, ..) = run(&agent(), &model).await;
    let report = serde_json::to_value(&report).unwrap();
    assert_eq!((&report["outcome"], &report["turns"]), (&json!("failed"), &json!(2)));
    assert!(report["error"].as_str().unwrap().contains("neither text nor a call"));
}

#[tokio::test]
async fn a_conversation_goes_on_and_ids_stay_unique() {
    let model = scripted(|turn, request| {
        let prompts =
            request.messages.iter().filter(|message| matches!(message, Message::User { .. })).count();
        match turn {
            1 | 3 => calls(vec![
                call("call_1_1", "notes__search", "{}"),
                call("", "notes__search", r#"{"query": 1}"#),
            ]),
            _ => says(&format!("{prompts} prompts")),
        }
    });
    let (agent, caller, mut conversation) = (agent(), Caller::default(), Conversation::new());
    let context = CallContext::new("session");
    agent.run("One.", &mut conversation, &model, &caller, &context, &mut ()).await;
    let report = agent.run("Two.", &mut conversation, &model, &caller, &context, &mut ()).await;
    assert_eq!(report.text, "2 prompts");
    let ids: Vec<_> = results(&conversation).iter().map(|(id, _)| (*id).to_owned()).collect();
    assert_eq!(ids, ["call_1_1", "call_1_2", "call_1_3", "call_1_4"]);
}

/// Requests, as they would be sent: what is before the new messages must not change from turn to turn.
#[tokio::test]
async fn each_request_begins_with_the_messages_of_the_one_before() {
    let bodies = Mutex::new(Vec::<String>::new());
    let model = scripted(|turn, request| {
        bodies.lock().push(sent(request));
        match turn {
            1..=3 => {
                calls(vec![call("", "notes.search", &format!(r#"{{"query": {turn}, "a": [1.0, null]}}"#))])
            }
            _ => says("Done."),
        }
    });
    run(&agent(), &model).await;
    let sent = bodies.lock();
    assert_eq!(sent.len(), 4);
    for pair in sent.windows(2) {
        let prefix = pair[0].strip_suffix("]}").unwrap();
        assert!(pair[1].starts_with(prefix), "{}\n{}", pair[0], pair[1]);
    }
}
