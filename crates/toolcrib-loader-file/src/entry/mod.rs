//! The loaders and engines that Toolcrib comes with.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use toolcrib_io::http::names_private_address;
use toolcrib_loader_file::{
    CommandEngine, CommandSettings, FileLoader, InlineLoader, MockEngine, MockSettings,
};
use toolcrib_policy::Access;
use toolcrib_port::ToolEngine;
use url::Url;

use super::{Source, exec, mcp, rest};
use crate::entry::EntryContext;
use crate::extensions::Extensions;

/// Adds them under their names.
pub(crate) fn register(extensions: Extensions) -> Extensions {
    extensions
        .with_loader("exec", exec::open)
        .with_loader("file", file)
        .with_loader("inline", inline)
        .with_loader("mcp", mcp::open)
        .with_loader("rest", rest::open)
        .with_engine("command", command)
        .with_engine("mock", |settings: MockSettings, _: &EntryContext<'_>| {
            Ok(Arc::new(MockEngine::new(settings)) as Arc<dyn ToolEngine>)
        })
}

/// A time that an app file sets: from 1 to [`MAX_SECONDS`] seconds.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct Seconds(f64);

/// The longest time that an app file can set.
const MAX_SECONDS: f64 = 120.0;

impl TryFrom<f64> for Seconds {
    type Error = String;

    fn try_from(seconds: f64) -> Result<Self, String> {
        if (1.0..=MAX_SECONDS).contains(&seconds) {
            Ok(Self(seconds))
        } else {
            Err(format!("a time has to be from 1 to {MAX_SECONDS} seconds, not {seconds}"))
        }
    }
}

impl Seconds {
    pub(super) fn duration(self) -> Duration {
        Duration::from_secs_f64(self.0)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileEntry {
    path: String,
    namespace: Option<String>,
    /// True to load a saved file again.
    #[serde(default)]
    watch: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InlineEntry {
    namespace: String,
    /// Read where they stand, so that what is wrong with one is said at its place.
    #[serde(rename = "tools")]
    _tools: Value,
}

#[expect(clippy::unnecessary_wraps, reason = "loaders may refuse their settings")]
fn file(entry: FileEntry, place: &EntryContext<'_>) -> Result<Source, String> {
    let path = place.path(&entry.path);
    let watched = entry.watch.then(|| path.clone()).into_iter().collect();
    let mut loader = FileLoader::new(path);
    if let Some(namespace) = entry.namespace {
        loader = loader.with_source(format!("file {} as {namespace}", entry.path)).with_namespace(namespace);
    }
    Ok(Source { watched, ..Source::new(Arc::new(loader)).local() })
}

#[expect(clippy::unnecessary_wraps, reason = "loaders may refuse their settings")]
fn inline(InlineEntry { namespace, .. }: InlineEntry, place: &EntryContext<'_>) -> Result<Source, String> {
    let tools = format!("{}/tools", place.pointer());
    let loader = InlineLoader::new(place.document(), &tools, &namespace, place.file());
    Ok(Source::new(Arc::new(loader)).local())
}

fn command(mut settings: CommandSettings, place: &EntryContext<'_>) -> Result<Arc<dyn ToolEngine>, String> {
    let cwd = settings.cwd.take().map_or_else(|| place.folder().to_owned(), |cwd| place.folder().join(cwd));
    settings.cwd = Some(cwd);
    let access = place.access()?;
    let engine = CommandEngine::new(settings).map_err(|error| error.to_string())?;
    engine.programs().try_for_each(|program| may_start(&access, program))?;
    Ok(Arc::new(engine.with_access(access)))
}

/// Refuses a program that `access` does not name.
pub(super) fn may_start(access: &Access, program: &str) -> Result<(), String> {
    if access.allows_program(program) {
        return Ok(());
    }
    Err(format!("`{program}` may not be started; add it to `tools.capabilities.access.system`"))
}

/// Refuses a host that `access` does not name. What is no URL is told of elsewhere.
pub(super) fn may_reach(access: &Access, url: &str) -> Result<(), String> {
    let Ok(url) = Url::parse(url) else { return Ok(()) };
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return Ok(()) };
    if access.allows_host(host, port) {
        return Ok(());
    }
    Err(format!("`{host}:{port}` may not be reached; add it to `tools.capabilities.access.network`"))
}

/// Returns true if the URL of the operator names a private address, which permits it.
pub(crate) fn is_private(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| names_private_address(&url))
}
