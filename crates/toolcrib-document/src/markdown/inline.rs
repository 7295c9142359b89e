//! Marks within a line.

/// The most characters of a line whose marks are looked for.
const MAX_LINE_CHARS: usize = 4_000;

/// The rendering of a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rendering {
    Verbatim,
    Hidden,
    Replaced(&'static str),
}

/// Renders the marks within a line: emphasis loses its marks, code keeps them, and a link is shown as `text (address)`.
pub fn inline(text: &str) -> String {
    let chars: Vec<char> = text.chars().take(MAX_LINE_CHARS + 1).collect();
    if chars.len() > MAX_LINE_CHARS {
        return text.to_owned();
    }
    let mut line =
        Line { shown: vec![Rendering::Verbatim; chars.len()], chars, open: Vec::new(), brackets: Vec::new() };
    let mut at = 0;
    while let Some(c) = line.get(at) {
        at = match c {
            '`' => line.code(at),
            '\\' => line.escape(at),
            '*' | '_' => line.emphasis(at, c),
            '[' => {
                line.brackets.push(at);
                at + 1
            }
            ']' => line.link(at),
            _ => at + 1,
        };
    }
    line.finish()
}

struct Line {
    chars: Vec<char>,
    shown: Vec<Rendering>,
    /// The positions of open marks of emphasis, with the mark and its length.
    open: Vec<(usize, char, usize)>,
    /// The positions of open brackets that may be links.
    brackets: Vec<usize>,
}

impl Line {
    fn get(&self, at: usize) -> Option<char> {
        self.chars.get(at).copied()
    }

    fn set(&mut self, at: usize, shown: Rendering) {
        if let Some(place) = self.shown.get_mut(at) {
            *place = shown;
        }
    }

    /// Returns the number of repetitions of a character at a position.
    fn run(&self, at: usize, c: char) -> usize {
        self.chars.get(at..).unwrap_or_default().iter().take_while(|other| **other == c).count()
    }

    /// Code stays as it is.
    fn code(&self, at: usize) -> usize {
        let run = self.run(at, '`');
        let mut end = at + run;
        while let Some(c) = self.get(end) {
            let closing = if c == '`' { self.run(end, '`') } else { 0 };
            if closing == run {
                return end + run;
            }
            end += closing.max(1);
        }
        at + run
    }

    fn escape(&mut self, at: usize) -> usize {
        if self.get(at + 1).is_some_and(|next| next.is_ascii_punctuation()) {
            self.set(at, Rendering::Hidden);
            return at + 2;
        }
        at + 1
    }

    /// Marks around words disappear; those that nothing closes, and those within words, stay.
    fn emphasis(&mut self, at: usize, mark: char) -> usize {
        let run = self.run(at, mark);
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_space = |c: Option<char>| c.is_none_or(char::is_whitespace);
        let before = at.checked_sub(1).and_then(|at| self.get(at));
        let after = self.get(at + run);
        if !is_space(before) && !is_word(after) {
            let opened = self.open.iter().rposition(|(_, other, length)| (*other, *length) == (mark, run));
            if let Some(opened) = opened
                && let Some((from, ..)) = self.open.get(opened).copied()
            {
                self.open.truncate(opened);
                for offset in 0..run {
                    self.set(from + offset, Rendering::Hidden);
                    self.set(at + offset, Rendering::Hidden);
                }
                return at + run;
            }
        }
        if run <= 3 && !is_space(after) && !is_word(before) {
            self.open.push((at, mark, run));
        }
        at + run
    }

    /// `[text](address)`, the address of which stays as it is.
    fn link(&mut self, at: usize) -> usize {
        let Some(from) = self.brackets.pop() else { return at + 1 };
        if self.get(at + 1) != Some('(') {
            return at + 1;
        }
        let address = self.chars.get(at + 2..).unwrap_or_default();
        let Some(length) = address.iter().position(|c| *c == ')') else { return at + 1 };
        self.set(from, Rendering::Hidden);
        self.set(at, Rendering::Replaced(" "));
        if let Some(before) = from.checked_sub(1).filter(|before| self.get(*before) == Some('!')) {
            self.set(before, Rendering::Replaced("image: "));
        }
        at + 3 + length
    }

    fn finish(self) -> String {
        let mut out = String::with_capacity(self.chars.len());
        for (c, shown) in self.chars.into_iter().zip(self.shown) {
            match shown {
                Rendering::Verbatim => out.push(c),
                Rendering::Hidden => {}
                Rendering::Replaced(text) => out.push_str(text),
            }
        }
        out
    }
}
