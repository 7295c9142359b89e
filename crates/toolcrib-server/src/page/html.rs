//! A builder of HTML that escapes all external texts.

use std::fmt::{Display, Write as _};

use toolcrib_model::is_invisible;

/// The default maximum length of a text, in characters.
const MAX_TEXT_CHARS: usize = 400;

/// An HTML page under construction. Markup is a constant of this crate, and everything else is escaped as text.
#[derive(Default)]
pub(super) struct Html(String);

impl Html {
    /// Adds constant markup.
    pub(super) fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds an external text, truncated to the default maximum.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.text_to(text, MAX_TEXT_CHARS)
    }

    /// Adds a displayable value.
    pub(super) fn show(&mut self, value: impl Display) -> &mut Self {
        self.text(&value.to_string())
    }

    /// Adds a text, truncated to a maximum length in characters. A mark shows that text is missing.
    pub(super) fn text_to(&mut self, text: &str, most: usize) -> &mut Self {
        let mut rest = text.chars();
        for c in rest.by_ref().take(most) {
            self.character(c);
        }
        if rest.next().is_some() {
            self.0.push_str(" […]");
        }
        self
    }

    /// Adds a character. Escapes invisible ones, so that a text is what it looks like.
    fn character(&mut self, c: char) {
        match c {
            '&' => self.0.push_str("&amp;"),
            '<' => self.0.push_str("&lt;"),
            '>' => self.0.push_str("&gt;"),
            '"' => self.0.push_str("&quot;"),
            '\'' => self.0.push_str("&#39;"),
            '\n' | '\t' => self.0.push(c),
            hidden if is_invisible(hidden) => {
                let _ = write!(self.0, "{}", hidden.escape_unicode());
            }
            plain => self.0.push(plain),
        }
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Html;

    #[test]
    fn a_text_is_never_markup_and_is_what_it_looks_like() {
        let mut html = Html::default();
        html.markup("<p title=\"")
            .text("\"' onload=x <b>&amp;\u{202E}\u{0}")
            .markup("\">")
            .text_to("long", 2);
        assert_eq!(
            html.finish(),
            "<p title=\"&quot;&#39; onload=x &lt;b&gt;&amp;amp;\\u{202e}\\u{0}\">lo […]"
        );
    }
}
