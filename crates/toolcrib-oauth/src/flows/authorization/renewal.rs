//! The renewal of tokens, by one caller for all that wait.

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use super::super::dpop::Credential;
use super::super::token_request::TokenRequestError;
use super::super::{flow, grant};
use super::{Authorization, FAILURE_PAUSE, Inner, TokenState};
use crate::Error;

impl Authorization {
    /// Renews the token, even if its caller is cancelled: issuers accept a refresh token once, so their response must
    /// not get lost. Returns `None` if there is no refresh token, or it is no longer valid.
    pub(super) async fn renew(
        &self,
        state: OwnedMutexGuard<TokenState>,
    ) -> Result<Option<Credential>, Error> {
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move { inner.renew(state).await }).await.unwrap_or_else(|_| {
            let problem = "the renewal of its token was cut off";
            Err(Error::at_url(&self.inner.context.server, problem).transient(true))
        })
    }
}

impl Inner {
    async fn renew(&self, mut state: OwnedMutexGuard<TokenState>) -> Result<Option<Credential>, Error> {
        if let Some((at, error)) = &state.failure
            && at.elapsed() < FAILURE_PAUSE
        {
            return Err(error.clone());
        }
        let settings = &self.context.settings;
        let _renewal_lock = settings.store.lock_for_renewal(&self.key).await?;
        let before = state.tokens().map(|tokens| tokens.access.clone());
        state.record = self.load().await?;
        let Some(mut record) = state.record.clone() else { return Ok(None) };
        let Some(tokens) = &record.tokens else { return Ok(None) };
        if Some(&tokens.access) != before.as_ref() && !tokens.should_be_renewed() {
            // Another process has renewed the token.
            return Ok(record.credential());
        }
        let fields = match &tokens.refresh {
            _ if !settings.grant.needs_user() => {
                grant::fields(&self.context, &record.resource, &record.issuer, &record.requested).await
            }
            Some(token) => Ok(vec![
                ("grant_type", "refresh_token".to_owned()),
                ("refresh_token", token.expose().to_owned()),
            ]),
            None => return Ok(None),
        };
        let renewed = match fields {
            Ok(fields) => flow::renew(&self.context, &record, fields).await,
            Err(error) => Err(error),
        };
        match renewed {
            Ok(renewed) => {
                let token = renewed.credential();
                self.store_record(&mut state, renewed).await?;
                Ok(token)
            }
            Err(TokenRequestError::Rejected(error)) => {
                tracing::debug!(%error, "a token can no longer be renewed");
                if let Some(tokens) = &mut record.tokens {
                    tokens.refresh = None;
                }
                self.store_record(&mut state, record).await?;
                Ok(None)
            }
            Err(TokenRequestError::Failed(error)) => {
                state.failure = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }
}
