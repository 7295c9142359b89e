//! What tools are told of the caller.

use clap::Args;
use toolcrib_port::{CallContext, CallScope};

use crate::exit::Failure;

#[derive(Args, Debug)]
pub(crate) struct Caller {
    /// On whose behalf calls are made, for tools that ask for the user. A client of `serve` that has a token is its own user.
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// What else tools are told of the caller, such as `tenant=acme`; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    scope: Vec<(String, String)>,
}

impl Caller {
    /// Returns what else tools are told.
    pub(crate) fn scope(&self) -> Result<CallScope, Failure> {
        let mut pairs = self.scope.iter().cloned();
        let scope = pairs.try_fold(CallScope::default(), |scope, (key, value)| scope.with(key, value));
        scope.map_err(|error| Failure::bad_input(format!("--scope: {error}")))
    }

    /// Returns the context of the calls of a session, which is a conversation.
    pub(crate) fn context(&self, session: &str) -> Result<CallContext, Failure> {
        let context = CallContext::new(session).with_conversation(session).with_scope(self.scope()?);
        Ok(match &self.user {
            Some(user) => context.with_user(user.as_str()),
            None => context,
        })
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE, such as tenant=acme")?;
    // What is wrong with it is found before anything starts.
    CallScope::default().with(key, value).map_err(|error| error.to_string())?;
    Ok((key.to_owned(), value.to_owned()))
}
