//! The verdicts of hooks on results, and their effect.

use std::sync::Arc;

use toolcrib_model::text::ellipsize_chars;
use toolcrib_model::{ErrorKind, ResultNote, ToolError, ToolResult};
use toolcrib_policy::Call;
use toolcrib_port::CallContext;

use super::{Hook, hook_fault};
use crate::MAX_REASON_CHARS;
use crate::audit::HookRecord;
use crate::limits::MAX_HOOK_WAIT;
use crate::panic_guard::catch_panic;

/// The verdict of a hook on the result of a call. Notes are for the model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ResultVerdict {
    /// The result stays as it is.
    Keep {
        /// A note on the result.
        note: Option<String>,
    },
    /// Another result replaces it.
    Change {
        /// The result in its place. Its name and the id of the call stay.
        result: Box<ToolResult>,
        /// The reason.
        note: Option<String>,
    },
    /// The same result without some of its contents replaces it.
    Redact {
        /// The result without these contents. Its name and the id of the call stay.
        result: Box<ToolResult>,
        /// The reason.
        note: Option<String>,
    },
    /// The model does not get the result.
    Block {
        /// The reason, for the model.
        reason: String,
    },
}

/// A result after the hooks, and their verdicts for the audit record.
pub(crate) struct CheckedResult {
    pub(crate) result: ToolResult,
    pub(crate) records: Vec<HookRecord>,
}

/// Runs all hooks that apply on the result of a call.
pub(crate) async fn after(
    hooks: &[Arc<dyn Hook>],
    call: &Call,
    result: ToolResult,
    context: &CallContext,
) -> CheckedResult {
    let mut checked = CheckedResult { result, records: Vec::new() };
    let checks = async {
        for hook in hooks.iter().filter(|hook| hook.applies_to(&call.tool)) {
            let verdict = catch_panic(hook.after(call, &checked.result, context)).await;
            let verdict = verdict.unwrap_or_else(|| Err(hook_fault(hook.as_ref(), call)));
            if checked.apply(hook.as_ref(), verdict, call) {
                break;
            }
        }
    };
    if tokio::time::timeout(MAX_HOOK_WAIT, checks).await.is_err() {
        let seconds = MAX_HOOK_WAIT.as_secs();
        let message = format!(
            "`{}` ran, and a check of its result did not end within {seconds} s",
            call.tool.name.shown()
        );
        let error = ToolError::new(ErrorKind::Internal, message);
        checked.result = call.failed(error.with_hint(REPEAT_HINT));
    }
    checked
}

/// The advice to a model that does not get the result of a call that ran.
const REPEAT_HINT: &str = "see what it did before you repeat it";

impl CheckedResult {
    /// Applies the verdict of a hook. Returns true if there is no result left for the hooks after it.
    fn apply(&mut self, hook: &dyn Hook, verdict: Result<ResultVerdict, ToolError>, call: &Call) -> bool {
        let name = hook.name();
        let noted = |note: Option<String>, effect: &str| {
            let note = note.map(|note| ellipsize_chars(&note, MAX_REASON_CHARS).to_string());
            match note {
                Some(note) => format!("the hook `{name}` {effect}: {note}"),
                None => format!("the hook `{name}` {effect}"),
            }
        };
        let tool = call.tool.name.shown();
        match verdict {
            Ok(ResultVerdict::Keep { note: None }) => false,
            Ok(ResultVerdict::Keep { note }) => {
                self.record(name, "note");
                self.note(noted(note, "notes"));
                false
            }
            Ok(ResultVerdict::Change { mut result, note }) => {
                result.forget_client_content();
                self.replace(name, "change_result", *result, noted(note, "changed the result"))
            }
            Ok(ResultVerdict::Redact { result, note }) => {
                self.replace(name, "redact", *result, noted(note, "removed parts of the result"))
            }
            Ok(ResultVerdict::Block { reason }) => {
                self.record(name, "block");
                let reason = ellipsize_chars(&reason, MAX_REASON_CHARS);
                let message = format!("`{tool}` ran, and the hook `{name}` blocked its result: {reason}");
                let error = ToolError::new(ErrorKind::Denied, message);
                let hint = "follow the reason, or tell the user; do not call it again for its result";
                self.result = call.failed(error.with_hint(hint));
                true
            }
            Err(error) if hook.fails_open() => {
                self.record(name, "failed");
                tracing::warn!(hook = name, tool = %tool, %error, "a hook failed; the result is not checked");
                self.note(format!("the hook `{name}` failed and did not check the result"));
                false
            }
            Err(error) => {
                self.record(name, "failed");
                let message = format!("`{tool}` ran, and its result is withheld: {}", error.message);
                // The kind of the hook's error says nothing about the tool: it ran, and no other may run in its place.
                self.result =
                    call.failed(ToolError::new(ErrorKind::Internal, message).with_hint(REPEAT_HINT));
                true
            }
        }
    }

    fn replace(&mut self, hook: &str, verdict: &'static str, result: ToolResult, note: String) -> bool {
        self.record(hook, verdict);
        let (name, call_id) = (self.result.name.clone(), self.result.call_id.clone());
        self.result = ToolResult { name, call_id, ..result };
        self.note(note);
        false
    }

    fn note(&mut self, note: String) {
        self.result.note(ResultNote::HookNotes(vec![note]));
    }

    fn record(&mut self, hook: &str, verdict: &'static str) {
        self.records.push(HookRecord { hook: hook.to_owned(), verdict, arguments: Vec::new() });
    }
}
