//! `tools.apps`: other apps as tools of this one.
//!
//! A called app has a separate runtime: agent, tools, policy and records. It gets nothing from the caller but a prompt and the
//! rest of its budget, and returns nothing but an answer and its cost.

mod approver;
mod run;

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::{OnceCell, Semaphore};
use tokio_util::sync::CancellationToken;
use toolcrib_agent::RunLimits;
use toolcrib_document::Error as DocumentError;
use toolcrib_model::{Risk, Tool, pointer_part};
use toolcrib_policy::Principal;
use toolcrib_port::Approver;
use toolcrib_sdk::{CallContext, FunctionTool};

use self::approver::InApp;
use self::run::{CallApp, CalledReport};
use crate::agent::setup::run_limits;
use crate::config::channels::check_name;
use crate::config::settings::some_amount;
use crate::services::{AppServices, is_own};
use crate::{App, Error, Runtime, RuntimeSection, config::variables};

/// The maximum depth of apps that call apps, without the first one.
pub const MAX_APP_DEPTH: usize = 3;

/// The most apps that an app may call.
pub const MAX_APPS: usize = 16;

/// The number of called apps that run at the same time.
pub const MAX_RUNNING_APPS: usize = 4;

/// The time that running apps have to end when the caller is closed.
const CLOSE_WAIT: Duration = Duration::from_secs(5);

/// The length of an app's description in the tool definition, in characters.
const MAX_ABOUT_CHARS: usize = 300;

/// The bare name of the tool.
const CALL_APP: &str = "call_app";

/// One entry of `tools.apps`: an app that agents can delegate to.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalledAppConfig {
    /// The app file, relative to this one.
    pub path: String,
    /// The purpose of the app, for agents. By default its `app.description`.
    pub description: Option<String>,
    /// The maximum number of turns of one call, within `runtime.max_turns` of both apps.
    pub max_turns: Option<NonZeroU32>,
    /// The maximum number of tokens of one call, within the limits of both apps.
    pub max_tokens: Option<NonZeroU64>,
    /// The maximum cost of one call, within the limits of both apps.
    #[serde(default, deserialize_with = "some_amount")]
    pub max_cost: Option<f64>,
    /// The maximum number of seconds of one call, within the limits of both apps.
    pub max_seconds: Option<NonZeroU32>,
}

