//! The origin of values: everything that was said before a call.

use std::collections::HashSet;

use serde_json::Value;

use super::numbers::numbers;
use super::tools::OfferedTools;

/// The number of words from which a text counts as written by the assistant: it needs only most of its words from the
/// conversation.
const COMPOSED_WORDS: usize = 7;

/// The share of the telling words of a composed text that have to be in the conversation.
const COMPOSED_SHARE: f64 = 0.5;

/// The shortest text that may be part of a longer word of the conversation, in characters.
const MIN_PART_CHARS: usize = 4;

/// The length of the beginning by which forms of one word are the same, in characters.
const STEM_CHARS: usize = 5;

/// The relative difference below which two numbers are equal.
const TOLERANCE: f64 = 1e-9;

/// Words that tell nothing about the origin of a text.
const COMMON_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "have", "i", "in", "is", "it",
    "my", "of", "on", "or", "our", "please", "that", "the", "this", "to", "was", "we", "will", "with", "you",
    "your",
];

/// Everything that was said so far.
#[derive(Default)]
pub(super) struct Context {
    /// All texts in lower case, words separated by single spaces.
    text: String,
    words: HashSet<String>,
    stems: HashSet<String>,
    numbers: Vec<f64>,
}

impl Context {
    /// Returns a context in which the descriptions of tools were said.
    pub(super) fn of_tools(tools: &OfferedTools<'_>) -> Self {
        let mut context = Self::default();
        tools.descriptions().for_each(|description| context.add_text(description));
        context
    }

    /// Adds a text.
    pub(super) fn add_text(&mut self, text: &str) {
        self.numbers.extend(numbers(text));
        for word in words(text) {
            self.text.push(' ');
            self.text.push_str(&word);
            self.stems.extend(stem(&word));
            self.words.insert(word);
        }
        // A text does not go on in the next one.
        self.text.push_str(" \n");
    }

    /// Adds all names and values of a result.
    pub(super) fn add_value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.add_text(text),
            Value::Array(items) => items.iter().for_each(|item| self.add_value(item)),
            Value::Object(members) => {
                for (name, member) in members {
                    self.add_text(name);
                    self.add_value(member);
                }
            }
            Value::Number(_) | Value::Bool(_) => self.add_text(&value.to_string()),
            Value::Null => {}
        }
    }

    /// Returns true if a leaf value of a call was said, or needs no origin.
    pub(super) fn has(&self, value: &Value) -> bool {
        match value {
            Value::Number(number) => number.as_f64().is_none_or(|number| self.has_number(number)),
            Value::String(text) => self.has_text(text),
            _ => true,
        }
    }

    fn has_number(&self, number: f64) -> bool {
        let is_equal = |said: &f64| (said - number).abs() <= TOLERANCE * number.abs().max(1.0);
        self.numbers.iter().any(is_equal)
    }

    fn has_text(&self, text: &str) -> bool {
        if text.trim().is_empty() || is_date(text) || matches!(text, "true" | "false") {
            return true;
        }
        if text.trim().parse::<f64>().is_ok_and(|number| self.has_number(number)) {
            return true;
        }
        let wanted: Vec<String> = words(text).collect();
        if wanted.is_empty() || self.text.contains(&format!(" {} ", wanted.join(" "))) {
            return true;
        }
        let telling: Vec<&String> =
            wanted.iter().filter(|word| !COMMON_WORDS.contains(&word.as_str())).collect();
        let said = telling.iter().filter(|word| self.has_word(word)).count();
        if wanted.len() >= COMPOSED_WORDS {
            #[expect(clippy::cast_precision_loss, reason = "a number of words")]
            return said as f64 >= telling.len() as f64 * COMPOSED_SHARE;
        }
        said == telling.len() && !telling.is_empty()
    }

    fn has_word(&self, word: &str) -> bool {
        self.words.contains(word)
            || stem(word).is_some_and(|stem| self.stems.contains(&stem))
            || word.parse::<f64>().is_ok_and(|number| self.has_number(number))
            || (word.chars().count() >= MIN_PART_CHARS && self.text.contains(word))
    }
}

/// Returns the words of a text in lower case: letters and digits that belong together.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Returns the beginning that all forms of a long word share.
fn stem(word: &str) -> Option<String> {
    let is_plain = word.chars().all(char::is_alphabetic);
    (is_plain && word.chars().count() > STEM_CHARS).then(|| word.chars().take(STEM_CHARS).collect())
}

/// Returns true for a date, a time or both in the form of ISO 8601, which the assistant derives from words such as
/// "tomorrow".
fn is_date(text: &str) -> bool {
    let text = text.trim();
    let has_form = |form: &str| {
        text.len() >= form.len()
            && form
                .bytes()
                .zip(text.bytes())
                .all(|(form, byte)| if form == b'0' { byte.is_ascii_digit() } else { form == byte })
    };
    let rest_is_time = text.bytes().all(|byte| byte.is_ascii_digit() || b"-:.TZ+ ".contains(&byte));
    rest_is_time && (has_form("0000-00-00") || has_form("00:00")) || has_form("0000-00") && text.len() == 7
}
