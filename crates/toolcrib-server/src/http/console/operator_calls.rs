//! Calls that the operator makes on the console, and dry runs.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::response::Response;
use http::{Request, StatusCode};
use toolcrib_app::sections::serve::{LOCAL_CLIENT, sessions_of};
use toolcrib_exec::DryRun;
use toolcrib_model::{ErrorKind, ToolCall};
use toolcrib_policy::OPERATOR;
use toolcrib_port::CallContext;
use toolcrib_registry::Overloads;

use super::super::browser::{PageRejection, html, see};
use super::{ConsoleRequest, foreign_form, not_answering};
use crate::console::{
    ConsoleView, Fields, MAX_FORM_BYTES, MAX_REPLY_BYTES, Page, REPLAY_FORM, SchemaForm, page, trial_of,
};
use crate::http::reply;
use crate::http::state::HttpState;

/// The end of the name of the session in which the operator makes calls.
const SESSION: &str = "console";

/// Calls a tool with the arguments of a form. The call passes the gate, and may wait for an approval, so that the
/// response does not wait for it.
pub(in crate::http) async fn call_tool(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    let console_request = state.console_request(&request, address)?;
    let console_request = console_request.of_operator(request.headers()).await?;
    let fields = console_request.form(request, MAX_REPLY_BYTES).await?;
    let (tool, fingerprint) =
        (fields.get("tool").unwrap_or_default(), fields.get("fingerprint").unwrap_or_default());
    if !console_request.is_sealed(&trial_of(tool, fingerprint), &fields).await {
        return Err(foreign_form().into());
    }
    let snapshot = console_request.lease.runtime.snapshot();
    let overloads = snapshot.find(tool, |entry| entry.fingerprint.to_string() == fingerprint).ok();
    let Some(entry) = overloads.as_ref().and_then(Overloads::first) else {
        let text = "the tool is not as it was when the form was loaded; load it again";
        return Ok(reply::plain(StatusCode::CONFLICT, text));
    };
    let arguments = match SchemaForm::new(&entry.tool.parameters).arguments(&fields) {
        Ok(arguments) => arguments,
        Err(problem) => {
            let text = format!("the form was not accepted: {problem}; go back and change it");
            return Ok(reply::plain(StatusCode::BAD_REQUEST, &text));
        }
    };
    let Some(number) = console_request.console.trials.start(entry.tool.name.dotted()) else {
        let text = "too many calls of the console run or wait; answer or await one of them";
        return Ok(reply::plain(StatusCode::TOO_MANY_REQUESTS, text));
    };
    let call = ToolCall::new(tool, arguments);
    let cancel = state.shared.closing.child_token();
    let context =
        CallContext::new(sessions_of(LOCAL_CLIENT) + SESSION).with_user(OPERATOR).with_cancel(cancel);
    let (lease, state) = (console_request.lease.clone(), Arc::clone(&state));
    tokio::spawn(async move {
        let tool = call.name.clone();
        let runtime = &lease.runtime;
        let mut result = runtime.executor().call(call, &context).await;
        if let Some(error) = &mut result.error
            && matches!(error.kind, ErrorKind::Denied | ErrorKind::UnknownTool)
            && let Some(hint) = runtime.app().enable_hint(&tool, runtime.overrides())
        {
            error.hint = Some(hint);
        }
        if let Some(console) = &state.console {
            console.inner.trials.end(number, &result);
        }
    });
    Ok(see(&format!("{}?id={number}", Page::Trial.path()), None))
}

/// Shows what would become of a call with these arguments, without making it.
pub(in crate::http) async fn replay(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Result<Response, PageRejection> {
    let console_request = state.console_request(&request, address)?;
    let viewer = console_request.viewer(request.headers()).await;
    let Some(viewer) = viewer.filter(|viewer| viewer.approver().is_some()) else {
        return Err(not_answering());
    };
    let fields = console_request.form(request, MAX_FORM_BYTES).await?;
    if !console_request.is_sealed(REPLAY_FORM, &fields).await {
        return Err(foreign_form().into());
    }
    let dry_run = dry_run(&console_request, &fields);
    let view = ConsoleView {
        runtime: &console_request.lease.runtime,
        console: console_request.console,
        viewer: &viewer,
        fields: &fields,
        told: None,
        dry_run: Some(dry_run),
    };
    Ok(html(StatusCode::OK, page(&view, Page::Call).await))
}

fn dry_run(request: &ConsoleRequest<'_>, fields: &Fields) -> Result<DryRun, String> {
    let number = fields.get("id").and_then(|id| id.parse().ok()).unwrap_or_default();
    let call = request.console.history.get(number).ok_or("the call is no longer remembered")?;
    let arguments = serde_json::from_str(fields.get("arguments").unwrap_or_default())
        .map_err(|error| format!("The arguments: expected one JSON object, {error}."))?;
    let mut context = CallContext::new(call.session());
    if let Some(agent) = call.agent() {
        context = context.with_agent(agent);
    }
    // A shaped tool may take a value from the user.
    if let Some(user) = call.user() {
        context = context.with_user(user);
    }
    Ok(request.lease.runtime.executor().dry_run(ToolCall::new(call.tool(), arguments), &context))
}
