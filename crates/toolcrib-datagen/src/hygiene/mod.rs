//! The hygiene of a data set: no near duplicates, no test data, no secrets, and a card that says where it comes from.

mod card;
mod contamination;
mod near_duplicates;
mod secrets;

#[cfg(test)]
mod tests;

pub use card::{DataCard, SourceLicence};
pub use contamination::{Contamination, MIN_LISTED_WORDS, SHARED_WORDS};
pub(crate) use near_duplicates::DEFAULT_SIMILARITY;
pub use near_duplicates::NearDuplicates;
pub use secrets::remove_secrets;

use crate::conversation::{Conversation, Message};

/// Returns the words of what the user and the assistant say and call, in lower case: what makes a conversation the same
/// as another. Identifiers of calls and results are not part of it.
fn words(conversation: &Conversation) -> Vec<String> {
    let mut text = String::new();
    for message in &conversation.messages {
        match message {
            Message::User { content } => push(&mut text, content),
            Message::Assistant { content, calls } => {
                push(&mut text, content);
                for call in calls {
                    push(&mut text, &call.name);
                    push(&mut text, &call.arguments.to_string());
                }
            }
            Message::System { .. } | Message::Tool { .. } => {}
        }
    }
    words_of(&text)
}

fn push(text: &mut String, part: &str) {
    text.push_str(part);
    text.push(' ');
}

fn words_of(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Returns the hash of some words. It is the same on every machine: FNV-1a, 64 bits.
fn hash(words: &[String]) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = words.iter().flat_map(|word| word.bytes().chain([b' ']));
    bytes.fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}
