//! Snapshots of all tools.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;
use toolcrib_model::{Fingerprint, JsonObject, QualifiedName, Tool, ToolCall};
use toolcrib_port::Reject;
use toolcrib_schema::Unchecked;

use crate::build::patched;
use crate::enrichment::{ToolKey, ToolPatch};
use crate::lookup::Spellings;
use crate::{Artifacts, FindError, Overloads, ToolSchema};

/// The maximum number of warnings of one snapshot that are listed.
const MAX_WARNINGS: usize = 100;

/// Returns the warning about a pattern that is not checked.
pub(crate) fn warning(tool: &Tool, source: &str, unchecked: &Unchecked) -> String {
    format!("`{}` ({source}): {unchecked}", tool.name.dotted())
}

/// One tool, with the registry's data about it.
#[derive(Debug)]
pub struct Entry {
    /// The tool.
    pub tool: Arc<Tool>,
    /// The digest of its argument schema.
    pub fingerprint: Fingerprint,
    /// The source that it came from.
    pub source: Arc<str>,
    /// The argument schema, which is known to compile.
    pub schema: ToolSchema,
    /// The original tools of a [view](Tool::view), in its order; empty for any other tool.
    pub originals: Vec<Arc<Self>>,
}

impl Entry {
    /// Returns arguments that the schema accepts: the tool's own example, else a minimal generated one.
    pub fn example_arguments(&self) -> Option<Value> {
        let own = self.tool.examples().iter().find(|example| self.schema.accepts(example)).cloned();
        own.or_else(|| self.schema.minimal_example())
    }
}

/// A qualified name with its tools, in the order of their registration.
#[derive(Clone, Debug)]
pub(crate) struct NamedTools {
    pub(crate) name: QualifiedName,
    pub(crate) overloads: Vec<Arc<Entry>>,
}

