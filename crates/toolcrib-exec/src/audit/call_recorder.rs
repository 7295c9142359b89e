//! The recorder of one call, from its arrival to its audit record.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::time::Instant;
use toolcrib_model::{JsonObject, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call, Consent, Decision};
use toolcrib_port::CallContext;
use toolcrib_registry::Entry;
use tracing::Span;

use super::argument_shape::shape;
use super::bounded_text::{json_bytes, nests_within, shown};
use super::record::{HookRecord, Outcome, Record, SCHEMA_VERSION};
use super::rfc3339::{milliseconds, rfc3339};
use super::{MAX_VALUES_BYTES, Settings, no_record};

/// The maximum nesting of arguments that a record describes, and of a result that it has.
const MAX_DEPTH: usize = 128;

/// The recorder of a call. It writes the record when it is [finished](Self::finish) or dropped, and holds the span.
#[derive(Debug)]
#[must_use = "the call is recorded as dropped when this is"]
pub struct CallRecorder {
    span: Span,
    trace: Option<Arc<str>>,
    /// The attributes that the span has already.
    recorded: RecordedAttributes,
    /// The open record; `None` without a sink, and after it is written.
    open: Option<Box<OpenRecord>>,
}

#[derive(Debug, Default)]
struct RecordedAttributes {
    tool: bool,
    decision: Option<Decision>,
}

struct OpenRecord {
    settings: Arc<Settings>,
    record: Record,
    began: Instant,
    asked: Option<Instant>,
    waited: Option<Duration>,
    ran: Option<Instant>,
    tool: Option<Arc<Tool>>,
    /// The arguments; `None` if they nest too deep.
    arguments: Option<JsonObject>,
}

impl CallRecorder {
    pub(super) fn new(
        settings: Option<Arc<Settings>>,
        span: Span,
        trace: Option<Arc<str>>,
        call: &ToolCall,
        context: &CallContext,
    ) -> Self {
        let open =
            settings.map(|settings| Box::new(OpenRecord::new(settings, call, context, trace.as_deref())));
        if !span.is_disabled() {
            span.record("gen_ai.tool.name", shown(&call.name));
        }
        Self { span, trace, recorded: RecordedAttributes::default(), open }
    }

    /// Returns the span of the call. The work of the call should be instrumented with it.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// Returns the `traceparent` that engines propagate: that of the call's span, else that of its caller.
    pub fn trace(&self) -> Option<Arc<str>> {
        self.trace.clone()
    }

    /// Records the tool of a call that goes no further.
    pub fn set_tool(&mut self, entry: &Entry, generation: u64) {
        self.of_tool(&entry.tool, &entry.source);
        if let Some(open) = &mut self.open {
            open.record.fingerprint = Some(entry.fingerprint);
            open.record.generation = Some(generation);
        }
    }

    /// Records the decision of the policy for a denied call; any other call is [`set_call`](Self::set_call).
    pub fn set_decision(&mut self, decision: &Decision) {
        if !self.span.is_disabled() && self.recorded.decision.as_ref() != Some(decision) {
            self.span.record("toolcrib.decision", decision.effect.as_str());
            self.span.record("toolcrib.rule", &*decision.rule);
            self.recorded.decision = Some(decision.clone());
        }
        if let Some(open) = &mut self.open {
            open.record.decision = Some(decision.effect);
            open.record.rule = Some(shown(&decision.rule));
        }
    }

    /// Records the final arguments, the decision and the number of repairs of a call that may run or needs approval.
    pub fn set_call(&mut self, call: &Call, decision: &Decision, repairs: usize) {
        self.of_tool(&call.tool, &call.source);
        self.set_decision(decision);
        if let Some(open) = &mut self.open {
            open.record.fingerprint = Some(call.fingerprint);
            open.record.generation = Some(call.generation);
            open.record.repairs = repairs;
            open.set_arguments(&call.arguments);
        }
    }

    /// Records the original tool that a call of a view reaches.
    pub fn set_original(&mut self, call: &Call) {
        self.set_original_name(&call.tool, &call.source);
        if let Some(open) = self.open.as_mut().filter(|open| open.settings.has_values) {
            open.record.original_arguments = Some(open.values(kept(&call.arguments)));
        }
    }

    fn set_original_name(&mut self, tool: &Tool, source: &str) {
        if !self.span.is_disabled() {
            self.span.record("toolcrib.original", tool.name.dotted());
        }
        if let Some(open) = &mut self.open {
            open.record.original = Some(tool.name.to_string());
            open.record.source = Some(shown(source));
        }
    }

