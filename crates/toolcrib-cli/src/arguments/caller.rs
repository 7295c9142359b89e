//! Options that say for whom calls are made, and where their spans are sent.

use clap::Args;
use toolcrib_policy::Principal;
use toolcrib_port::{CallContext, CallScope};

use crate::exit::Failure;

/// The session of commands that make single calls, or ask what a call would meet.
pub(crate) const SESSION: &str = "cli";

/// Returns the principal of the command line.
pub(crate) fn principal() -> Principal<'static> {
    Principal::new(SESSION)
}

/// The user and the scope of calls, for every command that makes or serves calls.
#[derive(Args, Debug)]
pub(crate) struct Identity {
    /// On whose behalf calls are made, for tools that ask for the user. A client of `serve` that has a token is its own user.
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// More context for tools, such as `tenant=acme`; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    scope: Vec<(String, String)>,
}

/// The caller of the commands that make calls themselves.
#[derive(Args, Debug)]
pub(crate) struct Caller {
    #[command(flatten)]
    identity: Identity,
    /// The thread within the conversation, for tools that ask for it. For a started agent, the thread is its run.
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
}

/// The destination of spans.
#[derive(Args, Debug)]
pub(crate) struct Otlp {
    /// Send spans to a collector that takes OTLP over HTTP, at `http://localhost:4318` unless another is given. Without
    /// the flag they are sent where `OTEL_EXPORTER_OTLP_ENDPOINT` says.
    #[arg(long, value_name = "ENDPOINT", num_args = 0..=1, default_missing_value = "")]
    pub(crate) otlp: Option<String>,
}

impl Identity {
    /// Returns the scope that tools see.
    pub(crate) fn scope(&self) -> Result<CallScope, Failure> {
        let mut pairs = self.scope.iter().cloned();
        let scope = pairs.try_fold(CallScope::default(), |scope, (key, value)| scope.with(key, value));
        scope.map_err(|error| Failure::bad_input(format!("--scope: {error}")))
    }
}

impl Caller {
    /// Returns the context of the calls of a session, which is a conversation.
    pub(crate) fn context(&self, session: &str) -> Result<CallContext, Failure> {
        let mut context =
            CallContext::new(session).with_conversation(session).with_scope(self.identity.scope()?);
        if let Some(user) = &self.identity.user {
            context = context.with_user(user.as_str());
        }
        if let Some(thread) = &self.thread {
            context = context.with_thread(thread.as_str());
        }
        Ok(context)
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE, such as tenant=acme")?;
    // A wrong pair is an error before anything starts.
    CallScope::default().with(key, value).map_err(|error| error.to_string())?;
    Ok((key.to_owned(), value.to_owned()))
}
