//! `tools.channels`: destinations of notifications in addition to the conversation.

use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolcrib_document::Error as DocumentError;
use toolcrib_io::files::Root;
use toolcrib_io::http::{HttpClient, is_private_url};
use toolcrib_model::name::NAMESPACE_SEPARATOR;
use toolcrib_model::text::pointer_part;
use toolcrib_model::{JsonObject, QualifiedName, Secret, Tool};
use toolcrib_policy::{Policy, Principal, RUNTIME_NAMESPACE};
use toolcrib_registry::Snapshot;
use toolcrib_sdk::Module;
use toolcrib_tasks::channels::{
    FileChannel, MIN_FILE_BYTES, SEND_MESSAGE, Terminal, TerminalChannel, ToolChannel, WebhookChannel,
};
use toolcrib_tasks::schedule::SCHEDULER;
use toolcrib_tasks::{Channel, Error};
use url::Url;

use crate::extensions::entry::AppContext;
use crate::findings::Findings;
use crate::resolved::ResolvedEntry;
use crate::sections::values::{check_name, unknown};
use crate::{App, AppConfig, AppFile};

/// The most channels of an app.
const MAX_CHANNELS: usize = 64;

/// The types of channels.
const KINDS: [&str; 4] = ["file", "terminal", "tool", "webhook"];

/// The tools of the runtime that take the name of a channel.
pub const TELLING: [&str; 5] = ["remind", "schedule_cron", "schedule_once", SEND_MESSAGE, "watch_start"];