/// Reads and checks the apps that an app names, and those that they name. Nothing is started.
pub(crate) fn open(app: &App) -> Result<BTreeMap<String, App>, Vec<DocumentError>> {
    let entries = &app.config.tools.apps;
    let (mut apps, mut errors) = (BTreeMap::new(), Vec::new());
    if entries.len() > MAX_APPS {
        let message = format!("there are {} apps, and at most {MAX_APPS} can be called", entries.len());
        return Err(vec![app.document.error_at("/tools/apps", message)]);
    }
    for (name, entry) in entries {
        match one(app, name, entry) {
            Ok(called) => {
                apps.insert(name.clone(), called);
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(apps) } else { Err(errors) }
}

fn one(app: &App, name: &str, entry: &CalledAppConfig) -> Result<App, DocumentError> {
    let place = format!("/tools/apps/{}", pointer_part(name));
    check_name("an app", name).map_err(|message| app.document.error_at(&place, message))?;
    let place = format!("{place}/path");
    let wrong = |message: String| app.readable(app.document.error_at(&place, message), &place);
    let path = app.path(&variables::expanded(app, &entry.path, &place, true)?);
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut above: Vec<PathBuf> = app.above.to_vec();
    if app.is_in_file() {
        above.push(real(Path::new(&app.file)));
    }
    if above.contains(&real(&path)) {
        return Err(wrong(format!(
            "the app `{name}` is this one, or one that calls it: it would call itself"
        )));
    }
    if app.above.len() >= MAX_APP_DEPTH {
        return Err(wrong(format!(
            "{MAX_APP_DEPTH} apps call one another before this one already, and no more are called"
        )));
    }
    let called = App::open_below(&path, app.extensions.as_ref().clone(), above.into(), app.protected.clone())
        .map_err(|error| wrong(format!("the app `{name}` cannot be called: {}", first_line(&error))))?;
    if called.config.agents.is_empty() {
        return Err(wrong(format!(
            "the app `{name}` cannot be called: it has no agent; add one to its `agents`"
        )));
    }
    Ok(called)
}

fn first_line(error: &Error) -> String {
    let text = error.to_string();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    match lines.count() {
        0 => first.to_owned(),
        more => format!("{first}, and {more} more"),
    }
}

/// Returns an app that may go no further than its own file, its entry and its caller let it. Those that it calls are
/// held to that when it is started. A call from a run is held to what is left of that too, by its budget.
fn capped(mut called: App, entry: Option<&CalledAppConfig>, caller: &RuntimeSection) -> App {
    let (own, outer) = (run_limits(&called.config.runtime), run_limits(caller));
    let cost = |limits: RunLimits| u64_as_amount(limits.max_cost);
    let least =
        |own: u64, outer: u64, entry: Option<u64>| own.min(outer).min(entry.unwrap_or(u64::MAX)).max(1);
    let turns = entry.and_then(|entry| entry.max_turns).map(|turns| turns.get().into());
    let seconds = entry.and_then(|entry| entry.max_seconds).map(|seconds| seconds.get().into());
    let tokens = entry.and_then(|entry| entry.max_tokens).map(NonZeroU64::get);
    let most = entry.and_then(|entry| entry.max_cost).unwrap_or(f64::INFINITY);
    let to_u32 = |value: u64| NonZeroU32::new(u32::try_from(value).unwrap_or(u32::MAX));
    let runtime = &mut called.config.runtime;
    runtime.max_turns = to_u32(least(own.max_turns.into(), outer.max_turns.into(), turns));
    runtime.max_calls = NonZeroU32::new(own.max_calls.min(outer.max_calls).max(1));
    runtime.max_tokens = NonZeroU64::new(least(own.max_tokens, outer.max_tokens, tokens));
    runtime.max_seconds = to_u32(least(own.max_duration.as_secs(), outer.max_duration.as_secs(), seconds));
    runtime.max_cost = Some(cost(own).min(cost(outer)).min(most));
    called
}

/// Millionths as an amount of money.
#[expect(clippy::cast_precision_loss, reason = "exact up to nine thousand million")]
fn u64_as_amount(millionths: u64) -> f64 {
    millionths as f64 / 1e6
}

/// The apps that an app calls, each started by its first call and kept until the end. Clones share them.
#[derive(Clone)]
pub(crate) struct Apps {
    inner: Arc<Inner>,
}

struct Inner {
    apps: BTreeMap<String, Called>,
    approver: Arc<dyn Approver>,
    running: Semaphore,
    closing: CancellationToken,
}

struct Called {
    app: App,
    about: String,
    runtime: OnceCell<Runtime>,
}

/// A future that says no more of itself: the runtime of an app holds those of others.
type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

impl Apps {
    /// Creates the apps of an app that is started, which ask this approver.
    pub(crate) fn new(app: &App, approver: &Arc<dyn Approver>) -> Self {
        let apps = app.called.iter().map(|(name, called)| {
            let entry = app.config.tools.apps.get(name);
            let mut called = capped(called.clone(), entry, &app.config.runtime);
            // These are set by the program that starts the caller.
            called.startup_timeout = app.startup_timeout;
            called.lazy = app.lazy;
            called.search_patience = app.search_patience;
            called.setup = app.setup;
            let about = entry.and_then(|entry| entry.description.clone());
            let about = about.or_else(|| called.config.app.description.clone()).unwrap_or_default();
            let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
            let about = about.chars().take(MAX_ABOUT_CHARS).collect();
            (name.clone(), Called { app: called, about, runtime: OnceCell::new() })
        });
        Self {
            inner: Arc::new(Inner {
                apps: apps.collect(),
                approver: Arc::clone(approver),
                running: Semaphore::new(MAX_RUNNING_APPS),
                closing: CancellationToken::new(),
            }),
        }
    }

    /// Returns the tool that calls apps, where there are any. It is there for agents that a rule grants it.
    pub(crate) fn tools(&self) -> Vec<FunctionTool> {
        if self.inner.apps.is_empty() {
            return Vec::new();
        }
        let apps = self.inner.apps.iter().map(|(name, called)| match called.about.as_str() {
            "" => name.clone(),
            about => format!("{name} ({about})"),
        });
        let description = format!(
            "Give another app a task and wait for its answer. It has its own agent and tools, and sees nothing of this \
             conversation. The apps: {}",
            apps.collect::<Vec<_>>().join("; ")
        );
        let apps = self.clone();
        let tool =
            FunctionTool::new(CALL_APP, description, move |arguments: CallApp, context: CallContext| {
                let apps = apps.clone();
                async move { apps.call(arguments, context).await }
            });
        vec![
            tool.with_risk(Risk::Medium)
                .with_output::<CalledReport>()
                .with_side_effects(["runs another app"])
                .with_aliases(["sub app", "other app", "appeler une application"])
                .with_metadata("operational", true)
                .with_metadata("runs_others", true)
                .with_metadata("exposed_when_granted", true)
                // It bounds its time itself, and may have to wait for an approval.
                .with_metadata("awaits_user", true),
        ]
    }

    /// Ends a session and drops its state.
    pub(crate) fn end_session<'a>(&'a self, session: &'a str) -> Boxed<'a, ()> {
        Box::pin(async move {
            for runtime in self.inner.apps.values().filter_map(|called| called.runtime.get()) {
                runtime.end_session(session).await;
            }
        })
    }

    /// Ends the apps that were started.
    pub(crate) fn close(&self) -> Boxed<'_, ()> {
        Box::pin(async move {
            self.inner.closing.cancel();
            // What has not ended by then ends with its runtime.
            let all = u32::try_from(MAX_RUNNING_APPS).unwrap_or(u32::MAX);
            let _ = tokio::time::timeout(CLOSE_WAIT, self.inner.running.acquire_many(all)).await;
            for runtime in self.inner.apps.values().filter_map(|called| called.runtime.get()) {
                runtime.close().await;
            }
        })
    }
}

impl Called {
    /// Returns the runtime of the app, which is started by the first who asks. Where it cannot be, the next one tries
    /// again.
    fn started<'a>(
        &'a self,
        name: &'a str,
        approver: &'a Arc<dyn Approver>,
    ) -> Boxed<'a, Result<&'a Runtime, Error>> {
        Box::pin(async move {
            let start = || {
                let approver = Arc::new(InApp::new(name, Arc::clone(approver)));
                Runtime::start(self.app.clone(), approver)
            };
            self.runtime.get_or_try_init(start).await
        })
    }
}

impl AppServices {
    /// Says so where apps are named and no agent may call them.
    pub(crate) fn uncalled_apps(&self) -> Option<String> {
        let config = &self.app.config;
        if config.tools.apps.is_empty() || config.agents.is_empty() {
            return None;
        }
        let snapshot = self.snapshot();
        let tools = || snapshot.iter().map(|entry| entry.tool.as_ref());
        let tool: &Tool = tools().find(|tool| is_own(tool, &[CALL_APP]))?;
        let may_call = |id: &str| self.executor.policy().is_visible(tool, Principal::new("").with_agent(id));
        let is_callable = config.agents.iter().any(|agent| may_call(&agent.id));
        (!is_callable).then(|| {
            "`tools.apps` names apps, and no agent may call them; add `{module: context_builder, actions: [call_app]}` to \
             `tools.capabilities.grant`"
                .to_owned()
        })
    }
}
