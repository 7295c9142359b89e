//! Decontamination: no conversation repeats a text that models are evaluated with.

use std::collections::HashSet;

use serde_json::Value;

use super::{hash, words, words_of};
use crate::conversation::{Conversation, Message};

/// The number of words that a conversation must not share with a text, in their order. Shorter texts count as a whole.
pub const SHARED_WORDS: usize = 8;

/// The least number of words of a listed text. Shorter ones occur everywhere by chance.
pub const MIN_LISTED_WORDS: usize = 4;

/// A list of texts that conversations must not repeat.
///
/// ```
/// use toolcrib_datagen::conversation::{Conversation, Kind, Message};
/// use toolcrib_datagen::hygiene::Contamination;
///
/// let list = Contamination::new(["What is the weather in Berlin, in degrees Celsius, please?"]);
/// let conversation = Conversation {
///     messages: vec![Message::user("Hello! What is the weather in Berlin in degrees celsius, please?")],
///     ..Conversation::new("c1", Kind::Single)
/// };
/// assert_eq!(list.shared(&conversation), Some("what is the weather in berlin in degrees".to_owned()));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Contamination {
    /// The hashes of all runs of [`SHARED_WORDS`] words.
    runs: HashSet<u64>,
    /// The hashes of shorter texts, by their number of words.
    short: Vec<(usize, HashSet<u64>)>,
}

impl Contamination {
    /// Creates a list. Texts with fewer than [`MIN_LISTED_WORDS`] words are left out.
    pub fn new<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut list = Self {
            runs: HashSet::new(),
            short: (MIN_LISTED_WORDS..SHARED_WORDS).map(|length| (length, HashSet::new())).collect(),
        };
        for text in texts {
            let words = words_of(text.as_ref());
            if words.len() >= SHARED_WORDS {
                list.runs.extend(words.windows(SHARED_WORDS).map(hash));
            } else if let Some((_, hashes)) = list.short.iter_mut().find(|(length, _)| *length == words.len())
            {
                hashes.insert(hash(&words));
            }
        }
        list
    }

    /// Creates a list from the lines of files. A line is a text; if it is JSON, each text in it is one.
    pub fn of_lines<'t>(lines: impl IntoIterator<Item = &'t str>) -> Self {
        let mut texts = Vec::new();
        for line in lines {
            match serde_json::from_str::<Value>(line) {
                Ok(value) if !value.is_number() => add_texts(value, &mut texts),
                _ => texts.push(line.to_owned()),
            }
        }
        Self::new(texts)
    }

    /// Returns the first words that a conversation shares with a listed text; `None` if it shares nothing. A short text
    /// counts only if it is a whole message.
    pub fn shared(&self, conversation: &Conversation) -> Option<String> {
        let words = words(conversation);
        if let Some(run) = words.windows(SHARED_WORDS).find(|run| self.runs.contains(&hash(run))) {
            return Some(run.join(" "));
        }
        conversation.messages.iter().find_map(|message| {
            let Message::User { content } = message else { return None };
            let words = words_of(content);
            let (_, hashes) = self.short.iter().find(|(length, _)| *length == words.len())?;
            hashes.contains(&hash(&words)).then(|| words.join(" "))
        })
    }
}

/// Adds the texts of a value, without the keys of objects.
fn add_texts(value: Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.into_iter().for_each(|item| add_texts(item, texts)),
        Value::Object(members) => members.into_iter().for_each(|(_, member)| add_texts(member, texts)),
        _ => {}
    }
}
