//! Tokens that are exchanged for the token of the caller.

use super::super::dpop::Credential;
use super::super::token_exchange::TokenExchange;
use super::{Authorization, RecoveryStep, TriedSteps};
use crate::Error;

impl Authorization {
    /// Returns the token of the caller; `None` without a caller.
    pub(super) async fn exchanged(&self, exchange: &TokenExchange) -> Result<Option<Credential>, Error> {
        let settings = &self.inner.context.settings;
        let Some((user, subject)) = settings.user.as_deref().zip(settings.subject.as_deref()) else {
            return Ok(None);
        };
        let token = exchange.token(user, subject).await?.token;
        settings.register_secret(&token);
        Ok(Some(Credential { token, key: None }))
    }

    /// Returns another token of the caller, in place of the one that the server rejected.
    pub(super) async fn exchanged_again(
        &self,
        exchange: &TokenExchange,
        sent: Option<&Credential>,
        tried: &mut TriedSteps,
    ) -> Result<Credential, Error> {
        let context = &self.inner.context;
        let caller = context.settings.user.as_deref().zip(context.settings.subject.as_deref());
        let Some(((user, subject), sent)) = caller.zip(sent) else {
            let problem =
                "it requires a token of a caller, and this request has none; list its tools with `headers`";
            return Err(Error::at_url(&context.server, problem));
        };
        if !tried.begin(RecoveryStep::Authorize) {
            let problem = "it refuses the token that was just issued for it";
            return Err(Error::at_url(&context.server, problem));
        }
        exchange.discard(user, subject, &sent.token).await;
        let other = self.exchanged(exchange).await?;
        other.ok_or_else(|| Error::at_url(&context.server, "there is no token of the caller"))
    }
}
