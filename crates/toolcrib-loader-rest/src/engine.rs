//! The engine, which sends the calls of the loaded tools.

use std::sync::Arc;

use async_trait::async_trait;
use http::{HeaderName, HeaderValue, StatusCode};
use toolcrib_io::Error as IoError;
use toolcrib_io::http::{Request, Response};
use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_oauth::client::LoginOwner;
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};
use toolcrib_sdk::{LoginPrompt, user_of_call};
use url::Url;

use crate::Error;
use crate::auth::{Caller, SentCredentials};
use crate::client::MAX_REDIRECTS;
use crate::loader::SharedState;
use crate::operation::Operation;
use crate::{request, response};

/// The engine of the tools of an OpenAPI document, created by [`RestSource::open`](crate::RestSource::open).
///
/// A JSON response becomes the result as it is, a text becomes a string, and other content becomes `{mimeType, bytes,
/// blob}` with base64, which the executor stores as a handle. A status other than 2xx is a failure of the tool, with
/// the beginning of the body. `metadata` has `status`, `content_type`, `elapsed_ms` and some of the `headers`, and
/// `retry_after_ms` if the server names a delay.
#[derive(Clone)]
pub struct RestEngine {
    pub(crate) shared: Arc<SharedState>,
}

#[async_trait]
impl ToolEngine for RestEngine {
    async fn check(&self, call: &Call, _context: &CallContext) -> Result<(), ToolError> {
        let operation = self.shared.operations.load().get(call.tool.name.name()).cloned();
        match operation.as_ref().map(|operation| &operation.server) {
            Some(Ok(server)) if self.shared.clients.refuses(server) => {
                let source = &self.shared.source.name;
                let message =
                    format!("the document names the private address {server}, and the app does not");
                let hint = format!(
                    "the operator sets `base_url` or `allow_private: true` for `{source}` if this is meant"
                );
                Err(ToolError::new(ErrorKind::Denied, message).with_hint(hint))
            }
            _ => Ok(()),
        }
    }

    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        let operation = self.shared.operations.load().get(call.tool.name.name()).cloned();
        let Some(operation) = operation.filter(|operation| operation.fingerprint == call.fingerprint) else {
            let message =
                format!("`{}` has changed in the document since this call was made", call.tool.name.dotted());
            let error = ToolError::new(ErrorKind::ToolChanged, message);
            return call.failed(error.with_hint("look the tool up again"));
        };
        let request = match self.prepare(&operation, call, context).await {
            Ok(request) => keyed(request, context),
            Err(error) => return call.failed(error.tool_error()),
        };
        let asked = format!("{} {}", request.method, request.url.path());
        let mut sent = self.send(&operation, request.clone(), context).await;
        // Without a login, nothing was sent, or the server has not processed it.
        if let Err(Failure::Early(Error::NeedsLogin { .. })) = &sent
            && self.log_in(context).await
        {
            sent = self.send(&operation, request, context).await;
        }
        match sent {
            Ok((response, sent)) => response::result(call, &operation.method, &asked, &response, &sent),
            Err(Failure::Early(error)) => call.failed(error.tool_error()),
            Err(Failure::Sending(error)) => call.failed(self.failure(&operation, &error)),
        }
    }
}

/// The header that identifies retries of one request, as in `draft-ietf-httpapi-idempotency-key-header`.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Adds an idempotency key to a request that changes something, if the call belongs to a task run. A key among the
/// arguments takes precedence.
fn keyed(mut request: Request, context: &CallContext) -> Request {
    let key = context.run_key.as_deref().and_then(|key| HeaderValue::try_from(format!("\"{key}\"")).ok());
    if let Some(key) =
        key.filter(|_| !request.method.is_safe() && !request.headers.contains_key(IDEMPOTENCY_KEY))
    {
        request.headers.insert(IDEMPOTENCY_KEY, key);
    }
    request
}

/// The reason why there is no response.
enum Failure {
    /// Nothing was sent.
    Early(Error),
    Sending(IoError),
}

impl RestEngine {
    async fn prepare(
        &self,
        operation: &Arc<Operation>,
        call: &Call,
        context: &CallContext,
    ) -> Result<Request, Error> {
        let shared = &self.shared;
        let access = context.narrow(&shared.source.access);
        if !request::reads_files(operation) {
            return request::prepare(operation, &call.arguments, &shared.headers, &mut shared.files(&access));
        }
        let (shared, operation, arguments) =
            (Arc::clone(shared), Arc::clone(operation), call.arguments.clone());
        tokio::task::spawn_blocking(move || {
            request::prepare(&operation, &arguments, &shared.headers, &mut shared.files(&access))
        })
        .await
        .unwrap_or_else(|error| Err(Error::malformed(format!("preparing the request failed: {error}"))))
    }

