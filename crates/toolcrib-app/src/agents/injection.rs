//! The settings of the app file for the injection of tools into an agent's context.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;

use toolcrib_agent::ToolChoice;
use toolcrib_app::sections::agents::{AgentConfig, ToolChoiceConfig};
use toolcrib_app::sections::runtime::SizeEstimate;
use toolcrib_model::QualifiedName;
use toolcrib_policy::Principal;
use toolcrib_port::ToolLoader;
use toolcrib_prompt::{DEFAULT_TOKENS_PER_TOOL, Estimate, InjectionSettings, Tokenizer, WireNames};
use toolcrib_registry::{Entry, Snapshot};

use crate::services::AppServices;

/// The description that a source gives of itself. Its texts are those of strangers, and have to be shown as such.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceNote {
    /// The namespace of its tools.
    pub namespace: String,
    /// Its title and description, on one line.
    pub about: Option<String>,
    /// Its advice on the use of its tools.
    pub instructions: Option<String>,
}

impl SourceNote {
    /// Creates the note of the source with this namespace.
    pub fn new(namespace: impl Into<String>, about: Option<String>, instructions: Option<String>) -> Self {
        Self { namespace: namespace.into(), about, instructions }
    }
}

impl AppServices {
    /// Returns the settings on which the decision depends for an agent.
    pub(crate) fn injection(
        &self,
        agent: Option<&AgentConfig>,
        snapshot: &Snapshot,
        principal: Principal<'_>,
    ) -> InjectionSettings {
        let runtime = &self.app.config.runtime;
        let mut settings = InjectionSettings { mode: runtime.tool_injection, ..InjectionSettings::default() };
        settings.tool_budget = runtime.tool_budget.unwrap_or(settings.tool_budget);
        settings.estimate = match (runtime.estimate, runtime.tokens_per_tool) {
            (Some(SizeEstimate::Payload), _) | (None, None) => Estimate::Payload,
            (_, tokens) => Estimate::PerTool(tokens.map_or(DEFAULT_TOKENS_PER_TOOL, NonZeroU32::get)),
        };
        settings.reveal = runtime.reveal;
        let tool_choice = agent.and_then(|agent| agent.brain.tool_choice.as_ref());
        let chosen = tool_choice.and_then(ToolChoiceConfig::tool);
        settings.pinned = runtime
            .pinned
            .iter()
            .map(String::as_str)
            // A call of it is asked for, so the model has to see it.
            .chain(chosen)
            .filter_map(|spelling| self.named(spelling, snapshot, principal))
            .collect();
        if let Some(agent) = agent {
            settings.context_window = self.context_window(agent);
            settings.tokenizer = Tokenizer::of_model(&agent.brain.model);
            settings.style = agent.brain.call_style();
            settings.profile = agent.profile();
        }
        settings
    }

    /// Returns the tool choice of an agent, by the names that its model knows.
    pub(crate) fn tool_choice(
        &self,
        agent: Option<&AgentConfig>,
        snapshot: &Snapshot,
        principal: Principal<'_>,
        wire_names: &WireNames,
    ) -> Result<ToolChoice, String> {
        match agent.and_then(|agent| agent.brain.tool_choice.as_ref()) {
            None | Some(ToolChoiceConfig::Auto) => Ok(ToolChoice::Auto),
            Some(ToolChoiceConfig::None) => Ok(ToolChoice::None),
            Some(ToolChoiceConfig::Required) => Ok(ToolChoice::Required),
            Some(ToolChoiceConfig::Tool(spelling)) => {
                let named = self.named(spelling, snapshot, principal);
                let wire_name = named.as_ref().and_then(|name| wire_names.wire_name(name));
                let wire_name = wire_name.ok_or_else(|| {
                    format!("`tool_choice` names an unknown tool `{spelling}`; see `toolcrib tools`")
                })?;
                Ok(ToolChoice::Tool(wire_name.to_owned()))
            }
        }
    }

    pub(crate) fn named(
        &self,
        spelling: &str,
        snapshot: &Snapshot,
        principal: Principal<'_>,
    ) -> Option<QualifiedName> {
        let policy = self.executor.policy();
        let found = snapshot.find(spelling, |entry| policy.is_visible(&entry.tool, principal)).ok()?;
        Some(found.first()?.tool.name.clone())
    }

    /// Tools that are to be pinned and are not there.
    pub(crate) fn not_pinned(&self, snapshot: &Snapshot) -> impl Iterator<Item = String> {
        let config = &self.app.config;
        let pinned = [("runtime.pinned", &config.runtime.pinned), ("serve.pin", &config.serve.pin)];
        let pinned = pinned.into_iter().flat_map(|(list, names)| names.iter().map(move |name| (list, name)));
        pinned
            .filter(|(_, spelling)| snapshot.find(spelling, |_| true).is_err())
            .map(|(list, spelling)| format!("`{list}` names an unknown tool `{spelling}`"))
    }

    /// See [`Runtime::source_notes`](crate::Runtime::source_notes).
    pub(crate) fn notes_for(&self, session: &str) -> Vec<SourceNote> {
        let principal = Principal::new(session);
        let (snapshot, policy) = (self.snapshot(), self.executor.policy());
        let visible = snapshot.iter().filter(|entry| policy.is_visible(&entry.tool, principal));
        let sources: BTreeSet<&str> = visible.map(|entry| entry.source.as_ref()).collect();
        let loaders = self.loaders.iter().filter(|loader| sources.contains(loader.source()));
        let note = |loader: &Arc<dyn ToolLoader>| {
            let namespace = loader.exclusive_namespace()?;
            Some(SourceNote::new(namespace, loader.about(), loader.instructions()))
        };
        let mut notes: Vec<_> = loaders.filter_map(note).collect();
        notes.sort_by(|a, b| a.namespace.cmp(&b.namespace));
        notes
    }

    /// Returns the usage notes of the sources of these tools, by source.
    pub(crate) fn source_notes<'a>(&self, visible: impl Iterator<Item = &'a Entry>) -> Vec<(String, String)> {
        let sources: BTreeSet<&str> = visible.map(|entry| entry.source.as_ref()).collect();
        let mut notes: Vec<_> = self
            .loaders
            .iter()
            .filter(|loader| sources.contains(loader.source()))
            .filter_map(|loader| Some((title(loader.as_ref()), loader.instructions()?)))
            .collect();
        notes.sort();
        notes
    }
}

/// Returns the name of a source for models: its kind and its namespace, since a path is of no use to them.
fn title(loader: &dyn ToolLoader) -> String {
    let source = loader.source();
    match (source.split_once(' '), loader.exclusive_namespace()) {
        (Some((kind, _)), Some(namespace)) => format!("{kind} {namespace}"),
        (Some((kind, _)), None) => kind.to_owned(),
        (None, _) => source.to_owned(),
    }
}
