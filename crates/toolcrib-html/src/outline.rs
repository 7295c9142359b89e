//! The extraction of the content of a page as an outline: HTML of a few elements, without menus and scripts.
//!
//! Pages can be hostile: the tree of a page can be as deep as the page is long, and its size the square of that, since
//! the rules of HTML reopen elements that were not closed. So this module builds no tree. It processes the tags one by
//! one, and its output nests no deeper than [`MAX_NESTING`].

use std::cell::RefCell;
use std::ops::Range;

use html5ever::LocalName;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use toolcrib_model::ToolError;
use toolcrib_model::text::truncate_bytes;

use crate::links::Links;

/// The maximum nesting of lists, quotes and the like in an outline. Deeper elements become siblings of their parents.
const MAX_NESTING: usize = 16;

/// The maximum size of an outline, in bytes.
pub(crate) const MAX_OUTLINE_BYTES: usize = 1024 * 1024;

/// The number of bytes of a page that are processed between two checks for cancellation.
const STEP_BYTES: usize = 4 * 1024;

/// The maximum length of a single tag or comment, in bytes. The time to parse a tag grows with the square of its
/// length.
const MAX_TAG_BYTES: usize = 128 * 1024;

/// The maximum length of a title or a description, in bytes.
const MAX_META_BYTES: usize = 4 * 1024;

/// The elements that never contain text.
const NO_TEXT: &[&str] = &[
    "audio", "canvas", "datalist", "iframe", "map", "math", "noembed", "noframes", "object", "script",
    "select", "style", "svg", "template", "textarea", "video",
];

/// The elements around the content of a page, which repeat on all pages of a site.
const BOILERPLATE: &[&str] = &["aside", "button", "dialog", "footer", "nav"];

/// The `role` attributes of such elements.
const BOILERPLATE_ROLES: &[&str] = &["banner", "contentinfo", "dialog", "menu", "navigation", "search"];

/// The elements that the outline retains.
const RETAINED: &[&str] = &[
    "blockquote",
    "code",
    "dd",
    "dl",
    "dt",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "li",
    "ol",
    "p",
    "pre",
    "ul",
];

/// The elements that begin a new line.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "body",
    "caption",
    "details",
    "div",
    "fieldset",
    "figcaption",
    "figure",
    "form",
    "header",
    "hr",
    "legend",
    "main",
    "section",
    "summary",
    "table",
    "tbody",
    "tfoot",
    "thead",
    "tr",
];

/// The elements without an end tag.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

/// The outline of a page.
#[derive(Default)]
pub(crate) struct Outline {
    /// HTML of a few elements, without attributes.
    pub(crate) html: String,
    /// The size of its text, in bytes.
    pub(crate) text_bytes: usize,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) language: Option<String>,
    pub(crate) links: Links,
    /// The main content, if the page marks it.
    main: Option<Section>,
    /// The range from the first article to the end of the last one.
    articles: Option<Section>,
    /// True if the page continues after the processed part.
    pub(crate) is_cut: bool,
}

/// A range of an outline.
#[derive(Clone)]
struct Section {
    html: Range<usize>,
    text: Range<usize>,
}

/// The amount of content that the outline leaves out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilterLevel {
    /// Leaves out everything around the content.
    Strict,
    /// Leaves out only what is not text. In a page with unclosed elements, the strict level may leave out too much.
    Lenient,
}

impl Outline {
    /// Creates the outline of a page. `check_cancelled` is called between steps, and ends the work by an error.
    pub(crate) fn of(
        page: &str,
        level: FilterLevel,
        check_cancelled: &dyn Fn() -> Result<(), ToolError>,
    ) -> Result<Self, ToolError> {
        let tokenizer =
            Tokenizer::new(Sink(RefCell::new(OutlineBuilder::new(level))), TokenizerOpts::default());
        let input = BufferQueue::default();
        let (mut rest, mut silent, mut previous_tokens) = (page, 0, 0);
        while !rest.is_empty() {
            check_cancelled()?;
            let (step, behind) = rest.split_at(rest.floor_char_boundary(STEP_BYTES.min(rest.len())));
            rest = behind;
            input.push_back(StrTendril::from(step));
            // The sink never stops at a script, so that the tokenizer consumes all input.
            let _ = tokenizer.feed(&input);
            let mut builder = tokenizer.sink.0.borrow_mut();
            silent = if builder.tokens == previous_tokens { silent + step.len() } else { 0 };
            previous_tokens = builder.tokens;
            if silent > MAX_TAG_BYTES || builder.outline.html.len() > MAX_OUTLINE_BYTES {
                builder.outline.is_cut = true;
                break;
            }
        }
        if !tokenizer.sink.0.borrow().outline.is_cut {
            tokenizer.end();
        }
        let mut builder = tokenizer.sink.0.into_inner();
        builder.outline.links.end();
        builder.end_section();
        Ok(builder.outline)
    }

