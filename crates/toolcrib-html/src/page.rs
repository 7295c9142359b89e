//! A page, and its rendering as text.

use html2text::config;
use toolcrib_model::{ErrorKind, ToolError};
use url::Url;

use crate::links::{Link, one_line};
use crate::outline::{FilterLevel, MIN_CONTENT_BYTES, Outline};

/// The maximum size of the text of a page, in bytes.
pub const MAX_TEXT_BYTES: usize = 256 * 1024;

/// The line width, in characters: so large that lines are not wrapped in practice.
const LINE_CHARS: usize = 10_000;

/// The content of a page for a reader.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReadablePage {
    /// Its title.
    pub title: Option<String>,
    /// The description of the page by its author.
    pub description: Option<String>,
    /// Its language, as in `en` or `fr-CA`.
    pub language: Option<String>,
    /// Its main content, as text: `#` begins a heading, `*` an item of a list, and `|` separates the cells of a table.
    pub text: String,
    /// The links of its main content.
    pub links: Vec<Link>,
    /// Further remarks.
    pub notes: Vec<String>,
}

impl ReadablePage {
    /// Reads a page. `url` is the base of its relative links, which are left out without it. `check_cancelled` is called
    /// between steps, and ends the work by an error.
    ///
    /// The time is linear in the size of the page, and the text has at most [`MAX_TEXT_BYTES`].
    ///
    /// ```
    /// use toolcrib_html::ReadablePage;
    ///
    /// let page = ReadablePage::read("<title>Shop</title><nav>Menu</nav><h1>Offers</h1><p>None today.", None, &|| Ok(()))?;
    /// assert_eq!(page.title.as_deref(), Some("Shop"));
    /// assert_eq!(page.text, "# Offers\n\nNone today.");
    /// # Ok::<(), toolcrib_model::ToolError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of `check_cancelled`, or says why the page cannot be shown as text.
    pub fn read(
        html: &str,
        url: Option<&Url>,
        check_cancelled: &dyn Fn() -> Result<(), ToolError>,
    ) -> Result<Self, ToolError> {
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
        let rendered = config.string_from_read(content.as_bytes(), LINE_CHARS).map_err(|error| {
            ToolError::new(ErrorKind::ToolFailed, format!("the page cannot be shown as text: {error}"))
        })?;
        let (links, more) = outline.links.of(&section, url);
        let mut notes = Vec::new();
        if more {
            notes.push(format!("there are more than {} links", links.len()));
        }
        if outline.is_cut {
            notes.push("the page is too long or malformed, and only a part of it was read".into());
        }
        let field = |text: Option<String>| text.map(|text| one_line(&text)).filter(|text| !text.is_empty());
        let mut page = Self {
            title: field(outline.title),
            description: field(outline.description),
            language: field(outline.language),
            text: normalize_whitespace(&rendered),
            links,
            notes,
        };
        page.shorten();
        Ok(page)
    }

    /// Creates a page from a text that is not HTML: it stays as it is, up to [`MAX_TEXT_BYTES`].
    pub fn from_text(text: String) -> Self {
        let mut page = Self { text, ..Self::default() };
        page.shorten();
        page
    }

    /// Cuts the text to [`MAX_TEXT_BYTES`].
    fn shorten(&mut self) {
        if self.text.len() > MAX_TEXT_BYTES {
            self.text.truncate(self.text.floor_char_boundary(MAX_TEXT_BYTES));
            self.notes.push(format!("the text is longer than {MAX_TEXT_BYTES} bytes and was cut"));
        }
    }

    /// Returns the page as one Markdown document: its title, its text, and its links as a list.
    pub fn to_markdown(&self) -> String {
        let mut parts = Vec::new();
        if let Some(title) = self.title.as_ref().filter(|title| !self.text.contains(title.as_str())) {
            parts.push(format!("# {title}"));
        }
        if !self.text.is_empty() {
            parts.push(self.text.clone());
        }
        if !self.links.is_empty() {
            let links = self.links.iter().map(|Link { text, url }| format!("* [{text}]({url})"));
            parts.push(links.collect::<Vec<_>>().join("\n"));
        }
        parts.join("\n\n")
    }
}

/// Returns true for a text that is a whole page of HTML, apart from one that has some of its tags.
pub fn is_page(text: &str) -> bool {
    let start = text.trim_start().as_bytes();
    ["<!doctype html", "<html"].iter().any(|prefix| {
        start.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
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
