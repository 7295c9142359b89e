//! What is left of a page without what nobody reads: a plain outline of it, in a handful of elements.
//!
//! A page may be made to be hard: a tree of it can be as deep as the page is long, and its size the square of that, since
//! the rules of HTML repeat elements that were not closed. So no tree is made of the page itself. Its tags are taken one
//! by one, and what is written down nests no deeper than [`MAX_NESTING`].

use std::cell::RefCell;
use std::ops::Range;

use html5ever::LocalName;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use toolcrib_model::ToolError;

use super::links::Links;

/// How deep lists, quotes and the like nest in an outline. What is deeper stands beside what is above it.
const MAX_NESTING: usize = 16;

/// How large an outline gets, in bytes.
pub(super) const MAX_OUTLINE_BYTES: usize = 1024 * 1024;

/// How much of a page is taken at once, in bytes.
const STEP_BYTES: usize = 4 * 1024;

/// How long a single tag or comment may be, in bytes. The time that a tag takes grows with the square of its length.
const MAX_TAG_BYTES: usize = 128 * 1024;

/// How much of a title or a description is kept, in bytes.
const MAX_META_BYTES: usize = 4 * 1024;

/// What is never text.
const NO_TEXT: &[&str] = &[
    "audio", "canvas", "datalist", "iframe", "map", "math", "noembed", "noframes", "object", "script",
    "select", "style", "svg", "template", "textarea", "video",
];

/// What stands around the content of a page, on every one of its site.
const AROUND: &[&str] = &["aside", "button", "dialog", "footer", "nav"];

/// The same, by what an element says of its role.
const ROLES_AROUND: &[&str] = &["banner", "contentinfo", "dialog", "menu", "navigation", "search"];

/// What keeps its meaning in the outline.
const KEPT: &[&str] = &[
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

/// What begins a line of its own.
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

/// What elements have no end.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

/// The outline of a page.
#[derive(Default)]
pub(super) struct Outline {
    /// Plain HTML of a few elements.
    pub(super) html: String,
    /// How much text is in it, in bytes.
    pub(super) text_bytes: usize,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) language: Option<String>,
    pub(super) links: Links,
    /// The main content, where the page says which part of it is that.
    main: Option<Part>,
    /// From its first article to the end of its last one.
    articles: Option<Part>,
    /// Whether the page goes on behind what was looked at.
    pub(super) is_cut: bool,
}

/// A part of an outline.
#[derive(Clone)]
struct Part {
    html: Range<usize>,
    text: Range<usize>,
}

/// How much is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// Whatever stands around the content.
    Strict,
    /// Only what is no text: of a page whose elements are not closed, the former may leave out too much.
    Lenient,
}

impl Outline {
    /// Takes a page in. Between two steps it is asked whether to `go_on`.
    pub(super) fn of(
        page: &str,
        care: Care,
        go_on: &dyn Fn() -> Result<(), ToolError>,
    ) -> Result<Self, ToolError> {
        let tokenizer = Tokenizer::new(Sink(RefCell::new(Taking::new(care))), TokenizerOpts::default());
        let input = BufferQueue::default();
        let (mut rest, mut silent, mut seen) = (page, 0, 0);
        while !rest.is_empty() {
            go_on()?;
            let (step, behind) = rest.split_at(rest.floor_char_boundary(STEP_BYTES.min(rest.len())));
            rest = behind;
            input.push_back(StrTendril::from(step));
            // Nothing here halts at a script, so that all of it is taken.
            let _ = tokenizer.feed(&input);
            let mut taking = tokenizer.sink.0.borrow_mut();
            silent = if taking.tokens == seen { silent + step.len() } else { 0 };
            seen = taking.tokens;
            if silent > MAX_TAG_BYTES || taking.outline.html.len() > MAX_OUTLINE_BYTES {
                taking.outline.is_cut = true;
                break;
            }
        }
        if !tokenizer.sink.0.borrow().outline.is_cut {
            tokenizer.end();
        }
        let mut taking = tokenizer.sink.0.into_inner();
        taking.outline.links.end();
        taking.end_part();
        Ok(taking.outline)
    }

    /// Where in the outline its content is: the part that the page names, unless there is hardly any text in it.
    pub(super) fn content(&self) -> Range<usize> {
        let is_worth = |part: &&Part| {
            let bytes = part.text.len();
            bytes >= MIN_CONTENT_BYTES || bytes * 2 >= self.text_bytes
        };
        let part = self.main.as_ref().filter(is_worth).or_else(|| self.articles.as_ref().filter(is_worth));
        part.map_or(0..self.html.len(), |part| part.html.clone())
    }
}

/// How much text makes a part of a page its content, in bytes.
pub(super) const MIN_CONTENT_BYTES: usize = 200;

/// Hands tokens on to what can change with each.
struct Sink(RefCell<Taking>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut taking = self.0.borrow_mut();
        taking.tokens += 1;
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => taking.begin(&tag),
            Token::TagToken(tag) => {
                taking.end(&tag.name);
                TokenSinkResult::Continue
            }
            Token::CharacterTokens(text) => {
                taking.text(&text);
                TokenSinkResult::Continue
            }
            _ => TokenSinkResult::Continue,
        }
    }
}