/// All tools at one point in time. A snapshot never changes.
#[derive(Debug, Default)]
pub struct Snapshot {
    generation: u64,
    entries: Vec<Arc<Entry>>,
    /// Sorted by name.
    names: Vec<NamedTools>,
    spellings: Spellings,
    artifacts: Artifacts,
    rejected: Vec<Reject>,
    /// The two layers of a session's snapshot, in which names are looked up one after the other; `None` for the tools
    /// of an app.
    layers: Option<Box<Layers>>,
    /// The tools as their sources define them, if shapes changed some.
    unshaped: Option<Arc<Self>>,
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
        mut names: Vec<NamedTools>,
        rejected: Vec<Reject>,
    ) -> Self {
        names.sort_by(|a, b| a.name.cmp(&b.name));
        let spellings = Spellings::new(names.iter().map(|named| &named.name));
        let artifacts = Artifacts::default();
        Self { generation, entries, names, spellings, artifacts, rejected, layers: None, unshaped: None }
    }

    /// Creates a snapshot of existing entries, those of one name in their order.
    pub(crate) fn of_entries(entries: Vec<Arc<Entry>>, rejected: Vec<Reject>) -> Self {
        let mut by_name: BTreeMap<&QualifiedName, Vec<Arc<Entry>>> = BTreeMap::new();
        for entry in &entries {
            by_name.entry(&entry.tool.name).or_default().push(Arc::clone(entry));
        }
        let names = by_name
            .into_iter()
            .map(|(name, overloads)| NamedTools { name: name.clone(), overloads })
            .collect();
        Self::new(0, entries, names, rejected)
    }

    /// Creates the snapshot of a session: the tools of the app with those that the session adds, whose names must
    /// differ. It has the generation of the app.
    pub(crate) fn layered(base: &Arc<Self>, own: Self) -> Self {
        let mut names: Vec<NamedTools> = base.names.iter().chain(&own.names).cloned().collect();
        names.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            generation: base.generation,
            entries: base.entries.iter().chain(&own.entries).cloned().collect(),
            names,
            spellings: Spellings::default(),
            artifacts: base.artifacts.clone(),
            rejected: base.rejected.iter().chain(&own.rejected).cloned().collect(),
            layers: Some(Box::new(Layers { base: Arc::clone(base), own })),
            unshaped: base.unshaped.clone(),
        }
    }

    /// Returns true for the snapshot of a session that has added tools.
    pub fn is_of_session(&self) -> bool {
        self.layers.is_some()
    }

    pub(crate) fn layers(&self) -> Option<&Layers> {
        self.layers.as_deref()
    }

    /// Returns the session's tool that is equivalent to another tool in a call with these arguments, with its own
    /// arguments.
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

    pub(crate) fn with_unshaped(mut self, unshaped: Self) -> Self {
        self.unshaped = Some(Arc::new(unshaped));
        self
    }

    /// Returns the tools of the app as their sources define them, without shapes.
    pub fn unshaped(&self) -> &Self {
        self.unshaped.as_deref().unwrap_or(self)
    }

    pub(crate) fn with_artifacts(mut self, artifacts: Artifacts) -> Self {
        self.artifacts = artifacts;
        self
    }

    /// Changes tools, given the snapshot that this one replaces. The error names the patch that is invalid; then only
    /// some tools are changed.
    pub(crate) fn patch(&mut self, patches: &[ToolPatch], before: &Self) -> Result<(), String> {
        if patches.is_empty() {
            return Ok(());
        }
        let places = self.entries.iter().enumerate();
        let places: HashMap<_, _> = places.map(|(at, entry)| (ToolKey::of(entry), at)).collect();
        for patch in patches {
            let name = &patch.tool.name;
            let unknown = || format!("the patched tool `{}` does not exist", name.dotted());
            let place =
                places.get(&patch.tool).and_then(|at| self.entries.get_mut(*at)).ok_or_else(unknown)?;
            let new = patched(place, patch, before)?;
            let named = self.names.binary_search_by(|named| named.name.cmp(name)).ok();
            let overloads = named.and_then(|at| self.names.get_mut(at)).map(|named| &mut named.overloads);
            let mut overloads = overloads.into_iter().flatten();
            if let Some(overload) = overloads.find(|overload| overload.fingerprint == new.fingerprint) {
                *overload = Arc::clone(&new);
            }
            *place = new;
        }
        Ok(())
    }

    /// Returns the number of the refresh that made this snapshot; 0 is the empty one before the first refresh.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns every tool, in the order of the sources.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Entry>> {
        self.entries.iter()
    }

    /// Returns every tool as a slice, in the order of the sources.
    pub fn all(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// Returns the tools and sources that did not load.
    pub fn rejected(&self) -> &[Reject] {
        &self.rejected
    }

    /// Returns warnings about tools that loaded with restrictions: patterns that no argument is checked against. Of very
    /// many, the last line gives the number of the others.
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

    /// Returns the artifacts that the enrichments computed for these tools.
    pub fn artifacts(&self) -> &Artifacts {
        &self.artifacts
    }

    /// Returns the overloads of a name.
    pub fn get(&self, name: &QualifiedName) -> Option<Overloads<'_>> {
        let overloads = self.overloads_of(name);
        (!overloads.is_empty()).then(|| Overloads::new(overloads))
    }

    /// Returns the qualified names that end in this bare name, sorted.
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

    /// Returns the tool that a call means: by its name in any spelling, and by its arguments among overloads. Only
    /// tools for which `visible` returns true are considered; to restrict a caller to namespaces, filter by
    /// [`QualifiedName::namespace`].
    ///
    /// This does not validate the arguments; see [`Overloads::repair`].
    pub fn resolve(
        &self,
        call: &ToolCall,
        visible: impl Fn(&Entry) -> bool,
    ) -> Result<&Arc<Entry>, FindError> {
        let overloads = self.find(&call.name, visible)?;
        overloads.choose(&call.arguments).ok_or_else(|| FindError::Hidden { spelling: call.name.clone() })
    }

    /// Returns every namespace once, sorted.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        let mut last = None;
        self.tool_names()
            .map(QualifiedName::namespace)
            .filter(move |namespace| last.replace(*namespace) != Some(*namespace))
    }

    /// Returns every qualified name once, sorted.
    pub fn tool_names(&self) -> impl Iterator<Item = &QualifiedName> {
        self.names.iter().map(|named| &named.name)
    }

    pub(crate) fn name(&self, at: usize) -> Option<&QualifiedName> {
        self.names.get(at).map(|named| &named.name)
    }

    pub(crate) fn overloads(&self, at: usize) -> Option<Overloads<'_>> {
        self.names.get(at).map(|named| Overloads::new(&named.overloads))
    }

    /// Returns the tools of a name, in the order of their registration; empty for an unknown name.
    pub(crate) fn overloads_of(&self, name: &QualifiedName) -> &[Arc<Entry>] {
        let at = self.names.binary_search_by(|named| named.name.cmp(name)).ok();
        at.and_then(|at| self.names.get(at)).map_or(&[], |named| &named.overloads)
    }

    pub(crate) fn spellings(&self) -> &Spellings {
        &self.spellings
    }

    pub(crate) fn named_tools(&self) -> &[NamedTools] {
        &self.names
    }
}
