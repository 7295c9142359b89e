//! All tools at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_model::{Fingerprint, JsonObject, QualifiedName, Tool, ToolCall};
use toolcrib_port::Reject;
use toolcrib_schema::Unchecked;

use crate::spellings::Spellings;
use crate::{Artifacts, FindError, Overloads, ToolSchema};

/// The most warnings of one snapshot that are told one by one.
pub const MAX_WARNINGS: usize = 100;

/// What is said of a pattern that is not checked.
pub(crate) fn warning(tool: &Tool, source: &str, unchecked: &Unchecked) -> String {
    format!("`{}` ({source}): {unchecked}", tool.name.dotted())
}

/// One tool with what the registry knows of it.
#[derive(Debug)]
pub struct Entry {
    /// The tool.
    pub tool: Arc<Tool>,
    /// The digest of its argument schema.
    pub fingerprint: Fingerprint,
    /// The source that it came from.
    pub source: Arc<str>,
    /// Its argument schema, which is known to compile.
    pub schema: ToolSchema,
}

impl Entry {
    /// Arguments that the schema takes: the tool's own example, else the smallest that can be made up.
    pub fn example_arguments(&self) -> Option<Value> {
        let own = self.tool.examples().iter().find(|example| self.schema.accepts(example)).cloned();
        own.or_else(|| self.schema.minimal_example())
    }
}

/// A qualified name with its tools, the first registered first.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: QualifiedName,
    pub(crate) overloads: Vec<Arc<Entry>>,
}

/// All tools at one moment. It never changes.
#[derive(Debug, Default)]
pub struct Snapshot {
    generation: u64,
    entries: Vec<Arc<Entry>>,
    /// Sorted by name.
    names: Vec<Named>,
    spellings: Spellings,
    artifacts: Artifacts,
    rejected: Vec<Reject>,
    /// The two that it was made of, in which names are looked up one after the other; `None` for the tools of an app.
    layers: Option<Box<Layers>>,
}

/// The tools of an app, and those that a session adds.
#[derive(Debug)]
pub(crate) struct Layers {
    pub(crate) base: Arc<Snapshot>,
    pub(crate) own: Snapshot,
}

impl Snapshot {
    pub(crate) fn new(
        generation: u64,
        entries: Vec<Arc<Entry>>,
        mut names: Vec<Named>,
        rejected: Vec<Reject>,
    ) -> Self {
        names.sort_by(|a, b| a.name.cmp(&b.name));
        let spellings = Spellings::new(names.iter().map(|named| &named.name));
        let artifacts = Artifacts::default();
        Self { generation, entries, names, spellings, artifacts, rejected, layers: None }
    }

    /// Makes a snapshot of entries that are there already, those of one name in their order.
    pub(crate) fn of_entries(entries: Vec<Arc<Entry>>, rejected: Vec<Reject>) -> Self {
        let mut by_name: BTreeMap<&QualifiedName, Vec<Arc<Entry>>> = BTreeMap::new();
        for entry in &entries {
            by_name.entry(&entry.tool.name).or_default().push(Arc::clone(entry));
        }
        let names =
            by_name.into_iter().map(|(name, overloads)| Named { name: name.clone(), overloads }).collect();
        Self::new(0, entries, names, rejected)
    }

