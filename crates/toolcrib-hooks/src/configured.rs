//! A hook that settings describe.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use toolcrib_exec::limits::MAX_HOOK_WAIT;
use toolcrib_exec::{Hook, HookVerdict, ResultVerdict};
use toolcrib_io::http::{HttpClient, HttpPolicy, WebhookKey, is_private_url};
use toolcrib_io::process::{Command, find_program};
use toolcrib_model::{ErrorKind, Tool, ToolError, ToolResult};
use toolcrib_policy::Call;
use toolcrib_port::CallContext;
use url::Url;

use crate::error::Failure;
use crate::message::Message;
use crate::selection::Selection;
use crate::settings::{DEFAULT_TIMEOUT_SECONDS, FailurePolicy, HookPhase};
use crate::webhook::Webhook;
use crate::{HookSettings, SettingError, answer, cycle, program};

/// The maximum size of the message to a hook, in bytes. A larger one is a failure of the hook.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// The maximum size of the answer of a hook, in bytes.
pub const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// The maximum number of concurrent runs of one hook. Others wait, within their time limit.
pub(crate) const MAX_CONCURRENT_RUNS: usize = 16;

/// The maximum length of the name of a hook.
const MAX_NAME_CHARS: usize = 64;

/// The app that hooks belong to.
#[derive(Clone, Debug)]
pub struct HookHost {
    /// The app, by which its hooks differ from those of another one: the path of its file.
    pub app: String,
    /// The working directory of programs.
    pub folder: PathBuf,
}

/// A hook that an app file configures: a program or a webhook.
#[derive(Debug)]
pub struct ConfiguredHook {
    name: String,
    id: String,
    phase: HookPhase,
    selection: Selection,
    target: Target,
    timeout: Duration,
    on_failure: FailurePolicy,
    runs: Semaphore,
}

#[derive(Debug)]
enum Target {
    Program(Command),
    Webhook(Box<Webhook>),
}

impl ConfiguredHook {
    /// Creates a hook. Nothing is started, and nothing is sent.
    ///
    /// # Errors
    ///
    /// Returns the first setting that cannot be used, such as a program that is not installed.
    pub fn new(settings: &HookSettings, host: &HookHost) -> Result<Self, SettingError> {
        let name = settings.name.clone();
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        if name.is_empty() || name.len() > MAX_NAME_CHARS || !is_plain {
            let message =
                format!("`{name}` is not a name: letters, digits, `-` and `_`, {MAX_NAME_CHARS} at most");
            return Err(SettingError::new("/name", message));
        }
        let seconds = settings.timeout_seconds.map_or(DEFAULT_TIMEOUT_SECONDS, std::num::NonZeroU32::get);
        let timeout = Duration::from_secs(seconds.into());
        if timeout > MAX_HOOK_WAIT {
            let most = MAX_HOOK_WAIT.as_secs();
            let message = format!("`timeout_seconds` is at most {most}, not {seconds}");
            return Err(SettingError::new("/timeout_seconds", message));
        }
        Ok(Self {
            id: cycle::id(&host.app, &name),
            name,
            phase: settings.when,
            selection: Selection::new(&settings.tools, settings.min_risk_level)?,
            target: target(settings, host, timeout)?,
            timeout,
            on_failure: settings.on_failure,
            runs: Semaphore::new(MAX_CONCURRENT_RUNS),
        })
    }

    /// Sends a message to the hook and returns the bytes of its answer.
    async fn ask(&self, message: Message<'_>, chain: String) -> Result<Vec<u8>, Failure> {
        let message = serde_json::to_vec(&message).map_err(|error| error.to_string())?;
        if message.len() > MAX_MESSAGE_BYTES {
            return Err(format!("the call and its result are larger than {MAX_MESSAGE_BYTES} bytes").into());
        }
        let asked = async {
            // The semaphore is never closed.
            let _run = self.runs.acquire().await.map_err(|error| error.to_string())?;
            match &self.target {
                Target::Program(command) => program::ask(command, message, chain).await,
                Target::Webhook(webhook) => webhook.ask(message, &chain).await,
            }
        };
        let late = |_| Err(format!("it did not answer within {} s", self.timeout.as_secs()).into());
        timeout(self.timeout, asked).await.unwrap_or_else(late)
    }

    /// Returns the error of a hook that failed. What a hook on results returned may be what it keeps from a model, so only
    /// the operator's log has it.
    fn failed(&self, call: &Call, failure: &Failure) -> ToolError {
        let (name, tool) = (&self.name, call.tool.name.shown());
        let shown = match self.phase {
            HookPhase::Before => failure.full(),
            HookPhase::After => {
                tracing::warn!(hook = %name, tool = %tool, failure = %failure.full(), "a hook returned no verdict");
                failure.reason.clone()
            }
        };
        ToolError::new(ErrorKind::Internal, format!("the hook `{name}` failed on `{tool}`: {shown}"))
            .with_hint("it did not run; tell the user that the operator has to look at the hook")
    }
}

