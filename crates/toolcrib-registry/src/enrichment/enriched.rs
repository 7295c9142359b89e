//! The results of enrichments.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use toolcrib_model::Schema;

use super::artifacts::Artifact;
use super::tool_key::ToolKey;

/// The result of an enrichment: an artifact, and changes of tools.
#[derive(Clone)]
pub struct Enriched {
    pub(crate) artifact: Artifact,
    pub(crate) patches: Vec<ToolPatch>,
}

impl Enriched {
    /// Creates the result with an artifact and no changes.
    pub fn new(artifact: impl Any + Send + Sync) -> Self {
        Self { artifact: Arc::new(artifact), patches: Vec::new() }
    }

    /// Changes tools. The enrichments that run later and all readers of the snapshot see the changed tools. A patch of
    /// an unknown tool, or with a schema that does not compile, is an error that aborts the refresh.
    pub fn with_patches(mut self, patches: impl IntoIterator<Item = ToolPatch>) -> Self {
        self.patches.extend(patches);
        self
    }

    /// Returns the artifact.
    pub fn artifact(&self) -> &Artifact {
        &self.artifact
    }

    /// Returns the changes of tools.
    pub fn patches(&self) -> &[ToolPatch] {
        &self.patches
    }
}

impl fmt::Debug for Enriched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enriched").field("patches", &self.patches).finish_non_exhaustive()
    }
}

/// A change of one overload of a tool. Its name, its arguments and its metadata, which decide about permissions, stay.
#[derive(Clone, Debug)]
pub struct ToolPatch {
    pub(crate) tool: ToolKey,
    pub(crate) description: Option<String>,
    pub(crate) output_parameters: Option<Schema>,
}

impl ToolPatch {
    /// Creates a patch that changes nothing yet.
    pub fn new(tool: ToolKey) -> Self {
        Self { tool, description: None, output_parameters: None }
    }

    /// Replaces the description.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Replaces the schema of the result.
    pub fn with_output_parameters(mut self, schema: impl Into<Schema>) -> Self {
        self.output_parameters = Some(schema.into());
        self
    }
}
