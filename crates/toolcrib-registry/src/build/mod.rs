//! The construction of a snapshot from the tools of the sources.

mod key_order;
pub(crate) mod parallel;
mod patch;
mod sanitize;
mod simple_schema;
mod tool_schema;

use std::collections::HashMap;
use std::collections::hash_map;
use std::sync::Arc;

use toolcrib_model::tool::SharedDefinitions;
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_port::{LoadOutcome, Reject, RejectKind};
use toolcrib_schema::Error as SchemaError;

use crate::shape::Shapes;
use crate::snapshot::{NamedTools, warning};
use crate::{Entry, Snapshot};

pub(crate) use patch::patched;
pub(crate) use simple_schema::SimpleDefinitions;
#[cfg(test)]
pub(crate) use simple_schema::is_simple;
pub use tool_schema::ToolSchema;

use key_order::is_identical_schema;
pub(crate) use key_order::is_identical_tool;
use sanitize::{SanitizedDefinitions, sanitized};

/// The last load of a source.
#[derive(Clone, Debug)]
pub(crate) struct LoadedSource {
    pub(crate) name: Arc<str>,
    exclusive_namespace: Option<Arc<str>>,
    pub(crate) tools: Vec<Arc<Tool>>,
    pub(crate) rejected: Vec<Reject>,
}

impl LoadedSource {
    pub(crate) fn new(name: &str, exclusive_namespace: Option<&str>, loaded: LoadOutcome) -> Self {
        let (name, mut shared) = (Arc::<str>::from(name), SharedDefinitions::default());
        let tool = |tool: Tool| Arc::new(shared.tool(tool).with_source(Arc::clone(&name)));
        let tools = loaded.tools.into_iter().map(tool).collect();
        let exclusive_namespace = exclusive_namespace.map(Into::into);
        Self { name, exclusive_namespace, tools, rejected: loaded.rejected }
    }

    /// Returns the namespace that belongs to this source exclusively, if it has one.
    pub(crate) fn exclusive_namespace(&self) -> Option<&str> {
        self.exclusive_namespace.as_deref()
    }
}

/// The owners of exclusive namespaces, by namespace.
type Owners<'a> = HashMap<&'a str, &'a str>;

/// Builds the snapshot that follows another one. Of tools with the same name and schema, the first stays. A tool that
/// is written exactly as before keeps its identity, in the snapshot and in the sources.
pub(crate) fn build(before: &Snapshot, sources: &mut [LoadedSource], shapes: &Shapes) -> Snapshot {
    let unshaped = build_unshaped(before.unshaped(), sources);
    if shapes.is_empty() { unshaped } else { shapes.apply(before, unshaped) }
}

/// Builds the snapshot of the tools as their sources define them.
fn build_unshaped(before: &Snapshot, sources: &mut [LoadedSource]) -> Snapshot {
    let mut owners = Owners::new();
    for source in sources.iter() {
        if let Some(namespace) = &source.exclusive_namespace {
            owners.entry(namespace).or_insert(&source.name);
        }
    }
    let tools: Vec<(&LoadedSource, &Arc<Tool>)> =
        sources.iter().flat_map(|source| source.tools.iter().map(move |tool| (source, tool))).collect();
    let known = KnownDefinitions::default();
    let entries = parallel::map(&tools, |(source, tool)| entry(before, &owners, &known, source, tool));

    let mut builder = SnapshotBuilder::default();
    let mut entries = entries.into_iter();
    for source in sources {
        builder.rejected.extend(source.rejected.iter().cloned());
        for (tool, entry) in source.tools.iter_mut().zip(&mut entries) {
            match entry.and_then(|entry| builder.add(entry)) {
                Ok(kept) => *tool = kept,
                Err(reject) => builder.rejected.push(reject),
            }
        }
    }
    builder.finish(before.generation() + 1)
}

/// The definitions that several tools share, each of which is looked at once.
#[derive(Default)]
pub(crate) struct KnownDefinitions {
    sanitized: SanitizedDefinitions,
    pub(crate) simple: SimpleDefinitions,
}

