//! Categories, the namespaces that a caller may see: their sizes, purposes and tools, by page.

use std::collections::BTreeMap;

use serde::Serialize;
use toolcrib_model::text::{truncate_bytes, words_of_name};
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_policy::Principal;

use crate::discovery::Discovery;
use crate::names::LIST_CATEGORIES;
use crate::signature::Line;
use crate::summary::{MAX_SUMMARY, cut, summary};

/// The default number of tools or categories on a page.
pub(crate) const PAGE_SIZE: usize = 20;

/// The most tools on one page.
pub(crate) const MAX_PAGE_SIZE: usize = 50;

/// The most characters of the name of an unknown category that an error repeats.
const MAX_CATEGORY: usize = 60;

/// The most bytes of the name of a category that a caller gives.
const MAX_GIVEN_BYTES: usize = 200;

/// The most categories that are suggested in place of an unknown one.
const MAX_SUGGESTED: usize = 5;

/// The minimum similarity, from 0 to 1, of a category that is suggested.
const MIN_LIKENESS: f64 = 0.55;

/// The number of tools named in the summary of a category without a description.
const NAMED_TOOLS: usize = 4;

/// A namespace with tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Category {
    /// Its name.
    pub category: String,
    /// The number of its tools.
    pub tools: usize,
    /// Its purpose, on one line; by default the names of its first tools.
    pub description: String,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page<T> {
    /// The number of the page, from 1.
    pub page: usize,
    /// The number of pages.
    pub pages: usize,
    /// The number of items on all pages.
    pub total: usize,
    /// The items of this page.
    pub items: Vec<T>,
}

impl<T> Page<T> {
    fn of<I>(all: &[I], page: usize, page_size: usize, item: impl Fn(&I) -> Option<T>) -> Self {
        let (page, page_size) = (page.max(1), page_size.clamp(1, MAX_PAGE_SIZE));
        let shown = all.iter().skip((page - 1).saturating_mul(page_size)).take(page_size);
        Self {
            page,
            pages: all.len().div_ceil(page_size),
            total: all.len(),
            items: shown.filter_map(item).collect(),
        }
    }
}

impl Discovery {
    /// Returns every namespace with a visible tool, by name.
    pub fn categories(&self, principal: Principal<'_>) -> Result<Vec<Category>, ToolError> {
        let snapshot = self.index.snapshot_of(principal.session)?;
        let mut categories: BTreeMap<&str, (usize, Vec<&str>)> = BTreeMap::new();
        for name in self.names(&snapshot, principal) {
            let (tools, first) = categories.entry(name.namespace()).or_default();
            *tools += 1;
            if first.len() < NAMED_TOOLS {
                first.push(name.name());
            }
        }
        let category = |(category, (tools, first)): (&str, (usize, Vec<&str>))| {
            let about = self.descriptions.get(category).cloned().or_else(|| self.sources.about(category));
            let told = about.map(|text| summary(&text));
            let description = told.filter(|text| !text.is_empty()).unwrap_or_else(|| names(tools, &first));
            Category { category: category.to_owned(), tools, description }
        };
        Ok(categories.into_iter().map(category).collect())
    }

    /// Returns one page of the categories; pages count from 1.
    pub fn category_page(
        &self,
        page: usize,
        page_size: usize,
        principal: Principal<'_>,
    ) -> Result<Page<Category>, ToolError> {
        Ok(Page::of(&self.categories(principal)?, page, page_size, |category| Some(category.clone())))
    }

    /// Returns one page of a category, with the name of the category: its tools by name, each as its signature; pages
    /// count from 1.
    pub fn browse(
        &self,
        category: &str,
        page: usize,
        page_size: usize,
        principal: Principal<'_>,
    ) -> Result<(String, Page<String>), ToolError> {
        let snapshot = self.index.snapshot_of(principal.session)?;
        let category = self.category(category, principal)?;
        let names: Vec<_> =
            self.names(&snapshot, principal).filter(|name| name.namespace() == category).collect();
        let page = Page::of(&names, page, page_size, |name| {
            let overloads = self.visible(&snapshot, name, principal)?;
            Line::new(&overloads, 0, &self.policy, principal).map(|line| line.for_page())
        });
        Ok((category, page))
    }

    /// Returns the category that a text denotes: its name in any case and with any separators, or a part that occurs in
    /// one name only.
    pub(crate) fn category(&self, given: &str, principal: Principal<'_>) -> Result<String, ToolError> {
        let known = self.categories(principal)?;
        let known: Vec<&str> = known.iter().map(|category| category.category.as_str()).collect();
        if let Some(exact) = known.iter().find(|name| **name == given.trim()) {
            return Ok((*exact).to_owned());
        }
        let given = truncate_bytes(given, MAX_GIVEN_BYTES);
        let wanted = words_of_name(given);
        let is_same = |name: &&str| words_of_name(name) == wanted;
        let is_part = |name: &&str| {
            let words = words_of_name(name);
            !wanted.is_empty() && words.windows(wanted.len()).any(|part| part == wanted)
        };
        let mut near = Vec::new();
        for is_meant in [&is_same as &dyn Fn(&&str) -> bool, &is_part] {
            near = known.iter().copied().filter(is_meant).collect();
            match near.as_slice() {
                [] => {}
                [only] => return Ok((*only).to_owned()),
                _ => break,
            }
        }
        if near.is_empty() {
            near = similar_categories(given, &known);
        }
        Err(unknown_category(given, &near, &known))
    }
}

/// Returns the categories with the most similar names, the most similar first.
fn similar_categories<'a>(given: &str, known: &[&'a str]) -> Vec<&'a str> {
    let given = given.to_lowercase();
    let likeness = |name: &str| strsim::normalized_damerau_levenshtein(&given, &name.to_lowercase());
    let mut near: Vec<(f64, &str)> = known.iter().map(|name| (likeness(name), *name)).collect();
    near.retain(|(likeness, _)| *likeness >= MIN_LIKENESS);
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    near.into_iter().map(|(_, name)| name).collect()
}

fn unknown_category(given: &str, near: &[&str], known: &[&str]) -> ToolError {
    let quoted = |names: &[&str], separator: &str| {
        let names = names.iter().take(MAX_SUGGESTED).map(|name| format!("`{}`", cut(name, MAX_CATEGORY)));
        names.collect::<Vec<_>>().join(separator)
    };
    let hint = match (near, known) {
        (_, []) => "there are no categories; no source has a tool that may be used here".to_owned(),
        ([], known) if known.len() > MAX_SUGGESTED => {
            format!("search for a tool, or list the categories with `{LIST_CATEGORIES}`")
        }
        ([], known) => format!("the categories are: {}", quoted(known, ", ")),
        (near, _) if near.len() > MAX_SUGGESTED => {
            format!(
                "did you mean one of {} categories with that word, such as {}?",
                near.len(),
                quoted(near, " or ")
            )
        }
        (near, _) => format!("did you mean {}?", quoted(near, " or ")),
    };
    let message = format!("there is no category `{}`", cut(given, MAX_CATEGORY));
    ToolError::new(ErrorKind::NotFound, message).with_hint(hint)
}

/// Returns the names of the first tools, for a category without a description.
fn names(tools: usize, first: &[&str]) -> String {
    let mut named = first.join(", ");
    if tools > first.len() {
        named = format!("{named} and {} more", tools - first.len());
    }
    cut(&named, MAX_SUMMARY)
}