#[async_trait]
impl Hook for ConfiguredHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn applies_to(&self, tool: &Tool) -> bool {
        // The calls that a tool of the runtime forwards pass the hooks themselves.
        tool.forwarding().is_none() && self.selection.fits(tool)
    }

    fn fails_open(&self) -> bool {
        self.on_failure == FailurePolicy::Open
    }

    async fn before(&self, call: &Call, context: &CallContext) -> Result<HookVerdict, ToolError> {
        if self.phase != HookPhase::Before {
            return Ok(HookVerdict::Allow);
        }
        // A cycle is refused, not a failure: `on_failure: open` would let the call past the hook.
        let chain = match cycle::below(&self.id, context) {
            Ok(chain) => chain,
            Err(reason) => return Ok(HookVerdict::Deny { reason }),
        };
        let answer = self.ask(Message::new(&self.name, call, None, context), chain).await;
        let verdict = answer.and_then(|answer| answer::call_verdict(&answer));
        verdict.map_err(|failure| self.failed(call, &failure))
    }

    async fn after(
        &self,
        call: &Call,
        result: &ToolResult,
        context: &CallContext,
    ) -> Result<ResultVerdict, ToolError> {
        if self.phase != HookPhase::After {
            return Ok(ResultVerdict::Keep { note: None });
        }
        let chain = match cycle::below(&self.id, context) {
            Ok(chain) => chain,
            Err(reason) => return Ok(ResultVerdict::Block { reason }),
        };
        let answer = self.ask(Message::new(&self.name, call, Some(result), context), chain).await;
        let verdict = answer.and_then(|answer| answer::result_verdict(&answer, result));
        verdict.map_err(|failure| self.failed(call, &failure))
    }
}

fn target(settings: &HookSettings, host: &HookHost, timeout: Duration) -> Result<Target, SettingError> {
    match (&settings.url, settings.run.is_empty()) {
        (None, false) => {
            let of_webhook = [
                ("headers", !settings.headers.is_empty()),
                ("secret", settings.secret.is_some()),
                ("allow_private", settings.allow_private.is_some()),
            ];
            foreign(of_webhook, "run", "url")?;
            let mut command = Command::new(&settings.run).with_cwd(&host.folder);
            command.env.clone_from(&settings.env);
            find_program(&command).map_err(|error| SettingError::new("/run", error.to_string()))?;
            Ok(Target::Program(command))
        }
        (Some(url), true) => {
            foreign([("env", !settings.env.is_empty())], "url", "run")?;
            webhook(settings, url, timeout).map(|webhook| Target::Webhook(Box::new(webhook)))
        }
        (Some(_), false) => Err(SettingError::new("/url", "a hook has either `run` or `url`, not both")),
        (None, true) => {
            let message = "the hook needs `run: [program, …]` or `url: https://…`";
            Err(SettingError::new("", message))
        }
    }
}

/// Refuses settings that a hook with `given` does not read.
fn foreign<const N: usize>(keys: [(&str, bool); N], given: &str, other: &str) -> Result<(), SettingError> {
    match keys.into_iter().find(|(_, is_set)| *is_set) {
        Some((key, _)) => {
            let message = format!("`{key}` belongs to a hook with `{other}`, and this one has `{given}`");
            Err(SettingError::new(format!("/{key}"), message))
        }
        None => Ok(()),
    }
}

fn webhook(settings: &HookSettings, url: &str, timeout: Duration) -> Result<Webhook, SettingError> {
    let wrong = |key: &str, message: String| SettingError::new(format!("/{key}"), message);
    let parsed =
        Url::parse(url).map_err(|error| wrong("url", format!("it is no URL: {error}; write `https://…`")))?;
    let policy = HttpPolicy {
        allow_private: settings.allow_private.unwrap_or_else(|| is_private_url(url)),
        timeout,
        max_response_bytes: MAX_ANSWER_BYTES,
        max_redirects: 0,
    };
    let http = HttpClient::new(policy).map_err(|error| wrong("url", error.to_string()))?;
    http.check_url(&parsed).map_err(|error| wrong("url", error.to_string()))?;
    let mut headers = HeaderMap::new();
    for (name, value) in &settings.headers {
        let place = format!("headers/{}", toolcrib_model::text::pointer_part(name));
        let parsed = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
        let Some((name, mut value)) = parsed else {
            return Err(wrong(&place, format!("`{name}` and its value are no header of a request")));
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let key = settings.secret.as_deref().map(WebhookKey::new).transpose();
    let key = key.map_err(|error| wrong("secret", error.to_string()))?;
    Ok(Webhook { http, url: parsed, headers, key })
}