/// A channel of an app file.
pub struct NamedChannel {
    /// Its name.
    pub name: String,
    /// The readers of the channel, for models.
    pub about: String,
    /// The tool that it calls.
    pub tool: Option<String>,
    /// The destination.
    pub channel: Arc<dyn Channel>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TerminalEntry {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileChannelEntry {
    /// Relative to the folder of the app file; in it, or in the workspace.
    path: String,
    /// The size above which it is rotated.
    max_bytes: Option<NonZeroU64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WebhookEntry {
    url: String,
    secret: Secret,
    /// True if the address may be private; a URL that names a private address permits it too.
    allow_private: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolEntry {
    tool: String,
    #[serde(default)]
    params: JsonObject,
}

/// Builds the channels of an app; those that can be. Warns where nothing can send by them. Nothing is sent, and no file
/// made.
pub(crate) fn build(
    app: &App,
    context: &AppContext<'_>,
    modules: &[Module],
    policy: Option<&Policy>,
    found: &mut Findings,
) -> Vec<NamedChannel> {
    let entries = &app.resolved.channels;
    if entries.len() > MAX_CHANNELS {
        let message = format!("there are {} channels, and at most {MAX_CHANNELS} are taken", entries.len());
        found.errors.push(app.file.error_at("/tools/channels", message));
    }
    let terminal = app.extensions.terminal.as_ref();
    let mut channels = Vec::new();
    for (name, entry) in entries {
        if let Some(channel) = found.built(named(context, terminal, name, entry)) {
            found.errors.extend(unknown_action(&channel, &app.file, modules));
            channels.push(channel);
        }
    }
    found.warnings.extend(policy.and_then(|policy| unreachable(&app.config, policy)));
    channels
}

/// Returns warnings about channels by tools that are not there.
pub(crate) fn unused<'a>(
    channels: &'a [NamedChannel],
    snapshot: &'a Snapshot,
) -> impl Iterator<Item = String> + 'a {
    channels.iter().filter_map(|NamedChannel { name, tool, .. }| {
        let tool = tool.as_deref().filter(|tool| snapshot.find(tool, |_| true).is_err())?;
        Some(format!("the channel `{name}` sends by `{tool}`, an unknown tool"))
    })
}

/// Returns an error where a channel calls an action that its module does not have.
fn unknown_action(channel: &NamedChannel, file: &AppFile, modules: &[Module]) -> Option<DocumentError> {
    let (id, action) = parts(channel.tool.as_deref()?)?;
    let module = modules.iter().find(|module| module.id() == id)?;
    let actions: Vec<&str> = module.actions().collect();
    (!actions.contains(&action)).then(|| {
        let message = format!("in the module `{}`: {}", module.id(), unknown("action", action, &actions));
        file.error_at(&format!("/tools/channels/{}/tool", pointer_part(&channel.name)), message)
    })
}

/// Namespace and name of a tool, in either spelling.
fn parts(tool: &str) -> Option<(&str, &str)> {
    tool.split_once(NAMESPACE_SEPARATOR).or_else(|| tool.split_once('.'))
}

fn named(
    app: &AppContext<'_>,
    terminal: Option<&Arc<dyn Terminal>>,
    name: &str,
    entry: &ResolvedEntry,
) -> Result<NamedChannel, DocumentError> {
    let place = &entry.pointer;
    check_name("a channel", name).map_err(|message| app.file.error_at(place, message))?;
    if let Some(unset) = &entry.unset {
        return Err(unset.clone());
    }
    let mut settings = entry.settings.clone();
    let about = match settings.as_object_mut().and_then(|map| map.shift_remove("description")) {
        None => None,
        Some(Value::String(about)) => Some(about),
        Some(other) => {
            let message = format!("`description` has to be a text, not {other}");
            return Err(app.file.error_at(&format!("{place}/description"), message));
        }
    };
    let (channel, tool, default): (Arc<dyn Channel>, _, _) = match entry.kind.as_deref() {
        Some("terminal") => {
            let TerminalEntry {} = typed(app, &settings, place)?;
            let terminal = TerminalChannel::new(terminal.cloned());
            (Arc::new(terminal), None, "The terminal of the user who runs this.")
        }
        Some("file") => (Arc::new(file(app, &settings, place)?), None, "A file."),
        Some("webhook") => (Arc::new(webhook(app, &settings, place)?), None, "A server."),
        Some("tool") => {
            let channel = by_tool(app, &settings, place)?;
            let tool = channel.tool().to_owned();
            (Arc::new(channel), Some(tool), "")
        }
        Some(other) => {
            let message = unknown("channel type", other, &KINDS);
            return Err(app.file.error_at(&format!("{place}/type"), message));
        }
        None => {
            let message = format!("the channel needs a `type`, one of: {}", KINDS.join(", "));
            return Err(app.file.error_at(place, message));
        }
    };
    Ok(NamedChannel {
        name: name.to_owned(),
        about: about.unwrap_or_else(|| default.to_owned()),
        tool,
        channel,
    })
}

fn typed<T: DeserializeOwned>(
    app: &AppContext<'_>,
    settings: &Value,
    place: &str,
) -> Result<T, DocumentError> {
    app.file.document.deserialize_value(settings, place).map_err(|error| app.file.readable(error, place))
}

fn file(app: &AppContext<'_>, settings: &Value, place: &str) -> Result<FileChannel, DocumentError> {
    let entry: FileChannelEntry = typed(app, settings, place)?;
    let path = format!("{place}/path");
    let wrong = |message: String| app.file.error_at(&path, message);
    if entry.path.trim().is_empty() {
        return Err(wrong("`path` is empty; name the file that messages are written to".into()));
    }
    if let Some(given) = entry.max_bytes.filter(|given| given.get() < MIN_FILE_BYTES) {
        let message = format!("`max_bytes` is at least {MIN_FILE_BYTES}, not {given}");
        return Err(app.file.error_at(&format!("{place}/max_bytes"), message));
    }
    let workspace = app.file.workspace()?;
    let (root, relative) = below(&app.file.folder, &workspace, &app.file.path(&entry.path)).map_err(wrong)?;
    let channel = FileChannel::new(root, relative);
    Ok(match entry.max_bytes {
        Some(max_bytes) => channel.with_max_bytes(max_bytes.get()),
        None => channel,
    })
}

/// Returns the folder that a path is in, the app's own or the workspace, and the path relative to it.
fn below(folder: &Path, workspace: &Path, path: &Path) -> Result<(Root, std::path::PathBuf), String> {
    for root in [folder, workspace] {
        let Ok(relative) = path.strip_prefix(root) else { continue };
        let root = Root::open(root).map_err(|error| error.to_string())?;
        // It says what is wrong with the path; that there is no file yet is as it should be.
        root.exists(relative).map_err(|error| error.to_string())?;
        return Ok((root, relative.to_owned()));
    }
    Err(format!("`{}` is neither in the folder of the app file nor in its workspace", path.display()))
}

fn webhook(app: &AppContext<'_>, settings: &Value, place: &str) -> Result<WebhookChannel, DocumentError> {
    let entry: WebhookEntry = typed(app, settings, place)?;
    let wrong = |key: &str, message: String| {
        let place = format!("{place}/{key}");
        app.file.readable(app.file.error_at(&place, message), &place)
    };
    let url = Url::parse(&entry.url)
        .map_err(|error| wrong("url", format!("it is no URL: {error}; write `https://…`")))?;
    let access = app.access.clone()?;
    let allow_private = entry.allow_private.unwrap_or_else(|| is_private_url(&entry.url));
    let http = HttpClient::new(WebhookChannel::http_policy(allow_private))
        .map_err(|error| wrong("url", error.to_string()))?
        .with_guard(access.host_guard());
    http.check_url(&url).map_err(|error| wrong("url", error.to_string()))?;
    WebhookChannel::new(http, url, &entry.secret).map_err(|error| wrong("secret", error.to_string()))
}

fn by_tool(app: &AppContext<'_>, settings: &Value, place: &str) -> Result<ToolChannel, DocumentError> {
    let entry: ToolEntry = typed(app, settings, place)?;
    if parts(&entry.tool).is_none_or(|(namespace, name)| namespace.is_empty() || name.is_empty()) {
        let message = format!("`{}` is no name of a tool; write `namespace.name`", entry.tool);
        return Err(app.file.error_at(&format!("{place}/tool"), message));
    }
    ToolChannel::new(entry.tool, entry.params).map_err(|error| match &error {
        Error::UnknownPlaceholder { pointer, .. } => {
            app.file.error_at(&format!("{place}/params{pointer}"), error.to_string())
        }
        other => app.file.error_at(place, other.to_string()),
    })
}

/// Warns of channels that nothing can send by: no agent and no client of the server may call a tool that names one.
fn unreachable(config: &AppConfig, policy: &Policy) -> Option<String> {
    if config.tools.channels.is_empty() {
        return None;
    }
    let senders = senders(config);
    let agents = config.agents.iter().map(|agent| Principal::new("").with_agent(&agent.id));
    let mut callers = agents.chain([Principal::new("")]);
    let can_send = callers.any(|caller| senders.iter().any(|tool| policy.is_visible(tool, caller)));
    (!can_send).then(|| {
        format!(
            "`tools.channels` names channels, and nothing can send by them; add `{{module: {RUNTIME_NAMESPACE}, actions: \
             [{SEND_MESSAGE}]}}` to `tools.capabilities.grant`, or set `execution.scheduler` or `execution.watchers`"
        )
    })
}

/// Returns the tools that take the name of a channel in this app, with the fields that rules check.
fn senders(config: &AppConfig) -> Vec<Tool> {
    let execution = &config.execution;
    let has_module = config.modules.contains_key(SCHEDULER);
    let named = |(name, namespace): (&str, &str)| QualifiedName::new(namespace, name).ok().map(Tool::new);
    let namespaces = |name: &'static str| match name {
        SEND_MESSAGE => vec![RUNTIME_NAMESPACE],
        "watch_start" => execution.watchers.then_some(RUNTIME_NAMESPACE).into_iter().collect(),
        _ => {
            let own = execution.scheduler.then_some(RUNTIME_NAMESPACE);
            own.into_iter().chain(has_module.then_some(SCHEDULER)).collect()
        }
    };
    let all =
        TELLING.into_iter().flat_map(|name| namespaces(name).into_iter().map(move |space| (name, space)));
    let tool = |name| {
        let tool: Tool = named(name)?;
        let is_granted_only = tool.name.name() == SEND_MESSAGE;
        Some(tool.with_metadata("exposed_when_granted", is_granted_only))
    };
    all.filter_map(tool).collect()
}
