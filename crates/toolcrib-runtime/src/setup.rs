//! `modules.<id>.setup`: calls of a module by the operator before agents use it.
//!
//! The executor resolves, validates, limits and records these calls like any other. The operator wrote them, so they need no
//! approval, and constraints that keep an action from agents do not apply. Rules under `tools.capabilities.deny` and `access`
//! apply.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolcrib_app::Blueprint;
use toolcrib_app::sections::setup::{Setup, SetupCall};
use toolcrib_exec::audit::Audit;
use toolcrib_exec::{DenyAll, Executor};
use toolcrib_model::{ErrorKind, ToolCall, ToolError};
use toolcrib_port::{CallContext, Reject, RejectKind, ToolLoader};
use toolcrib_registry::ToolRegistry;
use toolcrib_results::Results;
use toolcrib_sdk::SETUP_SESSION;

/// Makes the calls of all modules, one at a time. Returns the failures: a module that is set up in part cannot be used.
pub(crate) async fn run(
    blueprint: &Blueprint,
    results: &Arc<Results>,
    audit: &Audit,
) -> BTreeMap<String, Reject> {
    let mut failed = BTreeMap::new();
    let Blueprint { options, setup: Setup { policy, calls }, app, .. } = blueprint;
    if calls.is_empty() || !options.setup {
        return failed;
    }
    let with_setup =
        || blueprint.modules.iter().filter(|module| calls.iter().any(|call| call.module == module.id()));
    let loaders = with_setup().map(|module| Arc::new(module.clone()) as Arc<dyn ToolLoader>);
    let registry = ToolRegistry::from_loaders(loaders).await;
    let mut executor = Executor::new(Arc::new(registry), Arc::clone(policy), Arc::new(DenyAll))
        .with_flow(blueprint.flow.clone())
        .with_results(Arc::clone(results))
        .with_audit(audit.clone());
    for module in with_setup() {
        executor = executor.with_engine(module.source(), Arc::new(module.clone()));
    }
    let executor = Arc::new(executor);
    for module in with_setup() {
        for call in calls.iter().filter(|call| call.module == module.id()) {
            if let Err((kind, message)) = make(&executor, call).await {
                let file = &app.file;
                let error = file.readable(file.error_at(&call.place, message), &call.place);
                let reject = Reject::source(module.source(), kind, error.at(&file.name));
                failed.insert(module.id().to_owned(), reject);
                break;
            }
        }
    }
    // What the actions have opened stays: it is for the agents. What they gave is of no use to anybody.
    results.forget(SETUP_SESSION);
    failed
}

async fn make(executor: &Arc<Executor>, setup: &SetupCall) -> Result<(), (RejectKind, String)> {
    let call = ToolCall::new(format!("{}::{}", setup.module, setup.action), setup.params.clone());
    let context = CallContext::new(SETUP_SESSION).with_full_results();
    let Some(error) = executor.call(call, &context).await.error else { return Ok(()) };
    let (action, said) = (&setup.action, said(&error));
    let message = format!("the setup action `{action}` failed, so the module is left out: {said}");
    Err((kind_of(&error), message))
}

fn kind_of(error: &ToolError) -> RejectKind {
    match error.kind {
        ErrorKind::InvalidArgs | ErrorKind::Denied | ErrorKind::UnknownTool => RejectKind::Unsupported,
        _ => RejectKind::Unavailable,
    }
}

fn said(error: &ToolError) -> String {
    match &error.hint {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message.clone(),
    }
}
