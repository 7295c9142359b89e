//! Where a page links to.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;
use url::Url;

use super::one_line;

/// How many links of a page are told.
pub const MAX_LINKS: usize = 100;

/// How many links are kept until it is known which of them belong to the main content.
const MAX_KEPT: usize = 2000;

/// How long the text of a link may be that is told, in characters.
const MAX_LABEL_CHARS: usize = 120;

/// The longest URL of a link, in bytes.
const MAX_TARGET_BYTES: usize = 2000;

/// Where a page links to.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(in crate::http) struct Link {
    /// What the link reads.
    text: String,
    url: String,
}

/// The links of a page, in order.
#[derive(Default)]
pub(super) struct Links {
    kept: Vec<Kept>,
    open: Option<Kept>,
    /// What relative links start from, where the page says so.
    pub(super) base: Option<String>,
}

struct Kept {
    target: String,
    label: String,
    /// Where in the outline it stands.
    at: usize,
}

impl Links {
    pub(super) fn begin(&mut self, target: &str, at: usize) {
        self.end();
        if target.len() <= MAX_TARGET_BYTES && !target.trim_start().starts_with('#') {
            self.open = Some(Kept { target: target.to_owned(), label: String::new(), at });
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        if let Some(open) = &mut self.open
            && open.label.len() < 4 * MAX_LABEL_CHARS
        {
            open.label.extend(text.chars().take(MAX_LABEL_CHARS));
        }
    }

    pub(super) fn end(&mut self) {
        if let Some(open) = self.open.take()
            && self.kept.len() < MAX_KEPT
        {
            self.kept.push(open);
        }
    }

    /// Those that stand in a part of the outline, each once, and whether there are more.
    pub(super) fn of(&self, part: &Range<usize>, page: &Url) -> (Vec<Link>, bool) {
        let base = self.base.as_deref().and_then(|base| page.join(base).ok());
        let base = base.as_ref().unwrap_or(page);
        let mut links: Vec<Link> = Vec::new();
        for kept in self.kept.iter().filter(|kept| part.contains(&kept.at)) {
            let Ok(url) = base.join(kept.target.trim()) else { continue };
            if !matches!(url.scheme(), "http" | "https") || links.iter().any(|link| link.url == url.as_str())
            {
                continue;
            }
            if links.len() == MAX_LINKS {
                return (links, true);
            }
            let text = one_line(&kept.label).chars().take(MAX_LABEL_CHARS).collect();
            links.push(Link { text, url: url.into() });
        }
        (links, false)
    }
}