    /// Makes the snapshot of a session: the tools of the app with those that the session adds, whose names have to be
    /// others. It is of the generation of the app.
    pub(crate) fn layered(base: &Arc<Self>, own: Self) -> Self {
        let mut names: Vec<Named> = base.names.iter().chain(&own.names).cloned().collect();
        names.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            generation: base.generation,
            entries: base.entries.iter().chain(&own.entries).cloned().collect(),
            names,
            spellings: Spellings::default(),
            artifacts: base.artifacts.clone(),
            rejected: base.rejected.iter().chain(&own.rejected).cloned().collect(),
            layers: Some(Box::new(Layers { base: Arc::clone(base), own })),
        }
    }

    /// Returns true for the snapshot of a session that has added tools of its own.
    pub fn is_of_session(&self) -> bool {
        self.layers.is_some()
    }

    pub(crate) fn layers(&self) -> Option<&Layers> {
        self.layers.as_deref()
    }

    /// Returns the tool of the session that a call of another tool amounts to a call of, with its arguments.
    pub fn equivalent(
        &self,
        tool: &QualifiedName,
        arguments: &JsonObject,
    ) -> Option<(&Arc<Entry>, JsonObject)> {
        self.layers()?.own.entries.iter().find_map(|entry| {
            let equivalent = entry.tool.equivalent().filter(|equivalent| equivalent.tool.name == *tool)?;
            Some((entry, equivalent.own_arguments(arguments)?))
        })
    }

    pub(crate) fn with_artifacts(mut self, artifacts: Artifacts) -> Self {
        self.artifacts = artifacts;
        self
    }

    /// Which refresh made it; 0 is the empty one before the first.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Every tool, in the order of the sources.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Entry>> {
        self.entries.iter()
    }

    /// The same as a slice.
    pub fn all(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// What did not load.
    pub fn rejected(&self) -> &[Reject] {
        &self.rejected
    }

    /// What loaded, and is not quite what it was meant to be: patterns that no argument is checked against. Of very many
    /// the first [`MAX_WARNINGS`], and how many there are beyond them.
    pub fn warnings(&self) -> Vec<String> {
        let all = self.entries.iter().flat_map(|entry| {
            entry
                .schema
                .unchecked()
                .iter()
                .map(move |unchecked| warning(&entry.tool, &entry.source, unchecked))
        });
        let mut all = all.fuse();
        let mut warnings: Vec<String> = all.by_ref().take(MAX_WARNINGS).collect();
        let beyond = all.count();
        if beyond > 0 {
            warnings.push(format!("and {beyond} more patterns are not checked"));
        }
        warnings
    }

    /// What the enrichments made of these tools.
    pub fn artifacts(&self) -> &Artifacts {
        &self.artifacts
    }

    /// The overloads of a name.
    pub fn get(&self, name: &QualifiedName) -> Option<Overloads<'_>> {
        let overloads = self.overloads_of(name);
        (!overloads.is_empty()).then(|| Overloads::new(overloads))
    }

    /// The qualified names that end in this bare name, sorted.
    pub fn get_by_name<'a>(&'a self, bare_name: &str) -> impl Iterator<Item = &'a QualifiedName> {
        let (first, second) = match self.layers() {
            Some(layers) => (layers.base.as_ref(), Some(&layers.own)),
            None => (self, None),
        };
        let of = |one: &'a Self| one.spellings.bare(bare_name).filter_map(|at| one.name(at));
        let mut names: Vec<_> = of(first).chain(second.into_iter().flat_map(of)).collect();
        names.sort();
        names.into_iter()
    }

    /// The tools whose argument schema has this digest.
    pub fn get_by_fingerprint(&self, fingerprint: Fingerprint) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.iter().filter(move |entry| entry.fingerprint == fingerprint)
    }

    /// The tool that a call means: its name in any spelling, its overload by the arguments. Only tools that the caller
    /// may see take part; a caller of some namespaces passes a filter on [`QualifiedName::namespace`].
    ///
    /// Whether the arguments fit is not said here; see [`Overloads::repair`].
    pub fn resolve(
        &self,
        call: &ToolCall,
        visible: impl Fn(&Entry) -> bool,
    ) -> Result<&Arc<Entry>, FindError> {
        let overloads = self.find(&call.name, visible)?;
        overloads.choose(&call.arguments).ok_or_else(|| FindError::Hidden { spelling: call.name.clone() })
    }

    /// Every namespace once, sorted.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        let mut last = None;
        self.tool_names()
            .map(QualifiedName::namespace)
            .filter(move |namespace| last.replace(*namespace) != Some(*namespace))
    }

    /// Every qualified name once, sorted.
    pub fn tool_names(&self) -> impl Iterator<Item = &QualifiedName> {
        self.names.iter().map(|named| &named.name)
    }

    pub(crate) fn name(&self, at: usize) -> Option<&QualifiedName> {
        self.names.get(at).map(|named| &named.name)
    }

    pub(crate) fn overloads(&self, at: usize) -> Option<Overloads<'_>> {
        self.names.get(at).map(|named| Overloads::new(&named.overloads))
    }

    /// The tools of a name, the first registered first; none when there is no such name.
    pub(crate) fn overloads_of(&self, name: &QualifiedName) -> &[Arc<Entry>] {
        let at = self.names.binary_search_by(|named| named.name.cmp(name)).ok();
        at.and_then(|at| self.names.get(at)).map_or(&[], |named| &named.overloads)
    }

    pub(crate) fn spellings(&self) -> &Spellings {
        &self.spellings
    }

    pub(crate) fn named(&self) -> &[Named] {
        &self.names
    }
}
