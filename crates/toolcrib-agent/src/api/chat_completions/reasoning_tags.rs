//! A parser of the tags that separate the reasoning of a model from its text, for servers that send both as one text.

use crate::chat::{Piece, TextSink};

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// A streamed text that may begin with `<think>…</think>`. A later tag is a part of the text.
#[derive(Debug, Default)]
pub(super) struct ReasoningTagParser {
    place: TagState,
    /// Text that may be a part of a tag.
    held: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TagState {
    #[default]
    Beginning,
    Thinking,
    /// After the reasoning: blanks are skipped.
    Behind,
    Text,
}

impl ReasoningTagParser {
    /// Parses the next part, and passes on what is complete to `sink`.
    pub(super) fn push(&mut self, part: &str, sink: &mut TextSink<'_>) {
        self.held.push_str(part);
        loop {
            let held = self.held.as_str();
            let (used, next) = match self.place {
                TagState::Beginning => {
                    let rest = held.trim_start();
                    if let Some(thought) = rest.strip_prefix(OPEN) {
                        (held.len() - thought.len(), TagState::Thinking)
                    } else if OPEN.starts_with(rest) {
                        return;
                    } else {
                        (0, TagState::Text)
                    }
                }
                TagState::Thinking => {
                    let Some((thought, _)) = held.split_once(CLOSE) else {
                        let safe = held.len() - unfinished(held);
                        say(Piece::Reasoning(held.get(..safe).unwrap_or_default()), sink);
                        self.held.drain(..safe);
                        return;
                    };
                    say(Piece::Reasoning(thought), sink);
                    (thought.len() + CLOSE.len(), TagState::Behind)
                }
                TagState::Behind => {
                    let text = held.trim_start();
                    if text.is_empty() {
                        self.held.clear();
                        return;
                    }
                    (held.len() - text.len(), TagState::Text)
                }
                TagState::Text => {
                    say(Piece::Text(held), sink);
                    self.held.clear();
                    return;
                }
            };
            self.held.drain(..used);
            self.place = next;
        }
    }

    /// Passes on the text that is still held, which is not a tag.
    pub(super) fn finish(&mut self, sink: &mut TextSink<'_>) {
        let held = std::mem::take(&mut self.held);
        match self.place {
            TagState::Beginning | TagState::Text => say(Piece::Text(&held), sink),
            TagState::Thinking => say(Piece::Reasoning(&held), sink),
            TagState::Behind => {}
        }
    }
}

fn say(piece: Piece<'_>, sink: &mut TextSink<'_>) {
    if !matches!(piece, Piece::Text("") | Piece::Reasoning("")) {
        sink(piece);
    }
}

/// Returns the number of bytes at the end that may begin the closing tag.
fn unfinished(text: &str) -> usize {
    (1..CLOSE.len())
        .rev()
        .find(|length| CLOSE.get(..*length).is_some_and(|part| text.ends_with(part)))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(parts: &[&str]) -> (String, String) {
        let (mut thought, mut reasoning, mut text) =
            (ReasoningTagParser::default(), String::new(), String::new());
        let mut sink = |piece: Piece<'_>| match piece {
            Piece::Reasoning(part) => reasoning.push_str(part),
            Piece::Text(part) => text.push_str(part),
            Piece::Notice(_) => {}
        };
        for part in parts {
            thought.push(part, &mut sink);
        }
        thought.finish(&mut sink);
        (reasoning, text)
    }

    #[test]
    fn a_thought_before_the_text_is_told_apart() {
        for (whole, reasoning, text) in [
            ("Hello.", "", "Hello."),
            ("<think>Hm.</think>\n\nHello.", "Hm.", "Hello."),
            ("\n<think>\nHm.\n</think>Hello.", "\nHm.\n", "Hello."),
            ("<think>Hm, a < b", "Hm, a < b", ""),
            ("<think>Hm.</thi", "Hm.</thi", ""),
            ("<thin ice", "", "<thin ice"),
            ("<th", "", "<th"),
            ("Use <think> tags.</think>", "", "Use <think> tags.</think>"),
            ("<think></think> ", "", ""),
        ] {
            assert_eq!(read(&[whole]), (reasoning.to_owned(), text.to_owned()), "{whole}");
        }
    }

    proptest! {
        #[test]
        fn however_a_text_is_cut_it_reads_the_same(
            pieces in prop::collection::vec(
                prop_oneof![Just("<think>"), Just("</think>"), Just("<th"), Just("ink>"), Just(" "), Just("ü"), Just("a")],
                0..8,
            ),
            cut in 0_usize..20,
        ) {
            let whole = pieces.concat();
            let cut = whole.floor_char_boundary(cut);
            let expected = read(&[&whole]);
            prop_assert_eq!(read(&[&whole[..cut], &whole[cut..]]), expected.clone());
            let chars: Vec<String> = whole.chars().map(String::from).collect();
            let chars: Vec<&str> = chars.iter().map(String::as_str).collect();
            prop_assert_eq!(read(&chars), expected);
        }
    }
}
