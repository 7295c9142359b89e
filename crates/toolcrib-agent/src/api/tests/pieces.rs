//! Putting replies together from what servers really send.

use serde_json::{Value, json};

use crate::api::assembly::{Assemble as _, Fault, MAX_REPLY_BYTES, MAX_REPLY_CALLS};
use crate::api::chat_completions::reply::CompletionAssembler;
use crate::chat::{ChatReply, RequestedCall};

fn assemble(deltas: &[Value]) -> Result<ChatReply, Fault> {
    let mut assembler = Box::new(CompletionAssembler::default());
    for delta in deltas {
        assembler.push(&json!({"choices": [{"delta": delta}]}), &mut |_| ())?;
    }
    assembler.finish(true, &mut |_| ())
}

fn calls(deltas: &[Value]) -> Vec<(String, String, String)> {
    let calls = assemble(&[json!({ "tool_calls": deltas })]).unwrap().tool_calls;
    // The same, one delta for each piece.
    let single: Vec<_> = deltas.iter().map(|delta| json!({"tool_calls": [delta]})).collect();
    assert_eq!(assemble(&single).unwrap().tool_calls, calls);
    calls.into_iter().map(|RequestedCall { id, name, arguments, .. }| (id, name, arguments)).collect()
}

fn expected(calls: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    calls.iter().map(|(id, name, arguments)| ((*id).into(), (*name).into(), (*arguments).into())).collect()
}

#[test]
fn pieces_of_calls_are_joined_by_index_even_when_they_alternate() {
    let deltas = [
        json!({"index": 0, "id": "a", "type": "function", "function": {"name": "read", "arguments": ""}}),
        json!({"index": 1, "id": "b", "type": "function", "function": {"name": "ls", "arguments": ""}}),
        json!({"index": 0, "function": {"arguments": "{\"p\":"}}),
        json!({"index": 1, "function": {"arguments": "{}"}}),
        json!({"index": 0, "function": {"arguments": "1}"}}),
    ];
    assert_eq!(calls(&deltas), expected(&[("a", "read", r#"{"p":1}"#), ("b", "ls", "{}")]));
}

#[test]
fn calls_under_one_index_are_told_apart_by_id() {
    let deltas = [
        json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": "{}"}}),
        json!({"index": 0, "id": "b", "function": {"name": "read", "arguments": "{"}}),
        json!({"index": 0, "function": {"arguments": "}"}}),
    ];
    assert_eq!(calls(&deltas), expected(&[("a", "read", "{}"), ("b", "read", "{}")]));
}

#[test]
fn calls_without_index_and_id_are_told_apart_by_name() {
    let deltas = [
        json!({"function": {"name": "read", "arguments": "{"}}),
        json!({"function": {"arguments": "}"}}),
        json!({"function": {"name": "ls", "arguments": {"deep": true}}}),
    ];
    assert_eq!(calls(&deltas), expected(&[("", "read", "{}"), ("", "ls", r#"{"deep":true}"#)]));
}

#[test]
fn a_name_may_come_with_each_piece_or_in_pieces() {
    let deltas = [
        json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": "{"}}),
        json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": "}"}}),
        json!({"index": 1, "id": "b", "function": {"name": "notes_", "arguments": ""}}),
        json!({"index": 1, "function": {"name": "search", "arguments": "{}"}}),
    ];
    assert_eq!(calls(&deltas), expected(&[("a", "read", "{}"), ("b", "notes_search", "{}")]));
}

#[test]
fn content_may_be_null_a_list_of_parts_or_a_refusal() {
    let reply = assemble(&[
        json!({"content": null}),
        json!({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]}),
        json!({"refusal": "c"}),
        json!(null),
    ]);
    assert_eq!(reply.unwrap().content, "abc");
}

#[test]
fn only_the_first_of_several_choices_counts() {
    let mut assembler = Box::new(CompletionAssembler::default());
    let choices = json!({"choices": [
        {"index": 1, "delta": {"content": "no"}},
        {"index": 0, "delta": {"content": "yes"}, "finish_reason": "stop"},
    ]});
    assembler.push(&choices, &mut |_| ()).unwrap();
    assert_eq!(assembler.finish(false, &mut |_| ()).unwrap().content, "yes");
}

#[test]
fn a_reply_without_end_is_cut_off() {
    let long = json!({"content": "x".repeat(MAX_REPLY_BYTES / 2)});
    assert!(assemble(&[long.clone(), long.clone()]).is_ok());
    assert!(matches!(
        assemble(&[long.clone(), long.clone(), long]),
        Err(Fault::TooLarge { unit: "bytes", .. })
    ));
    let call = json!({"tool_calls": [{"function": {"name": "read"}}]});
    assert!(assemble(&vec![call.clone(); MAX_REPLY_CALLS]).is_ok());
    assert!(matches!(assemble(&vec![call; MAX_REPLY_CALLS + 1]), Err(Fault::TooLarge { unit: "calls", .. })));
}

#[test]
fn what_a_model_thinks_is_told_apart_from_what_it_says() {
    for deltas in [
        &[json!({"reasoning_content": "Hm."}), json!({"content": "Hello."})][..],
        &[json!({"reasoning": "Hm.", "content": ""}), json!({"content": "Hello."})],
        // Some servers give it both names.
        &[json!({"reasoning": "Hm.", "reasoning_content": "Hm.", "content": "Hello."})],
        &[json!({"content": "<thi"}), json!({"content": "nk>Hm.</think>\n\n"}), json!({"content": "Hello."})],
    ] {
        let reply = assemble(deltas).unwrap();
        assert_eq!((reply.reasoning.as_str(), reply.content.as_str()), ("Hm.", "Hello."), "{deltas:?}");
    }
    let unfinished = assemble(&[json!({"content": "a <thi"})]).unwrap();
    assert_eq!(unfinished.content, "a <thi");
    let unfinished = assemble(&[json!({"content": "<thi"})]).unwrap();
    assert_eq!(unfinished.content, "<thi");
}

#[test]
fn tokens_that_the_server_had_kept_are_counted_as_it_names_them() {
    for usage in [
        json!({"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 5}}),
        json!({"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 5}),
    ] {
        let mut assembler = Box::new(CompletionAssembler::default());
        let whole = json!({"choices": [{"message": {"content": "Hello."}}], "usage": usage});
        assembler.push(&whole, &mut |_| ()).unwrap();
        let usage = assembler.finish(true, &mut |_| ()).unwrap().usage;
        assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens), (9, 1, 5));
    }
}
