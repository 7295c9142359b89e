//! A linter for tool definitions: reports tools that are hard to find, to tell apart or to afford, with remedies.
//!
//! ```
//! use toolcrib_meta::lint::{Kind, lint};
//! use toolcrib_model::{QualifiedName, Tool};
//!
//! let tool = |name: &str, text: &str| {
//!     Tool::new(QualifiedName::new("files", name).unwrap()).with_description(text)
//! };
//! let tools = [tool("read", "Reads a text file."), tool("remove", "")];
//! let found = lint(tools.iter().map(|tool| (tool, "file tools.yaml")), None);
//! assert_eq!(found.findings[0].kind, Kind::EmptyDescription);
//! assert_eq!(found.findings[0].tools[0].name, "files.remove");
//! ```
//!
//! Near duplicates are found by words, and also by meaning if there are vectors. Nothing is read or called: the same
//! tools give the same findings.

mod names;
mod schemas;
mod texts;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_search::duplicates::near_duplicates;
use toolcrib_search::embedding::Vectors;

/// The most findings of one kind; the others are counted.
pub const MAX_FINDINGS: usize = 200;

/// The most tools that one finding names; the others are counted.
pub const MAX_NAMED: usize = 10;

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// Tools have nearly the same description.
    NearDuplicate,
    /// A tool has no description, or one that only repeats its name.
    EmptyDescription,
    /// Tools have identical descriptions.
    CopiedDescription,
    /// Names are identical after adaptation to a function-calling API.
    NameCollision,
    /// The schema of the arguments takes more of a model's context window than a tool should.
    OversizedSchema,
    /// The schema has patterns that are not checked.
    UncheckedPattern,
}

/// A tool with its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolRef {
    /// `namespace.name`.
    pub name: String,
    /// The source of the tool.
    pub source: String,
}

/// A problem of one or several tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The kind of a finding.
    pub kind: Kind,
    /// The tools, at most [`MAX_NAMED`].
    pub tools: Vec<ToolRef>,
    /// The number of further tools.
    pub more: usize,
    /// The problem.
    pub message: String,
    /// The remedy.
    pub next: String,
}

/// The report of the linter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LintReport {
    /// The number of tools that were checked; overloads count once.
    pub tools: usize,
    /// The findings, by kind and then by name.
    pub findings: Vec<Finding>,
    /// The number of findings that are omitted because their kind has more than [`MAX_FINDINGS`].
    pub left_out: usize,
}

/// The tools by name, each with its overloads and its source.
pub(crate) type Tools<'a> = BTreeMap<&'a QualifiedName, (&'a str, Vec<&'a Tool>)>;

/// Checks tools, each with its source. `vectors` are those of the same tools, if there are any.
pub fn lint<'a>(
    tools: impl IntoIterator<Item = (&'a Tool, &'a str)>,
    vectors: Option<&'a Vectors>,
) -> LintReport {
    let mut by_name = Tools::new();
    for (tool, source) in tools.into_iter().filter(|(tool, _)| !is_helper(tool)) {
        by_name.entry(&tool.name).or_insert_with(|| (source, Vec::new())).1.push(tool);
    }
    let duplicates = duplicates(&by_name, vectors);
    let copied = texts::copied(&by_name, &duplicates);
    let all = [
        duplicates,
        texts::empty(&by_name),
        copied,
        names::collisions(&by_name),
        schemas::oversized(&by_name),
        schemas::unchecked(&by_name),
    ];
    let mut linted = LintReport { tools: by_name.len(), ..LintReport::default() };
    for found in all {
        linted.left_out += found.len().saturating_sub(MAX_FINDINGS);
        let told = found.into_iter().take(MAX_FINDINGS).map(|found| found.told(&by_name));
        linted.findings.extend(told);
    }
    linted
}

/// Returns true if the runtime adds the tool to the namespace of a server, as with `list_resources`. The texts of such
/// tools are the same for each server, and users cannot change them.
fn is_helper(tool: &Tool) -> bool {
    tool.protocol_method().is_some()
}

/// A finding before its tools are limited.
pub(crate) struct RawFinding<'a> {
    pub(crate) kind: Kind,
    pub(crate) names: Vec<&'a QualifiedName>,
    pub(crate) message: String,
    pub(crate) next: &'static str,
}

impl RawFinding<'_> {
    fn told(self, tools: &Tools<'_>) -> Finding {
        let place = |name: &&QualifiedName| ToolRef {
            name: name.dotted(),
            source: tools.get(*name).map(|(source, _)| (*source).to_owned()).unwrap_or_default(),
        };
        Finding {
            kind: self.kind,
            tools: self.names.iter().take(MAX_NAMED).map(place).collect(),
            more: self.names.len().saturating_sub(MAX_NAMED),
            message: self.message,
            next: self.next.to_owned(),
        }
    }
}

fn duplicates<'a>(tools: &Tools<'a>, vectors: Option<&'a Vectors>) -> Vec<RawFinding<'a>> {
    let groups = near_duplicates(tools.values().flat_map(|(_, tools)| tools.iter().copied()), vectors);
    let found = groups.into_iter().map(|alike| {
        let names = alike.names.iter().filter_map(|name| tools.get_key_value(name).map(|(name, _)| *name));
        let similarity = alike.meaning.map(|meaning| format!(", similarity {meaning:.2}")).unwrap_or_default();
        let words = alike.words * 100.0;
        RawFinding {
            kind: Kind::NearDuplicate,
            names: names.collect(),
            message: format!("their descriptions are nearly the same ({words:.0} % of their words{similarity})"),
            next: "exclude all but one (`exclude`, or a rule that denies it), or describe in each when to use it",
        }
    });
    found.collect()
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NearDuplicate => "near_duplicate",
            Self::EmptyDescription => "empty_description",
            Self::CopiedDescription => "copied_description",
            Self::NameCollision => "name_collision",
            Self::OversizedSchema => "oversized_schema",
            Self::UncheckedPattern => "unchecked_pattern",
        })
    }
}
