//! The engine: it sends the calls of the tools that were loaded.

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_io::Error as IoError;
use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};

use crate::loader::Shared;
use crate::operation::Operation;
use crate::{request, response};

/// Sends the calls of the tools of an OpenAPI document. Made by [`RestSource::open`](crate::RestSource::open).
///
/// JSON answers become the result as they are, texts a text, and of anything else only type and size are told. A
/// status other than 2xx is a failure of the tool, with the beginning of the body. `metadata` has `status`,
/// `content_type` and `elapsed_ms`.
#[derive(Clone)]
pub struct RestEngine {
    pub(crate) shared: Arc<Shared>,
}

#[async_trait]
impl ToolEngine for RestEngine {
    async fn invoke(&self, call: &Authorized<Call>, _context: &CallContext) -> ToolResult {
        let operation = self.shared.operations.load().get(call.tool.name.name()).cloned();
        let Some(operation) = operation.filter(|operation| operation.fingerprint == call.fingerprint) else {
            let message = format!(
                "`{}` is not as it was in the document when this call was made",
                call.tool.name.dotted()
            );
            let error = ToolError::new(ErrorKind::ToolChanged, message);
            return call.failed(error.with_hint("look the tool up again"));
        };
        let request = match request::prepare(&operation, &call.arguments, &self.shared.headers) {
            Ok(request) => request,
            Err(error) => return call.failed(error.tool_error()),
        };
        let shown = format!("{} {}", request.method, request.url.path());
        let client = self.shared.client(&request.url, &operation.method);
        match client.send(request).await {
            Ok(response) => response::result(call, &operation.method, &shown, &response),
            Err(error) => call.failed(self.failure(&operation, &error)),
        }
    }
}

impl RestEngine {
    /// A call that has no answer. When it may have arrived and is not harmless to repeat, that is what is said.
    fn failure(&self, operation: &Operation, error: &IoError) -> ToolError {
        let source = self.shared.name();
        let (kind, hint) = match error {
            IoError::ConnectFailed { .. } => (
                ErrorKind::Unavailable,
                format!("check that the server of `{source}` is up, or set its `base_url`"),
            ),
            IoError::RequestFailed { .. } | IoError::RequestTimedOut { .. }
                if !operation.method.is_idempotent() =>
            {
                (
                    ErrorKind::OutcomeUnknown,
                    "find out whether the call took effect before repeating it".into(),
                )
            }
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