    /// Records more verdicts of hooks.
    pub fn add_hooks(&mut self, hooks: Vec<HookRecord>) {
        if let Some(open) = &mut self.open {
            open.record.hooks.extend(hooks);
        }
    }

    /// Records that approval is requested.
    pub fn approval_requested(&mut self) {
        if let Some(open) = &mut self.open {
            open.asked.get_or_insert_with(Instant::now);
        }
    }

    /// Records that the request for approval has ended.
    pub fn approval_ended(&mut self) {
        if let Some(open) = &mut self.open
            && let Some(asked) = open.asked.take()
        {
            *open.waited.get_or_insert_default() += asked.elapsed();
        }
    }

    /// Records that the call is about to run. If records are required, writes one first.
    ///
    /// # Errors
    ///
    /// Returns an error if a record is required and cannot be written. The call must not run then.
    pub fn start_running(&mut self, call: &Authorized<Call>) -> Result<(), ToolError> {
        self.approval_ended();
        if !self.span.is_disabled() {
            self.span.record("toolcrib.consent", consent(call.consent()));
        }
        let repairs = self.open.as_ref().map_or(0, |open| open.record.repairs);
        self.set_call(call, call.decision(), repairs);
        if let Some(open) = &mut self.open {
            open.record.consent = Some(call.consent());
            open.record.approved_by = call.approvers().map(shown).collect();
            if open.settings.sink.is_required() {
                open.begin()?;
            }
            open.ran = Some(Instant::now());
        }
        Ok(())
    }

    /// Records the result of the engine, before it is shaped for the caller, if records have results.
    pub fn set_result(&mut self, result: &ToolResult) {
        if let Some(open) = &mut self.open {
            open.set_result(result);
        }
    }

    /// Records the result of the call, as its caller gets it.
    pub fn finish(mut self, result: &ToolResult) {
        let outcome = result.error.as_ref().map_or(Outcome::Ok, |error| Outcome::Failed(error.kind));
        self.close(outcome, Some(result));
    }

    fn of_tool(&mut self, tool: &Arc<Tool>, source: &str) {
        if !self.span.is_disabled() && !std::mem::replace(&mut self.recorded.tool, true) {
            let name = tool.name.dotted();
            self.span.record("otel.name", format!("execute_tool {name}"));
            self.span.record("gen_ai.tool.name", name);
            self.span.record("toolcrib.source", shown(source));
        }
        if let Some(open) = &mut self.open {
            open.record.called = None;
            open.record.tool = Some(tool.name.to_string());
            open.record.source = Some(shown(source));
            open.tool = Some(Arc::clone(tool));
        }
        if let Some(original) = tool.view().and_then(|view| view.originals.first()) {
            self.set_original_name(&original.tool, &original.source);
        }
    }

    fn close(&mut self, outcome: Outcome, result: Option<&ToolResult>) {
        self.approval_ended();
        if outcome != Outcome::Ok && !self.span.is_disabled() {
            self.span.record("error.type", outcome.as_str());
            self.span.record("otel.status_code", "ERROR");
        }
        if let Some(open) = self.open.take() {
            open.write(outcome, result);
        }
        // Child spans may outlive it in other tasks; this span ends now.
        self.span = Span::none();
    }
}

impl Drop for CallRecorder {
    fn drop(&mut self) {
        if self.open.is_some() || !self.span.is_disabled() {
            self.close(Outcome::Dropped, None);
        }
    }
}

impl OpenRecord {
    fn new(settings: Arc<Settings>, call: &ToolCall, context: &CallContext, trace: Option<&str>) -> Self {
        let text = |text: &str| shown(&settings.secrets.redactor().redact(text));
        let record = Record {
            v: SCHEMA_VERSION,
            time: rfc3339(SystemTime::now()),
            session: text(&context.session),
            conversation: context.conversation.as_deref().map(text),
            user: context.user.as_deref().map(text),
            agent: context.agent.as_deref().map(text),
            on_behalf_of: context.on_behalf_of.iter().map(|agent| text(agent)).collect(),
            trace: trace.map(text),
            depth: context.depth,
            call_id: call.call_id.as_deref().map(text),
            called: Some(text(&call.name)),
            tool: None,
            original: None,
            fingerprint: None,
            source: None,
            generation: None,
            decision: None,
            rule: None,
            consent: None,
            approved_by: Vec::new(),
            arguments_hash: None,
            arguments_shape: Value::Null,
            arguments: None,
            original_arguments: None,
            result: None,
            error: None,
            repairs: 0,
            hooks: Vec::new(),
            outcome: Outcome::Dropped,
            retryable: None,
            waited_ms: None,
            queued_ms: None,
            ran_ms: None,
            total_ms: 0.0,
            result_bytes: None,
            saved_tokens: None,
        };
        Self {
            settings,
            record,
            began: Instant::now(),
            asked: None,
            waited: None,
            ran: None,
            tool: None,
            arguments: kept(&call.arguments),
        }
    }

