//! External texts in HTML.

use std::fmt::Write as _;

use maud::Render;
use toolcrib_model::text::{is_invisible, truncate_chars};

/// The default maximum length of a text, in characters.
const MAX_TEXT_CHARS: usize = 400;

/// A text of a tool, server, or model as a part of the page: escaped, truncated, and with its invisible characters
/// escaped, so that it is what it looks like.
pub(super) struct ExternalText<'a> {
    text: &'a str,
    max_chars: usize,
}

/// Returns a text that is truncated to the default maximum.
pub(super) fn text(text: &str) -> ExternalText<'_> {
    text_to(text, MAX_TEXT_CHARS)
}

/// Returns a text that is truncated to a maximum length in characters. A mark shows that text is missing.
pub(super) fn text_to(text: &str, max_chars: usize) -> ExternalText<'_> {
    ExternalText { text, max_chars }
}

impl Render for ExternalText<'_> {
    fn render_to(&self, html: &mut String) {
        let shown = truncate_chars(self.text, self.max_chars);
        for c in shown.chars() {
            match c {
                '\n' | '\t' => html.push(c),
                // Writing to a string cannot fail.
                hidden if is_invisible(hidden) => {
                    let _ = write!(html, "{}", hidden.escape_unicode());
                }
                plain => plain.encode_utf8(&mut [0; 4]).render_to(html),
            }
        }
        if shown.len() < self.text.len() {
            html.push_str(" […]");
        }
    }
}

#[cfg(test)]
mod tests {
    use maud::html;

    use super::{text, text_to};

    #[test]
    fn a_text_is_never_markup_and_is_what_it_looks_like() {
        let html = html! {
            p title=(text("\"' onload=x <b>&amp;\u{202E}\u{0}")) { (text_to("long", 2)) }
        };
        assert_eq!(
            html.into_string(),
            "<p title=\"&quot;' onload=x &lt;b&gt;&amp;amp;\\u{202e}\\u{0}\">lo […]</p>"
        );
    }
}
