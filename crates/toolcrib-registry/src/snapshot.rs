//! All tools at one moment.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use toolcrib_model::{Fingerprint, QualifiedName, Tool};
use toolcrib_port::{Loaded, Reject, RejectKind};
use toolcrib_schema::{CompiledSchema, Error as SchemaError};

use crate::Overloads;

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

/// All tools at one moment. It never changes.
#[derive(Debug, Default)]
pub struct Snapshot {
    generation: u64,
    entries: Vec<Arc<Entry>>,
    by_name: HashMap<QualifiedName, Vec<Arc<Entry>>>,
    /// Qualified names by bare name, sorted.
    by_bare_name: BTreeMap<String, Vec<QualifiedName>>,
    rejected: Vec<Reject>,
}

impl Snapshot {
    /// Puts together what the sources gave. Where a name stands twice with the same schema, the first stays.
    pub(crate) fn build(generation: u64, sources: Vec<(Arc<str>, Loaded)>) -> Self {
        let mut snapshot = Self { generation, ..Self::default() };
        for (source, loaded) in sources {
            snapshot.rejected.extend(loaded.rejected);
            for tool in loaded.tools {
                if let Err(reject) = snapshot.add(&source, tool) {
                    snapshot.rejected.push(reject);
                }
            }
        }
        for names in snapshot.by_bare_name.values_mut() {
            names.sort();
        }
        snapshot
    }

    fn add(&mut self, source: &Arc<str>, tool: Tool) -> Result<(), Reject> {
        let reject = |kind, reason| Err(Reject::tool(source.as_ref(), tool.name.to_string(), kind, reason));
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
                    SchemaError::TooDeep | SchemaError::TooLarge => RejectKind::TooLarge,
                    _ => RejectKind::InvalidSchema,
                };
                return reject(kind, format!("`parameters`: {error}"));
            }
        };
        let entry = Arc::new(Entry { tool: Arc::new(tool), fingerprint, source: Arc::clone(source), schema });
        let name = &entry.tool.name;
        let siblings = self.by_name.entry(name.clone()).or_default();
        if siblings.is_empty() {
            self.by_bare_name.entry(name.name().to_owned()).or_default().push(name.clone());
        }
        siblings.push(Arc::clone(&entry));
        self.entries.push(entry);
        Ok(())
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

    /// The overloads of a name.
    pub fn get(&self, name: &QualifiedName) -> Option<Overloads<'_>> {
        self.by_name.get(name).map(|entries| Overloads::new(entries))
    }

    /// The qualified names that end in this bare name, sorted.
    pub fn get_by_name(&self, bare_name: &str) -> &[QualifiedName] {
        self.by_bare_name.get(bare_name).map_or(&[], Vec::as_slice)
    }

    /// The tools whose argument schema has this digest.
    pub fn get_by_fingerprint(&self, fingerprint: Fingerprint) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.iter().filter(move |entry| entry.fingerprint == fingerprint)
    }

    /// Every namespace once, sorted.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        let mut namespaces: Vec<_> = self.by_name.keys().map(QualifiedName::namespace).collect();
        namespaces.sort_unstable();
        namespaces.dedup();
        namespaces.into_iter()
    }

    /// Every qualified name once, sorted.
    pub fn tool_names(&self) -> impl Iterator<Item = &QualifiedName> {
        let mut names: Vec<_> = self.by_name.keys().collect();
        names.sort_unstable();
        names.into_iter()
    }
}
