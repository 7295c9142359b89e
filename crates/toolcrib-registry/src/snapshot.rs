//! All tools at one moment.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_model::{Fingerprint, QualifiedName, Tool, ToolCall};
use toolcrib_port::{Loaded, Reject, RejectKind};
use toolcrib_schema::{CompiledSchema, Error as SchemaError};

use crate::spellings::Spellings;
use crate::{Artifacts, FindError, Overloads};

/// One tool with what the registry knows of it.
#[derive(Debug)]
pub struct Entry {
    /// The tool.
    pub tool: Arc<Tool>,
    /// The digest of its argument schema.
    pub fingerprint: Fingerprint,
    /// The source that it came from.
    pub source: Arc<str>,
    /// Its argument schema, compiled.
    pub schema: CompiledSchema,
}

impl Entry {
    /// Arguments that the schema takes: the tool's own example, else the smallest that can be made up.
    pub fn example_arguments(&self) -> Option<Value> {
        let own = self.tool.examples().iter().find(|example| self.schema.accepts(example)).cloned();
        own.or_else(|| self.schema.minimal_example())
    }
}

/// A qualified name with its tools, the first registered first.
#[derive(Debug)]
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
}

impl Snapshot {
    /// Puts together what the sources gave. Where a name stands twice with the same schema, the first stays.
    pub(crate) fn build<'a>(generation: u64, sources: impl IntoIterator<Item = &'a LoadedSource>) -> Self {
        let sources: Vec<_> = sources.into_iter().collect();
        let mut builder = Builder::default();
        for source in &sources {
            if let Some(namespace) = &source.exclusive_namespace {
                builder.owners.entry(Arc::clone(namespace)).or_insert_with(|| Arc::clone(&source.name));
            }
        }
        for source in sources {
            builder.rejected.extend(source.loaded.rejected.iter().cloned());
            for tool in &source.loaded.tools {
                if let Err(reject) = builder.add(&source.name, tool.clone()) {
                    builder.rejected.push(reject);
                }
            }
        }
        let mut names: Vec<Named> =
            builder.by_name.into_iter().map(|(name, overloads)| Named { name, overloads }).collect();
        names.sort_by(|a, b| a.name.cmp(&b.name));
        let spellings = Spellings::new(names.iter().map(|named| &named.name));
        Self {
            generation,
            entries: builder.entries,
            names,
            spellings,
            artifacts: Artifacts::default(),
            rejected: builder.rejected,
        }
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

    /// What did not load.
    pub fn rejected(&self) -> &[Reject] {
        &self.rejected
    }

    /// What the enrichments made of these tools.
    pub fn artifacts(&self) -> &Artifacts {
        &self.artifacts
    }

    /// The overloads of a name.
    pub fn get(&self, name: &QualifiedName) -> Option<Overloads<'_>> {
        let at = self.names.binary_search_by(|named| named.name.cmp(name)).ok()?;
        self.overloads(at)
    }

    /// The qualified names that end in this bare name, sorted.
    pub fn get_by_name<'a>(&'a self, bare_name: &str) -> impl Iterator<Item = &'a QualifiedName> {
        self.spellings.bare(bare_name).filter_map(|at| self.name(at))
    }

    /// The tools whose argument schema has this digest.
    pub fn get_by_fingerprint(&self, fingerprint: Fingerprint) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.iter().filter(move |entry| entry.fingerprint == fingerprint)
    }

    /// The tool that a call means: its name in any spelling, its overload by the arguments. Only tools that the caller
    /// may see take part; a caller of some namespaces passes a filter on [`QualifiedName::namespace`].
    ///
    /// Whether the arguments fit is not said here; see [`Overloads::validate`].
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

    pub(crate) fn spellings(&self) -> &Spellings {
        &self.spellings
    }

    pub(crate) fn named(&self) -> &[Named] {
        &self.names
    }
}

/// What a source last gave.
#[derive(Clone, Debug)]
pub(crate) struct LoadedSource {
    pub(crate) name: Arc<str>,
    pub(crate) exclusive_namespace: Option<Arc<str>>,
    pub(crate) loaded: Loaded,
}

#[derive(Default)]
struct Builder {
    /// The sources of exclusive namespaces.
    owners: HashMap<Arc<str>, Arc<str>>,
    entries: Vec<Arc<Entry>>,
    by_name: HashMap<QualifiedName, Vec<Arc<Entry>>>,
    rejected: Vec<Reject>,
}

impl Builder {
    fn add(&mut self, source: &Arc<str>, tool: Tool) -> Result<(), Reject> {
        let reject = |kind, reason| Err(Reject::tool(source.as_ref(), tool.name.to_string(), kind, reason));
        if let Some(owner) = self.owners.get(tool.name.namespace()).filter(|owner| *owner != source) {
            let reason = format!(
                "the namespace `{}` belongs to {owner}, and {source} may not add to it; use another `namespace`",
                tool.name.namespace(),
            );
            return reject(RejectKind::NamespaceTaken, reason);
        }
        let fingerprint = tool.fingerprint();
        let siblings = self.by_name.get(&tool.name).map_or(&[][..], Vec::as_slice);
        if let Some(twin) = siblings.iter().find(|entry| entry.fingerprint == fingerprint) {
            let reason = format!(
                "duplicate tool: {} with identical input schema registered twice, by {} and by {source}; \
                 remove one, or give one of the sources a namespace of its own",
                tool.name, twin.source,
            );
            return reject(RejectKind::Duplicate, reason);
        }
        let schema = match CompiledSchema::compile(&tool.parameters) {
            Ok(schema) => schema,
            Err(error) => {
                let kind = match error {
                    SchemaError::ExternalRef { .. } => RejectKind::ExternalRef,
                    SchemaError::TooDeep | SchemaError::TooLarge | SchemaError::TooMuchWork => {
                        RejectKind::TooLarge
                    }
                    _ => RejectKind::InvalidSchema,
                };
                return reject(kind, format!("`parameters`: {error}"));
            }
        };
        let entry = Arc::new(Entry { tool: Arc::new(tool), fingerprint, source: Arc::clone(source), schema });
        self.by_name.entry(entry.tool.name.clone()).or_default().push(Arc::clone(&entry));
        self.entries.push(entry);
        Ok(())
    }
}
