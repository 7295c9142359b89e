//! Bracketed paste: pasted lines are one message.
//!
//! A terminal in this mode sends `ESC [ 200 ~` before what is pasted and `ESC [ 201 ~` behind it (xterm's control sequences,
//! "Bracketed Paste Mode"). Terminals that do not know the mode ignore the sequences that switch it.

/// The sequences that switch the mode.
pub(super) const ON: &str = "\u{1b}[?2004h";
pub(super) const OFF: &str = "\u{1b}[?2004l";

const BEGIN: &str = "\u{1b}[200~";
const END: &str = "\u{1b}[201~";

/// The most bytes of a message of several lines.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// A message, assembled from lines.
#[derive(Default)]
pub(super) struct Message {
    text: String,
    is_in_paste: bool,
}

impl Message {
    /// Adds a line, and returns true if it ends the message.
    pub(super) fn push(&mut self, line: &str) -> bool {
        let mut rest = line;
        loop {
            let (marker, begins) = if self.is_in_paste { (END, false) } else { (BEGIN, true) };
            let Some((before, behind)) = rest.split_once(marker) else { break };
            self.add(before);
            self.is_in_paste = begins;
            rest = behind;
        }
        self.add(rest);
        !self.is_in_paste || self.text.len() >= MAX_MESSAGE_BYTES
    }

    /// Returns the whole text, without the markers.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    fn add(&mut self, text: &str) {
        let room = MAX_MESSAGE_BYTES.saturating_sub(self.text.len());
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(lines: &[&str]) -> Vec<String> {
        let (mut messages, mut message) = (Vec::new(), Message::default());
        for line in lines {
            if message.push(line) {
                messages.push(std::mem::take(&mut message).into_text());
            }
        }
        assert!(message.into_text().is_empty());
        messages
    }

    #[test]
    fn pasted_lines_are_one_message_with_what_is_typed_around_them() {
        let lines = ["please: \u{1b}[200~fix\n", "\n", "this\u{1b}[201~ now\n", "next\n"];
        assert_eq!(messages(&lines), ["please: fix\n\nthis now\n", "next\n"]);
        assert_eq!(messages(&["\u{1b}[200~a\u{1b}[201~ b \u{1b}[200~c\n", "d\u{1b}[201~\n"]), ["a b c\nd\n"]);
    }

    #[test]
    fn a_paste_without_an_end_is_bounded() {
        let mut message = Message::default();
        assert!(!message.push("\u{1b}[200~"));
        let line = "é".repeat(50_000);
        let mut lines = 0;
        while lines < 1000 && !message.push(&line) {
            lines += 1;
        }
        assert_eq!((lines, message.into_text().len()), (10, MAX_MESSAGE_BYTES));
    }
}
