//! Discovery: finding and describing tools for a caller.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_model::{ErrorKind, JsonObject, QualifiedName, Tool, ToolError};
use toolcrib_policy::{Policy, Principal, RUNTIME_NAMESPACE};
use toolcrib_port::ToolLoader;
use toolcrib_registry::{Entry, Overloads, Snapshot, ToolRegistry};
use toolcrib_search::SearchSettings;

use crate::ToolCard;
use crate::index::CurrentIndex;
use crate::source_notes::SourceNotes;
use crate::tool_card::{self, ToolDetail};

/// A view of the tools for callers: each query comes with a [`Principal`], which sees no tool that it may not use.
pub struct Discovery {
    pub(crate) index: CurrentIndex,
    pub(crate) policy: Arc<Policy>,
    pub(crate) descriptions: BTreeMap<String, String>,
    pub(crate) sources: SourceNotes,
    /// True if models can run scripts.
    pub(crate) has_scripts: bool,
}

impl Discovery {
    /// Creates a view of this registry, limited by the policy.
    pub fn new(registry: &Arc<ToolRegistry>, policy: Arc<Policy>) -> Self {
        let (descriptions, sources) = (BTreeMap::new(), SourceNotes::default());
        Self { index: CurrentIndex::new(registry), policy, descriptions, sources, has_scripts: false }
    }

    /// Sets the sources, which describe themselves and the use of their tools.
    pub fn with_sources(mut self, loaders: Vec<Arc<dyn ToolLoader>>) -> Self {
        self.sources = SourceNotes::new(loaders);
        self
    }

    /// Sets whether models can run scripts: `search_tools` and `get_tool` can then describe tools as TypeScript. False by
    /// default, because each request carries the argument that asks for it.
    pub fn with_scripts(mut self, has_scripts: bool) -> Self {
        self.has_scripts = has_scripts;
        self
    }

    /// Sets the descriptions of namespaces.
    pub fn with_descriptions(mut self, descriptions: BTreeMap<String, String>) -> Self {
        self.descriptions = descriptions;
        self
    }

    /// Sets the fusion of the word and semantic rankings, and the synonyms.
    pub fn with_search(mut self, settings: SearchSettings) -> Self {
        self.index.settings = settings;
        self
    }

    /// Caches the words of large registries in this folder, so that the next start is quick; see
    /// [`SearchIndex::build_cached`].
    ///
    /// [`SearchIndex::build_cached`]: toolcrib_search::SearchIndex::build_cached
    pub fn with_word_cache(mut self, folder: Option<PathBuf>) -> Self {
        self.index.folder = folder;
        self
    }

    /// Returns the complete description of a tool, by any spelling of its name.
    pub fn describe(&self, name: &str, principal: Principal<'_>) -> Result<ToolCard, ToolError> {
        let snapshot = self.index.snapshot_of(principal.session)?;
        let exists = |tool: &Tool| self.exists_for(tool, principal);
        let overloads = snapshot
            .find_among(name, &exists, &|entry| self.is_visible(entry, principal))
            .map_err(|error| ToolError::from(&error))?;
        let unknown = || ToolError::new(ErrorKind::UnknownTool, format!("there is no tool `{name}`"));
        ToolCard::new(&overloads, &snapshot, &self.policy, principal).ok_or_else(unknown)
    }

    /// Returns the answer of `get_tool`: parameters, description, and the sections in `include`; with a `path`, one
    /// part of the parameters. Misspelled names are tolerated.
    pub fn tool_for_model(
        &self,
        name: &str,
        path: &str,
        include: &[ToolDetail],
        principal: Principal<'_>,
    ) -> Result<JsonObject, ToolError> {
        let snapshot = self.index.snapshot_of(principal.session)?;
        let overloads = self.near(&snapshot, name, principal)?;
        tool_card::for_model(&overloads, path, include, &snapshot, &self.policy, principal)
    }

    /// Returns the answer of `get_tool` with a declaration of the tool in TypeScript in place of its parameters.
    pub(crate) fn tool_as_types(
        &self,
        name: &str,
        principal: Principal<'_>,
    ) -> Result<JsonObject, ToolError> {
        let snapshot = self.index.snapshot_of(principal.session)?;
        let overloads = self.near(&snapshot, name, principal)?;
        tool_card::as_types(&overloads, &self.policy, principal)
    }

    /// Returns the tools that a name means to the caller, also if it is misspelled.
    fn near<'a>(
        &self,
        snapshot: &'a Snapshot,
        name: &str,
        principal: Principal<'_>,
    ) -> Result<Overloads<'a>, ToolError> {
        let exists = |tool: &Tool| self.exists_for(tool, principal);
        let near = snapshot.find_near(name, &exists, &|entry| self.is_visible(entry, principal));
        near.map_err(|error| ToolError::from(&error))
    }

    /// Returns the complete description of a tool for the operator, who also sees tools that no caller may use.
    pub fn inspect(&self, name: &str, principal: Principal<'_>) -> Result<ToolCard, ToolError> {
        let snapshot = self.index.snapshot_of(principal.session)?;
        let overloads = snapshot.find(name, |_| true).map_err(|error| ToolError::from(&error))?;
        let unknown = || ToolError::new(ErrorKind::UnknownTool, format!("there is no tool `{name}`"));
        ToolCard::new(&overloads, &snapshot, &self.policy, principal).ok_or_else(unknown)
    }

    pub(crate) fn visible<'a>(
        &self,
        snapshot: &'a Snapshot,
        name: &QualifiedName,
        principal: Principal<'_>,
    ) -> Option<Overloads<'a>> {
        snapshot.get(name)?.visible(|entry: &Entry| self.is_visible(entry, principal))
    }

    fn exists_for(&self, tool: &Tool, principal: Principal<'_>) -> bool {
        !tool.traits().only_for_apps && self.policy.exists_for(tool, principal)
    }

    fn is_visible(&self, entry: &Entry, principal: Principal<'_>) -> bool {
        !entry.tool.traits().only_for_apps && self.policy.is_visible(&entry.tool, principal)
    }

    /// Returns the visible names, without those of the runtime.
    pub(crate) fn names<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        principal: Principal<'a>,
    ) -> impl Iterator<Item = &'a QualifiedName> {
        snapshot.tool_names().filter(move |name| {
            let visible = || {
                self.visible(snapshot, name, principal)?
                    .first()
                    .map(|entry| entry.tool.traits().is_for_models())
            };
            name.namespace() != RUNTIME_NAMESPACE && visible().unwrap_or(false)
        })
    }
}