/// A page that is being taken in.
struct Taking {
    care: Care,
    outline: Outline,
    tokens: usize,
    /// The elements of the outline that are open.
    open: Vec<LocalName>,
    /// The element that is left out with all that is in it, and how many of its name are open in it.
    skipped: Option<(LocalName, usize)>,
    is_title: bool,
    /// How many cells the row of a table has so far.
    cells: usize,
    /// Whether the last thing is a line break.
    is_at_break: bool,
    /// The part that is open: whether it is the main one, and where it began.
    part: Option<(bool, usize, usize)>,
}

impl Taking {
    fn new(care: Care) -> Self {
        Self {
            care,
            outline: Outline::default(),
            tokens: 0,
            open: Vec::new(),
            skipped: None,
            is_title: false,
            cells: 0,
            is_at_break: true,
            part: None,
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
            "html" => self.outline.language = attribute(tag, "lang").map(kept),
            "base" => {
                let base = attribute(tag, "href").map(kept);
                self.outline.links.base = self.outline.links.base.take().or(base);
            }
            "meta" => self.meta(tag),
            "a" => {
                let at = self.outline.html.len();
                self.outline.links.begin(attribute(tag, "href").unwrap_or("#"), at);
            }
            "img" => {
                if let Some(alt) = attribute(tag, "alt").map(str::trim).filter(|alt| !alt.is_empty()) {
                    self.text(&format!("[image: {}]", kept(alt)));
                }
            }
            "br" => self.outline.html.push_str("<br>"),
            "td" | "th" => {
                if self.cells > 0 {
                    self.text(" | ");
                }
                self.cells += 1;
            }
            "main" | "article" => self.begin_part(name == "main"),
            name if KEPT.contains(&name) => self.open(&tag.name),
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
                self.end_part_of(&**name == "main");
            }
            kept if KEPT.contains(&kept) => self.close(name),
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
            title.push_str(text.get(..text.floor_char_boundary(room.min(text.len()))).unwrap_or_default());
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

    /// Whether an element is left out with all that is in it.
    fn is_left_out(&self, tag: &Tag) -> bool {
        let name = &*tag.name;
        if NO_TEXT.contains(&name) {
            return true;
        }
        if self.care == Care::Lenient || VOID.contains(&name) || matches!(name, "html" | "body" | "main") {
            return false;
        }
        let is_hidden = attribute(tag, "hidden").is_some()
            || attribute(tag, "aria-hidden") == Some("true")
            || attribute(tag, "style").is_some_and(hides)
            || attribute(tag, "role").is_some_and(|role| ROLES_AROUND.contains(&role));
        // The header of an article is its heading; that of a page is its menu.
        is_hidden || AROUND.contains(&name) || name == "header" && self.part.is_none()
    }

    fn meta(&mut self, tag: &Tag) {
        let Some(content) = attribute(tag, "content") else { return };
        let key = attribute(tag, "name").or_else(|| attribute(tag, "property")).unwrap_or_default();
        match key.to_ascii_lowercase().as_str() {
            "description" => self.outline.description = Some(kept(content)),
            "og:description" if self.outline.description.is_none() => {
                self.outline.description = Some(kept(content));
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

    /// Closes the innermost element of this name, with all that is open in it.
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

    fn begin_part(&mut self, is_main: bool) {
        self.line();
        let begins = self.part.as_ref().is_none_or(|(is_main_already, ..)| is_main && !is_main_already);
        if begins {
            self.part = Some((is_main, self.outline.html.len(), self.outline.text_bytes));
        }
    }

    fn end_part_of(&mut self, is_main: bool) {
        if self.part.as_ref().is_some_and(|(open_is_main, ..)| *open_is_main == is_main) {
            self.end_part();
        }
    }

    fn end_part(&mut self) {
        let Some((is_main, html, text)) = self.part.take() else { return };
        let kept = if is_main { &mut self.outline.main } else { &mut self.outline.articles };
        let (html_end, text_end) = (self.outline.html.len(), self.outline.text_bytes);
        let (html, text) = kept.as_ref().map_or((html, text), |part| (part.html.start, part.text.start));
        *kept = Some(Part { html: html..html_end, text: text..text_end });
    }
}

fn attribute<'a>(tag: &'a Tag, name: &str) -> Option<&'a str> {
    tag.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
}

/// Whether a style hides its element.
fn hides(style: &str) -> bool {
    let plain: String =
        style.chars().filter(|character| !character.is_whitespace()).take(MAX_META_BYTES).collect();
    let plain = plain.to_ascii_lowercase();
    ["display:none", "visibility:hidden"].iter().any(|hidden| plain.contains(hidden))
}

fn kept(text: &str) -> String {
    text.get(..text.floor_char_boundary(MAX_META_BYTES.min(text.len()))).unwrap_or_default().to_owned()
}
