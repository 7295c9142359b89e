//! What is told when room is made.

use super::*;
use crate::Message;
use crate::chat::RequestedCall;

fn turns(count: usize, bytes: usize) -> Vec<Message> {
    let mut messages = vec![Message::user("Sort my paints.")];
    for number in 1..=count {
        let call = RequestedCall {
            id: format!("c{number}"),
            name: "paints__list".to_owned(),
            arguments: format!(r#"{{"shelf":{number}}}"#),
            problem: None,
        };
        messages.push(Message::Assistant {
            content: format!("Shelf {number}."),
            tool_calls: vec![call],
            reasoning: String::new(),
            written: None,
            provider_items: None,
        });
        messages.push(Message::tool(format!("c{number}"), "paints__list", "umber ".repeat(bytes / 6)));
    }
    messages
}

#[test]
fn a_model_is_told_so_what_to_sum_up_and_what_became_of_the_conversation() {
    let messages = turns(3, 120);
    let split_point = SplitPoint { tail: 5 };
    let request = summary_request(&messages[..5], 100_000);
    let mut whole = Message::tool("c", "paints__list", "umber ".repeat(300));
    offload(&mut whole, Some("read the rest with read_result(handle=\"r_a\", page=1)"));
    let shown = |messages: &[Message]| {
        let lines = messages.iter().map(|message| serde_json::to_string_pretty(message).unwrap());
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(
        [
            request,
            shown(&with_summary(
                &messages,
                split_point,
                Some(" Two shelves are sorted. "),
                Some("Sort my paints.")
            )),
            shown(&with_summary(&messages, split_point, None, None)[..1]),
            whole.content().to_owned(),
        ]
        .join("\n\n=====\n\n")
    );
}

#[test]
fn what_is_asked_for_a_summary_is_bounded_and_says_what_is_left_out() {
    let messages = turns(100, 6_000);
    let request = summary_request(&messages, 30_000);
    assert!(request.len() <= 31_000, "{}", request.len());
    assert!(request.contains("USER: Sort my paints.") && request.contains("ASSISTANT: Shelf 100."));
    assert!(request.contains("messages are left out]") && !request.contains("ASSISTANT: Shelf 50."));
    assert!(summary_request(&turns(1_000, 6_000), usize::MAX).len() < 210_000);
}

#[test]
fn a_conversation_is_cut_between_turns() {
    let messages = turns(10, 600);
    let all = size(&messages);
    for bytes in [0, 100, 700, 1_500, 3_000, 5_000, all] {
        let Some(split_point) = split_point(&messages, bytes) else {
            assert!(bytes >= 5_000, "{bytes}");
            continue;
        };
        let tail = &messages[split_point.tail..];
        assert!(matches!(tail[0], Message::Assistant { .. }), "{bytes}: {:?}", tail[0]);
        assert!(size(tail) <= bytes || split_point.tail == messages.len() - 2, "{bytes}");
    }
    // A prompt alone is not worth it.
    assert_eq!(split_point(&[Message::user("x".repeat(9_000)), Message::assistant("y")], 0), None);
}

#[test]
fn a_server_that_counts_wrongly_moves_the_bound_only_so_far() {
    let allowed = |bytes: usize, tokens: u64| {
        let mut room = SizeLimit::new(1_000, 1.0);
        room.asked = bytes;
        room.answered(Usage { prompt_tokens: tokens, ..Usage::default() });
        room.allowed()
    };
    assert_eq!(SizeLimit::new(1_000, 1.0).allowed(), 4_000);
    assert_eq!(allowed(3_000, 1_000), 3_000);
    assert_eq!((allowed(1_000_000, 300), allowed(1_000, 1_000_000)), (6_000, 1_500));
    assert_eq!(allowed(1_000_000, 3), 4_000, "too few to say anything");
}