/// Creates the entry of a tool, and reuses the unchanged parts of the entry before.
fn entry(
    before: &Snapshot,
    owners: &Owners<'_>,
    known: &KnownDefinitions,
    source: &LoadedSource,
    tool: &Arc<Tool>,
) -> Result<Arc<Entry>, Reject> {
    let reject = |kind, reason| Reject::tool(source.name.as_ref(), tool.name.to_string(), kind, reason);
    if let Some(owner) = owners.get(tool.name.namespace()).filter(|owner| **owner != source.name.as_ref()) {
        let reason = format!(
            "the namespace `{}` belongs to {owner}, and {} may not add to it; use another `namespace`",
            tool.name.namespace(),
            source.name,
        );
        return Err(reject(RejectKind::NamespaceTaken, reason));
    }
    let overloads = before.overloads_of(&tool.name);
    let is_of_source = |old: &Entry| old.source == source.name;
    if let Some(old) = overloads.iter().find(|old| Arc::ptr_eq(&old.tool, tool) && is_of_source(old)) {
        return Ok(Arc::clone(old));
    }
    let sanitized_tool =
        sanitized(tool, &known.sanitized).map_err(|error| reject(RejectKind::InvalidSchema, error))?;
    let tool = sanitized_tool.as_ref().unwrap_or(tool);
    let fingerprint = tool.fingerprint();
    let old = overloads.iter().find(|old| {
        old.fingerprint == fingerprint && is_identical_schema(&old.tool.parameters, &tool.parameters)
    });
    let schema = match old {
        Some(old) if is_of_source(old) && is_identical_tool(&old.tool, tool) => return Ok(Arc::clone(old)),
        Some(old) => old.schema.clone(),
        None => {
            let schema = ToolSchema::new(tool, &known.simple)
                .map_err(|error| reject(kind_of(&error), format!("`parameters`: {error}")))?;
            for unchecked in schema.unchecked() {
                // The snapshot has it among its warnings.
                tracing::info!("{}", warning(tool, &source.name, unchecked));
            }
            schema
        }
    };
    let (tool, source) = (Arc::clone(tool), Arc::clone(&source.name));
    Ok(Arc::new(Entry { tool, fingerprint, source, schema, originals: Vec::new() }))
}

fn kind_of(error: &SchemaError) -> RejectKind {
    match error {
        SchemaError::ExternalRef { .. } => RejectKind::ExternalRef,
        SchemaError::TooDeep | SchemaError::TooLarge | SchemaError::TooMuchWork => RejectKind::TooLarge,
        _ => RejectKind::InvalidSchema,
    }
}

/// A snapshot under construction.
#[derive(Default)]
pub(crate) struct SnapshotBuilder {
    entries: Vec<Arc<Entry>>,
    by_name: HashMap<QualifiedName, Vec<Arc<Entry>>>,
    pub(crate) rejected: Vec<Reject>,
}

impl SnapshotBuilder {
    /// Adds an entry, or a reject if its name and schema exist already.
    pub(crate) fn add_or_reject(&mut self, entry: Arc<Entry>) {
        if let Err(reject) = self.add(entry) {
            self.rejected.push(reject);
        }
    }

    /// Returns the snapshot of a generation.
    pub(crate) fn finish(self, generation: u64) -> Snapshot {
        let names =
            self.by_name.into_iter().map(|(name, overloads)| NamedTools { name, overloads }).collect();
        Snapshot::new(generation, self.entries, names, self.rejected)
    }

    /// Adds an entry unless its name and schema exist already, and returns its tool.
    fn add(&mut self, entry: Arc<Entry>) -> Result<Arc<Tool>, Reject> {
        let siblings = match self.by_name.entry(entry.tool.name.clone()) {
            hash_map::Entry::Occupied(siblings) => siblings.into_mut(),
            hash_map::Entry::Vacant(place) => place.insert(Vec::with_capacity(1)),
        };
        if let Some(twin) = siblings.iter().find(|sibling| sibling.fingerprint == entry.fingerprint) {
            let (name, source) = (&entry.tool.name, &entry.source);
            let reason = format!(
                "duplicate tool: {name} with identical input schema registered twice, by {} and by {source}; \
                 remove one, or give one of the sources a separate namespace",
                twin.source,
            );
            return Err(Reject::tool(source.as_ref(), name.to_string(), RejectKind::Duplicate, reason));
        }
        let tool = Arc::clone(&entry.tool);
        siblings.push(Arc::clone(&entry));
        self.entries.push(entry);
        Ok(tool)
    }
}