    fn set_arguments(&mut self, arguments: &JsonObject) {
        if self.arguments.as_ref() != Some(arguments) {
            self.arguments = kept(arguments);
        }
    }

    fn set_result(&mut self, result: &ToolResult) {
        // A call that did not run has a reason, and no result.
        if !self.settings.has_results || self.ran.is_none() {
            return;
        }
        let redactor = self.settings.secrets.redactor();
        if let Some(error) = &result.error {
            let mut error = error.clone();
            redactor.redact_error(&mut error);
            let error = json!({"message": error.message, "hint": error.hint});
            self.record.error = json_bytes(&error, MAX_VALUES_BYTES).map(|_| error);
        } else if nests_within([&result.result], MAX_DEPTH)
            && json_bytes(&result.result, MAX_VALUES_BYTES).is_some()
        {
            let mut value = result.result.clone();
            redactor.redact_value(&mut value);
            self.record.result = Some(value);
        }
    }

    /// Sends the record of a call that is about to run to the sink.
    fn begin(&mut self) -> Result<(), ToolError> {
        self.describe_arguments();
        self.record.outcome = Outcome::Begun;
        self.record.total_ms = milliseconds(self.began.elapsed());
        self.record.waited_ms = self.waited.map(milliseconds);
        let written = self.settings.sink.begin(&self.record);
        self.record.outcome = Outcome::Dropped;
        written.map_err(|problem| no_record(&problem))
    }

    fn describe_arguments(&mut self) {
        let schema = self.tool.as_ref().map(|tool| &tool.parameters);
        if let Some(arguments) = &self.arguments {
            self.record.arguments_hash = self.settings.key.map(|key| key.digest(arguments));
            self.record.arguments_shape = shape(arguments, schema);
        }
        if !self.settings.has_values {
            return;
        }
        self.record.arguments = Some(self.values(self.arguments.clone()));
    }

    /// Returns arguments as a record has them: without secrets, and `null` if they are too large.
    fn values(&self, arguments: Option<JsonObject>) -> Value {
        let mut values = arguments.map_or(Value::Null, Value::Object);
        if json_bytes(&values, MAX_VALUES_BYTES).is_none() {
            return Value::Null;
        }
        self.settings.secrets.redactor().redact_value(&mut values);
        values
    }

    /// Sends the record to the sink. A panic of the sink must not affect the call, and this may run while a future is
    /// dropped.
    fn write(self: Box<Self>, outcome: Outcome, result: Option<&ToolResult>) {
        let _ = catch_unwind(AssertUnwindSafe(move || {
            let (sink, record) = (Arc::clone(&self.settings.sink), self.finished(outcome, result));
            sink.record(&record);
        }));
    }

    fn finished(mut self: Box<Self>, outcome: Outcome, result: Option<&ToolResult>) -> Record {
        let now = Instant::now();
        let queued = result.and_then(ToolResult::queued_ms);
        let ran = self.ran.map(|ran| milliseconds(now - ran));
        self.describe_arguments();
        let record = &mut self.record;
        record.outcome = outcome;
        record.retryable = result.and_then(|result| result.error.as_ref()).map(|error| error.retryable);
        record.waited_ms = self.waited.map(milliseconds);
        record.queued_ms = queued;
        record.ran_ms = ran.map(|ran| (ran - queued.unwrap_or_default()).max(0.0));
        record.total_ms = milliseconds(now - self.began);
        record.saved_tokens = result.and_then(ToolResult::saved_tokens);
        record.result_bytes = result
            .filter(|result| result.error.is_none())
            .and_then(|result| json_bytes(&result.result, usize::MAX))
            .and_then(|bytes| u64::try_from(bytes).ok());
        self.record
    }
}

impl std::fmt::Debug for OpenRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The arguments are left out, since their values must not be shown.
        f.debug_struct("OpenRecord").field("tool", &self.record.tool).finish_non_exhaustive()
    }
}

fn kept(arguments: &JsonObject) -> Option<JsonObject> {
    nests_within(arguments.values(), MAX_DEPTH).then(|| arguments.clone())
}

fn consent(consent: Consent) -> &'static str {
    match consent {
        Consent::Granted => "granted",
        Consent::Approved => "approved",
        Consent::Edited => "edited",
        Consent::Remembered => "remembered",
    }
}
