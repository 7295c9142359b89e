//! The tools that a caller may use.

use std::sync::Arc;

use toolcrib_model::{QualifiedName, Tool};
use toolcrib_policy::{Policy, Principal, RUNTIME_NAMESPACE};
use toolcrib_prompt::WireNames;
use toolcrib_registry::{Entry, Snapshot};

/// The tools of one generation that a caller may use.
pub struct CallerView<'a> {
    /// All tools.
    pub snapshot: Arc<Snapshot>,
    /// The rules.
    pub policy: Arc<Policy>,
    /// The caller.
    pub principal: Principal<'a>,
}

impl CallerView<'_> {
    /// Returns the tools that the caller may use, with their sources.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let entries = self.snapshot.iter().map(AsRef::as_ref);
        entries.filter(|entry: &&Entry| self.policy.is_visible(&entry.tool, self.principal))
    }

    /// Returns true if the caller may use a tool that fulfils a condition.
    pub fn has(&self, is_meant: impl Fn(&Tool) -> bool) -> bool {
        self.entries().any(|entry| is_meant(&entry.tool))
    }

    /// Returns the tools that the caller may use, of those that models are told of.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        let tools = self.entries().map(|entry| entry.tool.as_ref());
        tools.filter(|tool: &&Tool| tool.traits().is_for_models())
    }

    /// Returns the wire names of the tools that the caller may use; without namespaces if wanted and unambiguous.
    pub fn wire_names(&self, is_short: bool) -> WireNames {
        let own = self.snapshot.iter().filter(|entry| entry.tool.name.namespace() == RUNTIME_NAMESPACE);
        let reserved: Vec<&str> = own.map(|entry| entry.tool.name.name()).collect();
        let visible = self.entries().map(|entry| entry.tool.as_ref());
        if is_short {
            WireNames::short(visible, RUNTIME_NAMESPACE, &reserved)
        } else {
            WireNames::new(visible, RUNTIME_NAMESPACE, &reserved)
        }
    }

    /// Returns the name of the tool that a spelling means to the caller.
    pub fn named(&self, spelling: &str) -> Option<QualifiedName> {
        let is_visible = |entry: &Entry| self.policy.is_visible(&entry.tool, self.principal);
        let found = self.snapshot.find(spelling, is_visible).ok()?;
        Some(found.first()?.tool.name.clone())
    }
}
