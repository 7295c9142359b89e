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

/// The style of a part of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Plain text, and the address of a link.
    #[default]
    Plain,
    /// `*text*`.
    Emphasis,
    /// `**text**`.
    Strong,
    /// Code, with its marks.
    Code,
}

/// A part of a line in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The text, without the marks of emphasis.
    pub text: String,
    /// The style of all of it.
    pub style: Style,
}

/// Renders the marks within a line: emphasis loses its marks, code keeps them, and a link is shown as `text (address)`.
pub fn inline(text: &str) -> String {
    spans(text).into_iter().map(|span| span.text).collect()
}

/// Returns what [`inline`] does as parts with their styles.
pub fn spans(text: &str) -> Vec<Span> {
    let chars: Vec<char> = text.chars().take(MAX_LINE_CHARS + 1).collect();
    if chars.len() > MAX_LINE_CHARS {
        return vec![Span { text: text.to_owned(), style: Style::Plain }];
    }
    let mut line = Line {
        shown: vec![Rendering::Verbatim; chars.len()],
        styles: vec![Style::Plain; chars.len()],
        chars,
        open: Vec::new(),
        brackets: Vec::new(),
    };
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
    styles: Vec<Style>,
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

    /// Styles the characters in a range that have no stronger style.
    fn style(&mut self, from: usize, to: usize, style: Style) {
        for place in self.styles.iter_mut().take(to).skip(from) {
            if matches!(*place, Style::Plain | Style::Emphasis) {
                *place = style;
            }
        }
    }

    /// Returns the number of repetitions of a character at a position.
    fn run(&self, at: usize, c: char) -> usize {
        self.chars.get(at..).unwrap_or_default().iter().take_while(|other| **other == c).count()
    }

    /// Code stays as it is.
    fn code(&mut self, at: usize) -> usize {
        let run = self.run(at, '`');
        let mut end = at + run;
        while let Some(c) = self.get(end) {
            let closing = if c == '`' { self.run(end, '`') } else { 0 };
            if closing == run {
                self.style(at, end + run, Style::Code);
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
                self.style(from + run, at, if run == 1 { Style::Emphasis } else { Style::Strong });
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

    fn finish(self) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for ((c, shown), style) in self.chars.into_iter().zip(self.shown).zip(self.styles) {
            if shown == Rendering::Hidden {
                continue;
            }
            if spans.last().is_none_or(|last| last.style != style) {
                spans.push(Span { text: String::new(), style });
            }
            if let Some(Span { text, .. }) = spans.last_mut() {
                match shown {
                    Rendering::Replaced(replacement) => text.push_str(replacement),
                    _ => text.push(c),
                }
            }
        }
        spans
    }
}