    /// Returns the range of the content: the part that the page marks, unless that contains hardly any text.
    pub(crate) fn content(&self) -> Range<usize> {
        let is_worth = |section: &&Section| {
            let bytes = section.text.len();
            bytes >= MIN_CONTENT_BYTES || bytes * 2 >= self.text_bytes
        };
        let section = self.main.as_ref().filter(is_worth).or_else(|| self.articles.as_ref().filter(is_worth));
        section.map_or(0..self.html.len(), |section| section.html.clone())
    }
}

/// The minimum size of the text of a content section, in bytes.
pub(crate) const MIN_CONTENT_BYTES: usize = 200;

/// Passes tokens on to the builder, which needs mutable access.
struct Sink(RefCell<OutlineBuilder>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut builder = self.0.borrow_mut();
        builder.tokens += 1;
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => builder.begin(&tag),
            Token::TagToken(tag) => {
                builder.end(&tag.name);
                TokenSinkResult::Continue
            }
            Token::CharacterTokens(text) => {
                builder.text(&text);
                TokenSinkResult::Continue
            }
            _ => TokenSinkResult::Continue,
        }
    }
}

/// Builds an outline from tokens.
struct OutlineBuilder {
    level: FilterLevel,
    outline: Outline,
    tokens: usize,
    /// The open elements of the outline.
    open: Vec<LocalName>,
    /// The element that is being skipped with its content, and the number of open elements of its name in it.
    skipped: Option<(LocalName, usize)>,
    is_title: bool,
    /// The number of cells in the current row of a table.
    cells: usize,
    /// True if the outline ends with a line break.
    is_at_break: bool,
    /// The open section: true for the main one, and the offsets at which it began.
    section: Option<(bool, usize, usize)>,
}

impl OutlineBuilder {
    fn new(level: FilterLevel) -> Self {
        Self {
            level,
            outline: Outline::default(),
            tokens: 0,
            open: Vec::new(),
            skipped: None,
            is_title: false,
            cells: 0,
            is_at_break: true,
            section: None,
        }
    }

    fn begin(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name = &*tag.name;
        let next = match name {
            "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
            "iframe" | "noembed" | "noframes" | "style" | "xmp" => TokenSinkResult::RawData(RawKind::Rawtext),
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            "plaintext" => TokenSinkResult::Plaintext,
            _ => TokenSinkResult::Continue,
        };
        if let Some((skipped, open)) = &mut self.skipped {
            *open += usize::from(*skipped == tag.name);
            return next;
        }
        if self.is_left_out(tag) {
            self.skipped = Some((tag.name.clone(), 1));
            return next;
        }
        match name {
            "title" => self.is_title = self.outline.title.is_none(),
            "html" => self.outline.language = attribute(tag, "lang").map(truncate_meta),
            "base" => {
                let base = attribute(tag, "href").map(truncate_meta);
                self.outline.links.base = self.outline.links.base.take().or(base);
            }
            "meta" => self.meta(tag),
            "a" => {
                let at = self.outline.html.len();
                self.outline.links.begin(attribute(tag, "href").unwrap_or("#"), at);
            }
            "img" => {
                if let Some(alt) = attribute(tag, "alt").map(str::trim).filter(|alt| !alt.is_empty()) {
                    self.text(&format!("[image: {}]", truncate_meta(alt)));
                }
            }
            "br" => self.outline.html.push_str("<br>"),
            "td" | "th" => {
                if self.cells > 0 {
                    self.text(" | ");
                }
                self.cells += 1;
            }
            "main" | "article" => self.begin_section(name == "main"),
            name if RETAINED.contains(&name) => self.open(&tag.name),
            name if BLOCKS.contains(&name) => self.line(),
            _ => {}
        }
        if name == "tr" {
            self.cells = 0;
        }
        next
    }