    /// Sends a request with its credentials. If the server rejects an obtained token, a new one is requested once: a
    /// call that was answered with 401 had no effect.
    async fn send(
        &self,
        operation: &Operation,
        request: Request,
        context: &CallContext,
    ) -> Result<(Response, SentCredentials), Failure> {
        let first = self.attempt(operation, request.clone(), context).await?;
        if first.0.status == StatusCode::UNAUTHORIZED
            && self.shared.auth.discard(&first.1, &self.caller(context)).await
        {
            return self.attempt(operation, request, context).await;
        }
        Ok(first)
    }

    /// Offers the user of a call a link to log in by. Returns true if the user has logged in.
    async fn log_in(&self, context: &CallContext) -> bool {
        let source = &self.shared.source;
        let links = source.login_links.as_ref().filter(|links| links.is_served());
        let logins = self.shared.auth.logins().filter(|logins| logins.is_per_user());
        let Some(((links, logins), user)) = links.zip(logins).zip(context.user.as_deref()) else {
            return false;
        };
        let Ok(authorization) = logins.open(Some(user)) else { return false };
        let namespace = source.namespace.as_str();
        let owner = LoginOwner { namespace: namespace.to_owned(), user: user.to_owned() };
        let prompt = &LoginPrompt::new(context, namespace, user);
        let show = move |link: Url| async move { prompt.show(link.as_str()).await };
        let _waiting = context.phase.wait_for_person();
        let outcome = links.log_in(&authorization, owner, show).await;
        prompt.ended().await;
        match outcome {
            Ok(summary) => summary.is_some(),
            Err(error) => {
                tracing::warn!(%error, namespace, "a user could not log in by a link");
                false
            }
        }
    }

    fn caller<'a>(&'a self, context: &'a CallContext) -> Caller<'a> {
        Caller { context, namespace: &self.shared.source.namespace }
    }

    /// Writes the credentials of the source and of the caller into a request.
    async fn authorize(
        &self,
        operation: &Operation,
        request: &mut Request,
        context: &CallContext,
    ) -> Result<SentCredentials, Error> {
        let caller = self.caller(context);
        let mut sent = self.shared.auth.write(&operation.credentials, request, &caller).await?;
        let user_headers = &self.shared.source.user_headers;
        if !user_headers.is_empty() {
            let user = user_of_call(context, caller.namespace).map_err(Error::caller)?;
            let headers = user_headers.for_user(user).await.map_err(Error::caller)?;
            sent.add_user_headers(headers, request)?;
        }
        Ok(sent)
    }

    async fn attempt(
        &self,
        operation: &Operation,
        mut request: Request,
        context: &CallContext,
    ) -> Result<(Response, SentCredentials), Failure> {
        if operation.method.is_safe() {
            request.max_redirects = MAX_REDIRECTS;
        }
        let client = self.shared.clients.to(&request.url).clone().with_guard(context.access.host_guard());
        // Checked first, so that no token is requested for a request that cannot be sent.
        client.check_url(&request.url).map_err(Failure::Sending)?;
        let mut sent = self.authorize(operation, &mut request, context).await.map_err(Failure::Early)?;
        let response = sent.send(&client, request).await.map_err(Failure::Early)?;
        let response = response.map_err(Failure::Sending)?;
        Ok((sent.without_echoes(response), sent))
    }

    /// Returns the error of a call without a response. If the call may have arrived and cannot be repeated safely, the
    /// hint says so.
    fn failure(&self, operation: &Operation, error: &IoError) -> ToolError {
        let source = self.shared.name();
        let (kind, hint) = match error {
            IoError::ConnectFailed { .. } => (
                ErrorKind::Unavailable,
                format!("check that the server of `{source}` is up, or set its `base_url`"),
            ),
            IoError::RequestFailed { .. } | IoError::RequestTimedOut { .. } if !operation.idempotent => (
                ErrorKind::OutcomeUnknown,
                "find out whether the call took effect before repeating it".into(),
            ),
            IoError::RequestFailed { .. } => (ErrorKind::Unavailable, "the call can be repeated".into()),
            IoError::RequestTimedOut { .. } => (ErrorKind::Timeout, "the call can be repeated".into()),
            IoError::AddressRefused { .. } => (
                ErrorKind::Denied,
                format!("the operator sets `allow_private: true` for `{source}` if this is meant"),
            ),
            IoError::HostNotAllowed { .. } => {
                (ErrorKind::Denied, "the operator adds the host to `access.network` if this is meant".into())
            }
            IoError::RootCertificatesMissing { .. } | IoError::InvalidUrl { .. } => {
                let hint = format!("the operator repairs the machine or the `base_url` of `{source}`");
                return ToolError::new(ErrorKind::Unavailable, error.to_string())
                    .with_hint(hint)
                    .with_retryable(false);
            }
            _ => return ToolError::new(ErrorKind::Internal, error.to_string()),
        };
        ToolError::new(kind, error.to_string()).with_hint(hint)
    }
}
