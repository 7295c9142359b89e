//! The tools that a caller may use, and what else its app has for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use toolcrib_agent::AgentPool;
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_modules::memory;
use toolcrib_policy::{Policy, Principal, RUNTIME_NAMESPACE};
use toolcrib_port::ToolLoader;
use toolcrib_prompt::WireNames;
use toolcrib_registry::{Entry, Snapshot};
use toolcrib_sdk::FunctionTool;
use toolcrib_tasks::Skills;
use toolcrib_tasks::schedule::SCHEDULER;
use toolcrib_tasks::skills::{Skill, USE_SKILL};

use crate::App;
use crate::sections::channels::{NamedChannel, TELLING};
use crate::sections::skills::may_use;

/// The parts of an app that its callers are told about.
pub struct AppParts {
    /// The app file.
    pub app: App,
    /// The sources of its tools.
    pub loaders: Vec<Arc<dyn ToolLoader>>,
    /// The skills that its agents can load.
    pub skills: Arc<Skills>,
    /// The destinations of notifications in addition to the conversation.
    pub channels: Vec<NamedChannel>,
}

impl AppParts {
    /// Returns the tool that loads skills, where there are any.
    pub fn skill_tools(&self) -> Vec<FunctionTool> {
        if self.skills.is_empty() {
            return Vec::new();
        }
        let config = Arc::clone(&self.app.config);
        self.skills.tools(move |context, skill| may_use(&config, context.principal(), skill))
    }
}

/// The tools of one generation that a caller may use.
pub struct CallerView<'a> {
    /// The app.
    pub parts: &'a AppParts,
    /// All tools.
    pub snapshot: Arc<Snapshot>,
    /// The rules.
    pub policy: Arc<Policy>,
    /// The caller.
    pub principal: Principal<'a>,
}

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

impl<'a> CallerView<'a> {
    /// Returns the tools that the caller may use, with their sources.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let entries = self.snapshot.iter().map(AsRef::as_ref);
        entries.filter(|entry: &&Entry| self.policy.is_visible(&entry.tool, self.principal))
    }

    /// Returns true if the caller may use a tool that fulfils a condition.
    fn has(&self, is_meant: impl Fn(&Tool) -> bool) -> bool {
        self.entries().any(|entry| is_meant(&entry.tool))
    }

    /// Returns true if the caller may use the tool of the runtime with this name.
    fn has_own(&self, name: &str) -> bool {
        self.has(|tool| tool.name.is_of_runtime() && tool.name.name() == name)
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

    /// Returns the memory of an agent that may use the module `memory`. Nothing if it cannot be read, which is logged:
    /// an agent works without its memory too.
    pub(super) fn remembered(&self) -> Option<String> {
        let Principal { session, agent, .. } = self.principal;
        let may_remember = self.has(|tool| tool.name.namespace() == memory::ID);
        may_remember.then(|| self.parts.app.memory.snapshot(session, agent, None).unwrap_or_default())
    }

    /// Returns the agents that the caller can start, each with its purpose.
    pub(super) fn agents(&self) -> Vec<(String, String)> {
        if !self.has_own(AgentPool::SPAWN) {
            return Vec::new();
        }
        let others =
            self.parts.app.config.agents.iter().filter(|agent| self.principal.agent != Some(&agent.id));
        others.map(|agent| (agent.id.clone(), agent.good_for().to_owned())).collect()
    }

    /// Returns the skills that the caller may load, sorted by name.
    pub fn skills(&self) -> impl Iterator<Item = &'a Skill> + use<'a> {
        let (parts, principal, may_load) = (self.parts, self.principal, self.has_own(USE_SKILL));
        let skills = parts.skills.iter();
        skills.filter(move |skill| may_load && may_use(&parts.app.config, principal, skill))
    }

    /// Returns the channels that the caller can name, with their readers: all if a tool of the caller takes a channel,
    /// except those that call a tool which the caller may not call.
    pub(super) fn channels(&self) -> Vec<(String, String)> {
        let tells = |tool: &Tool| {
            TELLING.contains(&tool.name.name())
                && (tool.name.is_of_runtime() || tool.name.namespace() == SCHEDULER)
        };
        if !self.has(tells) {
            return Vec::new();
        }
        let is_usable = |tool: &str| self.named(tool).is_some();
        let channels = self.parts.channels.iter();
        let usable = channels.filter(|channel| channel.tool.as_deref().is_none_or(is_usable));
        usable.map(|channel| (channel.name.clone(), channel.about.clone())).collect()
    }

    /// Returns the descriptions of the sources whose tools the caller may use, by namespace.
    pub fn source_notes(&self) -> Vec<SourceNote> {
        let note = |loader: &Arc<dyn ToolLoader>| {
            let namespace = loader.exclusive_namespace()?;
            Some(SourceNote::new(namespace, loader.about(), loader.instructions()))
        };
        let mut notes: Vec<_> = self.loaders().filter_map(note).collect();
        notes.sort_by(|a, b| a.namespace.cmp(&b.namespace));
        notes
    }

    /// Returns the usage notes of the sources whose tools the caller may use, by source.
    pub(super) fn usage_notes(&self) -> Vec<(String, String)> {
        let note = |loader: &Arc<dyn ToolLoader>| Some((title(loader.as_ref()), loader.instructions()?));
        let mut notes: Vec<_> = self.loaders().filter_map(note).collect();
        notes.sort();
        notes
    }

    fn loaders(&self) -> impl Iterator<Item = &'a Arc<dyn ToolLoader>> + use<'a> {
        let sources: BTreeSet<String> = self.entries().map(|entry| entry.source.to_string()).collect();
        self.parts.loaders.iter().filter(move |loader| sources.contains(loader.source()))
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
