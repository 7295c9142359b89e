//! Calls of views: the calls of their original tools.

use serde_json::Value;
use toolcrib_model::tool::view::CallerAttribute;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_policy::Call;
use toolcrib_port::CallContext;
use toolcrib_registry::Entry;

/// Returns a call with the calls of the original tools, if its tool is a view. Originals that do not accept the
/// arguments are left out.
///
/// # Errors
///
/// Returns an error if the caller lacks an attribute that the view needs, or if no original accepts the arguments.
pub(crate) fn with_originals(call: Call, entry: &Entry, context: &CallContext) -> Result<Call, ToolError> {
    let Some(view) = call.tool.view() else { return Ok(call) };
    let (mut calls, mut problem) = (Vec::new(), None);
    for (original, own) in view.originals.iter().zip(&entry.originals) {
        let arguments = original.arguments(&call.arguments, |wanted| attribute(wanted, context));
        let arguments = arguments.map_err(|error| {
            let (name, original) = (call.tool.name.shown(), own.tool.name.dotted());
            let message = format!("`{name}` (a shape of `{original}`) cannot be called here: {error}");
            ToolError::new(ErrorKind::Denied, message).with_hint("no argument sets it; tell the user")
        })?;
        let arguments = Value::Object(arguments);
        let checked = own.schema.validate(&arguments);
        match (checked, arguments) {
            (Ok(()), Value::Object(arguments)) => calls.push(Call {
                tool: own.tool.clone(),
                fingerprint: own.fingerprint,
                source: own.source.clone(),
                generation: call.generation,
                arguments,
                call_id: call.call_id.clone(),
                originals: Vec::new(),
            }),
            (Err(violations), _) => {
                let (name, original) = (call.tool.name.shown(), own.tool.name.dotted());
                let message = format!(
                    "the arguments of `{name}` do not fit `{original}`, which it calls: {violations}"
                );
                problem.get_or_insert_with(|| ToolError::new(ErrorKind::InvalidArgs, message));
            }
            (Ok(()), _) => {}
        }
    }
    match problem {
        Some(error) if calls.is_empty() => Err(error),
        _ => Ok(Call { originals: calls, ..call }),
    }
}

/// Returns an attribute of a caller.
fn attribute(wanted: &CallerAttribute, context: &CallContext) -> Option<String> {
    match wanted {
        CallerAttribute::User => context.user.as_deref().map(str::to_owned),
        CallerAttribute::Session => Some(context.session.to_string()),
        CallerAttribute::Agent => context.agent.as_deref().map(str::to_owned),
        CallerAttribute::Scope(key) => context.scope.get(key).map(str::to_owned),
    }
}
