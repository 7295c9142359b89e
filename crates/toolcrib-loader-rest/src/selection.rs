//! The selection of the operations that become tools, and of their risks.

use toolcrib_model::Risk;

/// A selector of operations. It matches the operations that match all of its non-empty lists. A word matches if it is
/// in the list. In operations and paths, `*` matches any text without a `/`, and `**` matches any text.
///
/// ```
/// use toolcrib_loader_rest::{OperationSelector, RestSource};
///
/// let pets = OperationSelector::default().with_tag("pets").with_method("GET");
/// let mut source = RestSource::new("specs/petstore.yaml", "petstore");
/// source.include.push(pets);
/// assert_eq!(source.include.len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationSelector {
    /// Patterns for the `operationId` or the name of the tool.
    pub operations: Vec<String>,
    /// Tags, one of which the operation has.
    pub tags: Vec<String>,
    /// Methods, in any case.
    pub methods: Vec<String>,
    /// Patterns for the path as the document writes it.
    pub paths: Vec<String>,
}

/// The selectors of a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    pub(crate) include: Vec<OperationSelector>,
    pub(crate) exclude: Vec<OperationSelector>,
    /// The risks, of which the first match applies.
    pub(crate) risks: Vec<(OperationSelector, Risk)>,
    /// The operations that may be repeated, in addition to those with an idempotent method.
    pub(crate) idempotent: Vec<OperationSelector>,
}

/// The properties of an operation that a selector matches.
#[derive(Clone, Debug)]
pub(crate) struct OperationOutline<'a> {
    pub(crate) names: [Option<&'a str>; 2],
    pub(crate) tags: Vec<&'a str>,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
}

impl OperationSelector {
    /// Adds an `operationId`.
    pub fn with_operation(mut self, operation: impl Into<String>) -> Self {
        self.operations.push(operation.into());
        self
    }

    /// Adds a tag.
    pub fn with_tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// Adds a method.
    pub fn with_method(mut self, method: impl Into<String>) -> Self {
        self.methods.push(method.into());
        self
    }

    /// Adds a path.
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        self.paths.push(path.into());
        self
    }

    fn fits(&self, outline: &OperationOutline<'_>) -> bool {
        let any = |list: &[String], fits: &dyn Fn(&str) -> bool| {
            list.is_empty() || list.iter().any(|wanted| fits(wanted))
        };
        any(&self.operations, &|wanted| outline.names.iter().flatten().any(|name| fits_glob(wanted, name)))
            && any(&self.tags, &|wanted| outline.tags.contains(&wanted))
            && any(&self.methods, &|wanted| wanted.eq_ignore_ascii_case(outline.method))
            && any(&self.paths, &|wanted| fits_glob(wanted, outline.path))
    }
}

impl Selection {
    /// Returns true if an operation becomes a tool: it matches `include`, unless that is empty, and nothing in
    /// `exclude`.
    pub(crate) fn admits(&self, outline: &OperationOutline<'_>) -> bool {
        (self.include.is_empty() || any_fits(&self.include, outline)) && !any_fits(&self.exclude, outline)
    }

    /// Returns true if the selection may exclude operations.
    pub(crate) fn narrows(&self) -> bool {
        !self.include.is_empty() || !self.exclude.is_empty()
    }

    pub(crate) fn is_idempotent(&self, outline: &OperationOutline<'_>) -> bool {
        any_fits(&self.idempotent, outline)
    }

    pub(crate) fn risk(&self, outline: &OperationOutline<'_>) -> Option<Risk> {
        self.risks.iter().find(|(selector, _)| selector.fits(outline)).map(|(_, risk)| *risk)
    }
}

fn any_fits(selectors: &[OperationSelector], outline: &OperationOutline<'_>) -> bool {
    selectors.iter().any(|selector| selector.fits(outline))
}

/// Returns true if a text matches a pattern. It reads the text once and tracks all reachable positions in the pattern.
fn fits_glob(pattern: &str, text: &str) -> bool {
    if !pattern.contains('*') {
        return pattern == text;
    }
    let tokens = tokens(pattern);
    // The positions in the pattern that have been reached.
    let mut reached = vec![false; tokens.len() + 1];
    reach(&mut reached, &tokens, 0);
    for c in text.chars() {
        let mut next = vec![false; tokens.len() + 1];
        for (position, part) in tokens.iter().enumerate() {
            if !reached.get(position).copied().unwrap_or(false) {
                continue;
            }
            match part {
                GlobToken::Char(wanted) if *wanted == c => reach(&mut next, &tokens, position + 1),
                GlobToken::Within if c != '/' => reach(&mut next, &tokens, position),
                GlobToken::Across => reach(&mut next, &tokens, position),
                _ => {}
            }
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

enum GlobToken {
    Char(char),
    Within,
    Across,
}

fn tokens(pattern: &str) -> Vec<GlobToken> {
    let mut tokens = Vec::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        tokens.push(match c {
            '*' if chars.next_if_eq(&'*').is_some() => GlobToken::Across,
            '*' => GlobToken::Within,
            c => GlobToken::Char(c),
        });
    }
    tokens
}

/// Marks a position as reached, and the following positions that are reachable because a star matches the empty text.
fn reach(reached: &mut [bool], tokens: &[GlobToken], mut position: usize) {
    while let Some(mark) = reached.get_mut(position) {
        *mark = true;
        match tokens.get(position) {
            Some(GlobToken::Within | GlobToken::Across) => position += 1,
            _ => break,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OperationOutline, OperationSelector, Selection, fits_glob};

    #[test]
    fn one_star_stays_within_a_segment_and_two_do_not() {
        for (pattern, text, fits) in [
            ("/pets", "/pets", true),
            ("/pets", "/pets/{id}", false),
            ("/pets/*", "/pets/{id}", true),
            ("/pets/*", "/pets/{id}/toys", false),
            ("/pets/**", "/pets/{id}/toys", true),
            ("/pets**", "/pets", true),
            ("/*/toys", "/pets/toys", true),
            ("**/toys/*", "/a/b/toys/c", true),
            ("get*Pet", "getMyPet", true),
            ("get*Pet", "getMyPets", false),
            ("*", "", true),
        ] {
            assert_eq!(fits_glob(pattern, text), fits, "{pattern} {text}");
        }
        let hostile = format!("{}b", "a*".repeat(200));
        assert!(!fits_glob(&hostile, &"a".repeat(2000)));
    }

    #[test]
    fn an_operation_has_to_fit_all_lists_of_a_selector_and_one_selector() {
        let outline = |method, tags: &[&'static str]| OperationOutline {
            names: [Some("listPets"), None],
            tags: tags.to_vec(),
            method,
            path: "/pets",
        };
        let selector = || OperationSelector::default();
        let selection = Selection {
            include: vec![
                selector().with_tag("pets").with_method("get"),
                selector().with_operation("list*").with_path("/toys"),
            ],
            exclude: vec![selector().with_tag("internal")],
            ..Selection::default()
        };
        assert!(selection.admits(&outline("GET", &["pets"])));
        assert!(!selection.admits(&outline("PUT", &["pets"])));
        assert!(!selection.admits(&outline("GET", &["toys"])));
        assert!(!selection.admits(&outline("GET", &["pets", "internal"])));
    }
}
