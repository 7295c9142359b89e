//! Tests of the hygiene of data sets.

use serde_json::json;
use toolcrib_model::Secret;
use toolcrib_results::Redactor;

use super::{Contamination, DataCard, NearDuplicates, SourceLicence, remove_secrets};
use crate::conversation::{Call, Conversation, Kind, Message, Provenance};
use crate::samples;

fn say(id: &str, text: &str) -> Conversation {
    Conversation { messages: vec![Message::user(text)], ..Conversation::new(id, Kind::Single) }
}

#[test]
fn a_copy_with_one_other_word_is_a_near_duplicate_and_other_conversations_are_not() {
    let mut seen = NearDuplicates::default();
    let text = |number: usize| {
        let words: Vec<String> = (0..60).map(|at| format!("word{} ", number * 1_000 + at)).collect();
        words.concat()
    };
    for number in 0..500 {
        assert_eq!(seen.add(&say(&number.to_string(), &text(number))), None);
    }
    let mut found = 0;
    for number in 0..500 {
        let copy = text(number).replacen(&format!("word{} ", number * 1_000 + 30), "another ", 1);
        let duplicate = seen.add(&say("copy", &copy)).map(str::to_owned);
        assert!(duplicate.as_ref().is_none_or(|id| *id == number.to_string()), "{duplicate:?}");
        found += usize::from(duplicate.is_some());
    }
    // The similarity is 0.9 and its estimate deviates by 0.04: about one in two hundred is below 0.8.
    assert!(found >= 490, "{found}");
}

#[test]
fn identical_conversations_are_near_duplicates_whatever_their_identifiers() {
    let mut seen = NearDuplicates::default();
    let conversation = samples::conversation(3);
    assert_eq!(seen.add(&conversation), None);
    let mut copy = conversation.clone();
    copy.id = "copy".to_owned();
    assert_eq!(seen.add(&copy), Some("c3"));
}

#[test]
fn a_conversation_without_words_is_no_near_duplicate_of_one_with_words() {
    let mut seen = NearDuplicates::default();
    assert_eq!(seen.add(&say("a", "Will it rain?")), None);
    assert_eq!(seen.add(&say("b", "…")), None);
}

#[test]
fn a_short_listed_text_counts_as_a_whole_message_only() {
    let list = Contamination::new(["Will it rain tomorrow?", "hello there"]);
    assert_eq!(list.shared(&say("a", "will it rain tomorrow")), Some("will it rain tomorrow".to_owned()));
    assert_eq!(list.shared(&say("b", "Tell me, will it rain tomorrow in Oslo?")), None);
    assert_eq!(list.shared(&say("c", "Hello there")), None);
}

#[test]
fn a_listed_text_in_an_answer_counts_too() {
    let list = Contamination::new(["the quick brown fox jumps over the lazy dog"]);
    let mut conversation = say("a", "Say something.");
    conversation.messages.push(Message::assistant("Well: the quick brown fox jumps over the lazy cat."));
    assert!(list.shared(&conversation).is_some());
}

#[test]
fn secrets_leave_messages_arguments_results_and_rejected_branches() {
    let redactor = Redactor::new(&[("API_KEY".to_owned(), Secret::new("s3cr3t-value"))]);
    let mut conversation = say("a", "My key is s3cr3t-value.");
    conversation.messages.extend([
        Message::calls([Call::new("1", "a::b", json!({"headers": {"key": "s3cr3t-value"}}))]),
        Message::result("1", json!({"echo": ["s3cr3t-value"]})),
        Message::assistant("It is s3cr3t-value."),
    ]);
    conversation.rejected = Some(crate::conversation::RejectedBranch {
        from: 3,
        messages: vec![Message::assistant("s3cr3t-value")],
    });
    assert!(remove_secrets(&mut conversation, &redactor));
    let text = serde_json::to_string(&conversation).unwrap();
    assert!(!text.contains("s3cr3t-value"), "{text}");
    assert!(text.contains("API_KEY"), "{text}");
    assert!(!remove_secrets(&mut conversation, &redactor));
}

#[test]
fn the_card_names_kinds_models_sources_and_what_was_left_out() {
    let mut card = DataCard::new("Weather", 7);
    card.licences
        .insert(SourceLicence { source: "weather.json".to_owned(), licence: Some("MIT".to_owned()) });
    for seed in 0..3 {
        let provenance = Provenance {
            models: vec!["gpt-5-mini".to_owned()],
            sources: vec!["weather.json".to_owned(), "mcp | files".to_owned()],
        };
        card.add(&Conversation { provenance, ..samples::conversation(seed) });
    }
    card.drop_one("ungrounded_value");
    insta::assert_snapshot!(card, @r"
    # Weather

    3 generated conversations with 7 calls of 3 tools. Seed 7.

    ## Kinds

    | kind | conversations |
    |---|---|
    | multi_turn | 3 |

    ## Models

    - gpt-5-mini

    ## Sources

    | source | licence |
    |---|---|
    | mcp \| files | not stated |
    | weather.json | MIT |

    ## Left out

    1 of 4 conversations.

    | reason | conversations |
    |---|---|
    | ungrounded_value | 1 |
    ");
}
