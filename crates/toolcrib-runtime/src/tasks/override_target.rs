//! The targets of overrides, as operators name them.

use toolcrib_app::oauth::client::shell_quoted;
use toolcrib_document::nearest;
use toolcrib_policy::{OverrideTarget, Overrides, RUNTIME_NAMESPACE};
use toolcrib_registry::{Entry, Overloads, Snapshot};

use super::overrides::is_disabled;
use crate::{OverrideError, Runtime};

impl Runtime {
    /// Enables what a text names, for all processes that run the app. A tool becomes an exception if its namespace or
    /// source stays disabled.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing disables the target, or if the store cannot be written to.
    pub async fn enable(&self, text: &str) -> Result<OverrideTarget, OverrideError> {
        let target = self.override_target(text)?;
        let (snapshot, overrides) = (self.snapshot(), self.executor().policy().overrides());
        let is_enabled = self.enabling(&target, &overrides, &snapshot)?;
        self.set_override(&target, is_enabled).await?;
        Ok(target)
    }

    /// Disables what a text names, for all processes that run the app.
    ///
    /// # Errors
    ///
    /// Returns an error if the text names nothing that can be disabled, or if the store cannot be written to.
    pub async fn disable(&self, text: &str) -> Result<OverrideTarget, OverrideError> {
        let target = self.override_target(text)?;
        self.set_override(&target, Some(false)).await?;
        Ok(target)
    }

    /// Removes an override, for all processes that run the app.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such override, or if the store cannot be written to.
    pub async fn remove_override(&self, target: &OverrideTarget) -> Result<(), OverrideError> {
        if !self.executor().policy().overrides().targets.contains_key(target) {
            return Err(OverrideError::NotOverridden { target: target.clone() });
        }
        Ok(self.set_override(target, None).await?)
    }

    /// Returns the advice to an operator whose call of a tool is refused because the tool is disabled.
    pub fn enable_hint(&self, tool: &str) -> Option<String> {
        let overrides = self.executor().policy().overrides();
        let snapshot = self.snapshot();
        let file = shell_quoted(&self.app().file.name);
        let overloads = snapshot.find(tool, |entry| overrides.disabled(&entry.tool).is_some()).ok();
        if let Some(tool) = overloads.as_ref().and_then(Overloads::first).map(|entry| &entry.tool) {
            let (target, tool) = (overrides.disabled(tool)?, shell_quoted(&tool.name.dotted()));
            return Some(format!(
                "{target} is disabled; `toolcrib enable {file} {tool}` enables the tool again"
            ));
        }
        // The tools of a source may be unknown while it is disabled.
        let target = overrides.targets.iter().find(|(target, is_enabled)| match target {
            OverrideTarget::Namespace(namespace) if !**is_enabled => {
                tool.strip_prefix(namespace.as_str()).is_some_and(|rest| rest.starts_with(['.', ':', '_']))
            }
            _ => false,
        });
        let (target, _) = target?;
        Some(format!("{target} is disabled; `toolcrib enable {file} {}` enables it again", target.id()))
    }

    /// Returns the target that a text means: a source, a namespace, or a tool in any spelling, or one with its kind, such
    /// as `tool:github.search`. What was overridden may be missing from the app.
    fn override_target(&self, text: &str) -> Result<OverrideTarget, OverrideError> {
        let (snapshot, overrides) = (self.snapshot(), self.executor().policy().overrides());
        let target = self.resolve(text, &snapshot, &overrides)?;
        if is_of_runtime(&target, &snapshot) { Err(OverrideError::OfRuntime) } else { Ok(target) }
    }

    /// Returns the override that enables a target; `None` if it needs none.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing disables the target.
    fn enabling(
        &self,
        target: &OverrideTarget,
        overrides: &Overrides,
        snapshot: &Snapshot,
    ) -> Result<Option<bool>, OverrideError> {
        let own = overrides.targets.get(target).copied();
        let mut without = overrides.clone();
        without.targets.remove(target);
        let is_covered = match target {
            OverrideTarget::Tool(name) => {
                let mut tools = snapshot.iter().chain(snapshot.unshaped().iter());
                let is_it = |entry: &Entry| entry.tool.name.dotted() == *name;
                self.is_of_disabled_source(name, &without)
                    || tools.any(|entry| is_it(entry) && without.disabled(&entry.tool).is_some())
            }
            OverrideTarget::Namespace(_) | OverrideTarget::Source(_) => false,
        };
        match (own, is_covered) {
            (Some(true), _) | (None, false) => Err(OverrideError::NotDisabled { target: target.clone() }),
            (_, true) => Ok(Some(true)),
            (Some(false), false) => Ok(None),
        }
    }

    fn resolve(
        &self,
        text: &str,
        snapshot: &Snapshot,
        overrides: &Overrides,
    ) -> Result<OverrideTarget, OverrideError> {
        if let Ok(target) = text.parse() {
            return Ok(target);
        }
        let entries = || snapshot.iter().chain(snapshot.unshaped().iter());
        let source = OverrideTarget::Source(text.to_owned());
        let namespace = OverrideTarget::Namespace(text.to_owned());
        if self.loaders().iter().any(|loader| loader.source() == text)
            || entries().any(|entry| &*entry.source == text)
        {
            Ok(source)
        } else if entries().any(|entry| entry.tool.name.namespace() == text) {
            Ok(namespace)
        } else if let Some(name) = tool_named(text, snapshot) {
            Ok(OverrideTarget::Tool(name))
        } else if self.is_of_disabled_source(text, overrides) {
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
        let mut owners =
            self.loaders().iter().filter(|loader| loader.exclusive_namespace() == Some(namespace));
        owners.any(|loader| is_disabled(loader.as_ref(), overrides))
    }
}

fn is_of_runtime(target: &OverrideTarget, snapshot: &Snapshot) -> bool {
    let mut entries = snapshot.iter().chain(snapshot.unshaped().iter());
    match target {
        OverrideTarget::Namespace(name) => name == RUNTIME_NAMESPACE,
        OverrideTarget::Tool(name) => name.split('.').next() == Some(RUNTIME_NAMESPACE),
        OverrideTarget::Source(name) => {
            entries.any(|entry| &*entry.source == name && entry.tool.name.namespace() == RUNTIME_NAMESPACE)
        }
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