    fn end(&mut self, name: &LocalName) {
        if let Some((skipped, open)) = &mut self.skipped {
            if skipped == name {
                *open -= 1;
                if *open == 0 {
                    self.skipped = None;
                }
            }
            return;
        }
        match &**name {
            "title" => self.is_title = false,
            "a" => self.outline.links.end(),
            "main" | "article" => {
                self.line();
                self.end_section_of(&**name == "main");
            }
            target if RETAINED.contains(&target) => self.close(name),
            block if BLOCKS.contains(&block) => self.line(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        if self.is_title {
            let title = self.outline.title.get_or_insert_default();
            let room = MAX_META_BYTES.saturating_sub(title.len());
            title.push_str(truncate_bytes(text, room));
            return;
        }
        self.outline.links.text(text);
        let words = text.trim();
        self.outline.text_bytes += words.len();
        self.is_at_break &= words.is_empty();
        let html = &mut self.outline.html;
        for character in text.chars() {
            match character {
                '&' => html.push_str("&amp;"),
                '<' => html.push_str("&lt;"),
                '>' => html.push_str("&gt;"),
                '\0' => {}
                character => html.push(character),
            }
        }
    }

    /// Returns true if an element is left out with its content.
    fn is_left_out(&self, tag: &Tag) -> bool {
        let name = &*tag.name;
        if NO_TEXT.contains(&name) {
            return true;
        }
        if self.level == FilterLevel::Lenient
            || VOID.contains(&name)
            || matches!(name, "html" | "body" | "main")
        {
            return false;
        }
        let is_hidden = attribute(tag, "hidden").is_some()
            || attribute(tag, "aria-hidden") == Some("true")
            || attribute(tag, "style").is_some_and(hides)
            || attribute(tag, "role").is_some_and(|role| BOILERPLATE_ROLES.contains(&role));
        // The header of an article is its heading; the header of a page is its menu.
        is_hidden || BOILERPLATE.contains(&name) || name == "header" && self.section.is_none()
    }

    fn meta(&mut self, tag: &Tag) {
        let Some(content) = attribute(tag, "content") else { return };
        let key = attribute(tag, "name").or_else(|| attribute(tag, "property")).unwrap_or_default();
        match key.to_ascii_lowercase().as_str() {
            "description" => self.outline.description = Some(truncate_meta(content)),
            "og:description" if self.outline.description.is_none() => {
                self.outline.description = Some(truncate_meta(content));
            }
            _ => {}
        }
    }

    /// Begins a line.
    fn line(&mut self) {
        self.close_paragraph();
        if !self.is_at_break {
            self.outline.html.push_str("<br>");
            self.is_at_break = true;
        }
    }

    fn open(&mut self, name: &LocalName) {
        if &**name != "code" {
            self.close_paragraph();
        }
        if &**name == "li" && self.open.last() == Some(name) {
            self.close(name);
        }
        if self.open.len() >= MAX_NESTING {
            self.line();
            return;
        }
        self.outline.html.extend(["<", name, ">"]);
        self.open.push(name.clone());
        self.is_at_break = true;
    }

    /// Closes the innermost element of this name, with all open elements in it.
    fn close(&mut self, name: &LocalName) {
        let Some(at) = self.open.iter().rposition(|open| open == name) else { return };
        for open in self.open.drain(at..).rev() {
            self.outline.html.extend(["</", &open, ">"]);
        }
        self.is_at_break = &**name != "code";
    }

    fn close_paragraph(&mut self) {
        if self.open.iter().any(|open| &**open == "p") {
            self.close(&LocalName::from("p"));
        }
    }

    fn begin_section(&mut self, is_main: bool) {
        self.line();
        let begins = self.section.as_ref().is_none_or(|(is_main_already, ..)| is_main && !is_main_already);
        if begins {
            self.section = Some((is_main, self.outline.html.len(), self.outline.text_bytes));
        }
    }

    fn end_section_of(&mut self, is_main: bool) {
        if self.section.as_ref().is_some_and(|(open_is_main, ..)| *open_is_main == is_main) {
            self.end_section();
        }
    }

    fn end_section(&mut self) {
        let Some((is_main, html, text)) = self.section.take() else { return };
        let target = if is_main { &mut self.outline.main } else { &mut self.outline.articles };
        let (html_end, text_end) = (self.outline.html.len(), self.outline.text_bytes);
        let (html, text) =
            target.as_ref().map_or((html, text), |section| (section.html.start, section.text.start));
        *target = Some(Section { html: html..html_end, text: text..text_end });
    }
}

fn attribute<'a>(tag: &'a Tag, name: &str) -> Option<&'a str> {
    tag.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
}

/// Returns true if a style hides its element.
fn hides(style: &str) -> bool {
    let plain: String =
        style.chars().filter(|character| !character.is_whitespace()).take(MAX_META_BYTES).collect();
    let plain = plain.to_ascii_lowercase();
    ["display:none", "visibility:hidden"].iter().any(|hidden| plain.contains(hidden))
}

fn truncate_meta(text: &str) -> String {
    truncate_bytes(text, MAX_META_BYTES).to_owned()
}
