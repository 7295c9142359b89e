//! The conversion of an outline to text.

use html2text::config;
use toolcrib_model::ToolError;
use url::Url;

use super::Page;
use super::outline::{FilterLevel, MIN_CONTENT_BYTES, Outline};
use crate::http::errors::failed;

/// The maximum size of the text of a page in a result, in bytes.
pub const MAX_TEXT_BYTES: usize = 256 * 1024;

/// The line width, in characters: so large that lines are not wrapped in practice.
const LINE_CHARS: usize = 10_000;

/// Returns the readable text of a page.
pub(super) fn page(
    html: &str,
    url: &Url,
    check_cancelled: &dyn Fn() -> Result<(), ToolError>,
) -> Result<Page, ToolError> {
    let mut outline = Outline::of(html, FilterLevel::Strict, check_cancelled)?;
    if outline.text_bytes < MIN_CONTENT_BYTES {
        let lenient = Outline::of(html, FilterLevel::Lenient, check_cancelled)?;
        if lenient.text_bytes > outline.text_bytes * 2 {
            outline = lenient;
        }
    }
    let section = outline.content();
    let content = outline.html.get(section.clone()).unwrap_or_default();
    let config = config::plain().allow_width_overflow();
    let rendered = config.string_from_read(content.as_bytes(), LINE_CHARS);
    let rendered = rendered.map_err(|error| failed(format!("the page cannot be shown as text: {error}")))?;
    let (links, more) = outline.links.of(&section, url);
    let mut notes = Vec::new();
    if more {
        notes.push(format!("there are more than {} links", links.len()));
    }
    if outline.is_cut {
        notes.push("the page is too long or malformed, and only a part of it was read".into());
    }
    Ok(Page {
        url: String::new(),
        title: outline.title,
        description: outline.description,
        language: outline.language,
        text: normalize_whitespace(&rendered),
        links,
        notes,
    })
}

/// Removes spaces at the ends of lines and repeated empty lines. Non-breaking spaces become spaces.
fn normalize_whitespace(text: &str) -> String {
    let text = text.replace('\u{a0}', " ");
    let mut normalized = String::with_capacity(text.len());
    let mut is_empty = true;
    for line in text.lines().map(str::trim_end) {
        if !(line.is_empty() && is_empty) {
            normalized.extend([line, "\n"]);
        }
        is_empty = line.is_empty();
    }
    normalized.truncate(normalized.trim_end().len());
    normalized
}

/// Cuts the text to [`MAX_TEXT_BYTES`].
pub(super) fn shorten(page: &mut Page) {
    if page.text.len() > MAX_TEXT_BYTES {
        page.text.truncate(page.text.floor_char_boundary(MAX_TEXT_BYTES));
        page.notes.push(format!("the text is longer than {MAX_TEXT_BYTES} bytes and was cut"));
    }
}
