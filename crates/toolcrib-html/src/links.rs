//! The links of a page.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;
use url::Url;

/// The maximum length of a title or a description, in characters.
const MAX_TITLE_CHARS: usize = 500;

/// The maximum number of links in a result.
pub const MAX_LINKS: usize = 100;

/// The maximum number of links that are stored until the main content is known.
const MAX_STORED_LINKS: usize = 2000;

/// The maximum length of the text of a link, in characters.
const MAX_LABEL_CHARS: usize = 120;

/// The maximum length of the URL of a link, in bytes.
const MAX_TARGET_BYTES: usize = 2000;

/// A link of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Link {
    /// The text of the link.
    pub text: String,
    /// The absolute URL.
    pub url: String,
}

/// The links of a page, in order.
#[derive(Default)]
pub(crate) struct Links {
    collected: Vec<RawLink>,
    open: Option<RawLink>,
    /// The base of relative links, if the page declares one.
    pub(crate) base: Option<String>,
}

struct RawLink {
    target: String,
    label: String,
    /// The offset in the outline.
    at: usize,
}

impl Links {
    pub(crate) fn begin(&mut self, target: &str, at: usize) {
        self.end();
        if target.len() <= MAX_TARGET_BYTES && !target.trim_start().starts_with('#') {
            self.open = Some(RawLink { target: target.to_owned(), label: String::new(), at });
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        if let Some(open) = &mut self.open
            && open.label.len() < 4 * MAX_LABEL_CHARS
        {
            open.label.extend(text.chars().take(MAX_LABEL_CHARS));
        }
    }

    pub(crate) fn end(&mut self) {
        if let Some(open) = self.open.take()
            && self.collected.len() < MAX_STORED_LINKS
        {
            self.collected.push(open);
        }
    }

    /// Returns the links in a range of the outline, without duplicates. Returns true with them if there are more. Without
    /// the URL of the page, relative links are left out.
    pub(crate) fn of(&self, section: &Range<usize>, page: Option<&Url>) -> (Vec<Link>, bool) {
        let base = self.base.as_deref().and_then(|base| resolve(page, base));
        let base = base.as_ref().or(page);
        let mut links: Vec<Link> = Vec::new();
        for link in self.collected.iter().filter(|link| section.contains(&link.at)) {
            let Some(url) = resolve(base, link.target.trim()) else { continue };
            if !matches!(url.scheme(), "http" | "https") || links.iter().any(|link| link.url == url.as_str())
            {
                continue;
            }
            if links.len() == MAX_LINKS {
                return (links, true);
            }
            let text = one_line(&link.label).chars().take(MAX_LABEL_CHARS).collect();
            links.push(Link { text, url: url.into() });
        }
        (links, false)
    }
}

/// Returns the URL of a link in a page at a URL, if that is known.
fn resolve(base: Option<&Url>, target: &str) -> Option<Url> {
    match base {
        Some(base) => base.join(target).ok(),
        None => Url::parse(target).ok(),
    }
}

/// Joins the words of a text by single spaces, up to [`MAX_TITLE_CHARS`].
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(MAX_TITLE_CHARS).collect()
}
