//! The targets of overrides, as operators name them.

use toolcrib_document::nearest;
use toolcrib_policy::{OverrideTarget, Overrides, RUNTIME_NAMESPACE};
use toolcrib_registry::{Entry, Overloads, Snapshot};

use super::{ActiveOverrides, is_disabled};
use crate::store::StoreError;

/// The reason why an override is not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideError {
    /// The text names nothing in the app.
    #[error("there is no tool, namespace or source `{text}`{}", suggestion(near.as_deref()))]
    Unknown {
        /// The text.
        text: String,
        /// A similar name of the app.
        near: Option<String>,
    },
    /// The text names the runtime's own tools.
    #[error("the runtime's own tools reach others only through the gate, and are not disabled")]
    OfRuntime,
    /// Nothing disables the target.
    #[error("{target} is not disabled")]
    NotDisabled {
        /// The target.
        target: OverrideTarget,
    },
    /// The target has no override.
    #[error("{target} has no override; it may have been removed since")]
    NotOverridden {
        /// The target.
        target: OverrideTarget,
    },
    /// The store cannot be written to.
    #[error("the overrides cannot be changed: {0}")]
    Store(#[from] StoreError),
}

fn suggestion(near: Option<&str>) -> String {
    near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

impl ActiveOverrides {
    /// Enables what a text names. A tool becomes an exception if its namespace or source stays disabled.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing disables the target, or if the store cannot be written to.
    pub async fn enable(&self, text: &str) -> Result<OverrideTarget, OverrideError> {
        let target = self.target(text)?;
        let is_enabled = self.enabling(&target)?;
        self.set(&target, is_enabled).await?;
        Ok(target)
    }

    /// Disables what a text names.
    ///
    /// # Errors
    ///
    /// Returns an error if the text names nothing that can be disabled, or if the store cannot be written to.
    pub async fn disable(&self, text: &str) -> Result<OverrideTarget, OverrideError> {
        let target = self.target(text)?;
        self.set(&target, Some(false)).await?;
        Ok(target)
    }

    /// Removes an override.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such override, or if the store cannot be written to.
    pub async fn remove(&self, target: &OverrideTarget) -> Result<(), OverrideError> {
        if !self.policy.overrides().targets.contains_key(target) {
            return Err(OverrideError::NotOverridden { target: target.clone() });
        }
        self.set(target, None).await
    }

    /// Returns the target whose override disables a tool, given in any spelling, and the name of the tool. There is no
    /// name if the tool is unknown because its source is disabled.
    pub fn disabling(&self, tool: &str) -> Option<(OverrideTarget, Option<String>)> {
        let (snapshot, overrides) = (self.registry.snapshot(), self.policy.overrides());
        let overloads = snapshot.find(tool, |entry| overrides.disabled(&entry.tool).is_some()).ok();
        if let Some(entry) = overloads.as_ref().and_then(Overloads::first) {
            return Some((overrides.disabled(&entry.tool)?, Some(entry.tool.name.dotted())));
        }
        if snapshot.find(tool, |_| true).is_ok() {
            // An exception of a disabled namespace.
            return None;
        }
        let is_of = |namespace: &str| {
            tool.strip_prefix(namespace).is_some_and(|rest| rest.starts_with(['.', ':', '_']))
        };
        let disabled = overrides.targets.iter().filter(|(_, is_enabled)| !**is_enabled);
        let mut namespaces = disabled
            .map(|(target, _)| target)
            .filter(|target| matches!(target, OverrideTarget::Namespace(namespace) if is_of(namespace)));
        Some((namespaces.next()?.clone(), None))
    }

    /// Returns the target that a text means: a source, a namespace, or a tool in any spelling, or one with its kind, such
    /// as `tool:github.search`. What was overridden may be missing from the app.
    fn target(&self, text: &str) -> Result<OverrideTarget, OverrideError> {
        let snapshot = self.registry.snapshot();
        let target = self.resolve(text, &snapshot)?;
        if is_of_runtime(&target, &snapshot) { Err(OverrideError::OfRuntime) } else { Ok(target) }
    }

    /// Returns the override that enables a target; `None` if it needs none.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing disables the target.
    fn enabling(&self, target: &OverrideTarget) -> Result<Option<bool>, OverrideError> {
        let mut without = Overrides::clone(&self.policy.overrides());
        let own = without.targets.remove(target);
        let snapshot = self.registry.snapshot();
        let is_covered = match target {
            OverrideTarget::Tool(name) => {
                let is_it = |entry: &Entry| entry.tool.name.dotted() == *name;
                self.is_of_disabled_source(name, &without)
                    || entries(&snapshot).any(|entry| is_it(entry) && without.disabled(&entry.tool).is_some())
            }
            OverrideTarget::Namespace(_) | OverrideTarget::Source(_) => false,
        };
        match (own, is_covered) {
            (Some(true), _) | (None, false) => Err(OverrideError::NotDisabled { target: target.clone() }),
            (_, true) => Ok(Some(true)),
            (Some(false), false) => Ok(None),
        }
    }

    fn resolve(&self, text: &str, snapshot: &Snapshot) -> Result<OverrideTarget, OverrideError> {
        if let Ok(target) = text.parse() {
            return Ok(target);
        }
        let overrides = self.policy.overrides();
        let source = OverrideTarget::Source(text.to_owned());
        let namespace = OverrideTarget::Namespace(text.to_owned());
        if self.loaders.iter().any(|loader| loader.source() == text)
            || entries(snapshot).any(|entry| &*entry.source == text)
        {
            Ok(source)
        } else if entries(snapshot).any(|entry| entry.tool.name.namespace() == text) {
            Ok(namespace)
        } else if let Some(name) = tool_named(text, snapshot) {
            Ok(OverrideTarget::Tool(name))
        } else if self.is_of_disabled_source(text, &overrides) {
            Ok(OverrideTarget::Tool(text.to_owned()))
        } else {
            let known = [source, namespace, OverrideTarget::Tool(text.to_owned())];
            let overridden = known.into_iter().find(|target| overrides.targets.contains_key(target));
            overridden.ok_or_else(|| unknown(text, snapshot))
        }
    }

    /// Returns true if a tool belongs to a source that is disabled, and may not be loaded therefore.
    fn is_of_disabled_source(&self, tool: &str, overrides: &Overrides) -> bool {
        let Some((namespace, _)) = tool.split_once('.') else { return false };
        let mut owners = self.loaders.iter().filter(|loader| loader.exclusive_namespace() == Some(namespace));
        owners.any(|loader| is_disabled(loader.as_ref(), overrides))
    }
}

/// Returns the tools as callers know them, and then as their sources define them.
fn entries(snapshot: &Snapshot) -> impl Iterator<Item = &Entry> {
    snapshot.iter().chain(snapshot.unshaped().iter()).map(AsRef::as_ref)
}

fn is_of_runtime(target: &OverrideTarget, snapshot: &Snapshot) -> bool {
    match target {
        OverrideTarget::Namespace(name) => name == RUNTIME_NAMESPACE,
        OverrideTarget::Tool(name) => name.split('.').next() == Some(RUNTIME_NAMESPACE),
        OverrideTarget::Source(name) => entries(snapshot)
            .any(|entry| &*entry.source == name && entry.tool.name.namespace() == RUNTIME_NAMESPACE),
    }
}

fn tool_named(text: &str, snapshot: &Snapshot) -> Option<String> {
    let found = [snapshot, snapshot.unshaped()].into_iter().find_map(|all| all.find(text, |_| true).ok())?;
    Some(found.first()?.tool.name.dotted())
}

fn unknown(text: &str, snapshot: &Snapshot) -> OverrideError {
    let names: Vec<String> = snapshot.iter().map(|entry| entry.tool.name.dotted()).collect();
    let namespaces = snapshot.iter().map(|entry| entry.tool.name.namespace());
    let near = nearest(text, names.iter().map(String::as_str).chain(namespaces)).map(str::to_owned);
    OverrideError::Unknown { text: text.to_owned(), near }
}
