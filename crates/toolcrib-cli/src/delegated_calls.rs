//! Calls of agents that the agent at the terminal gave work to.

use toolcrib_exec::audit::{AuditSink, Outcome, Record};

use crate::ui::output::tell_raw;
use crate::ui::printable::excerpt;

/// The most bytes of an agent's name or a tool's name that are shown.
const MAX_NAME_BYTES: usize = 60;

/// Observer of the calls of a run, which shows those of other agents and of other apps.
pub(crate) struct DelegatedCalls {
    /// The agent whose own calls are shown elsewhere.
    agent: String,
}

impl DelegatedCalls {
    pub(crate) fn new(agent: &str) -> Self {
        Self { agent: agent.to_owned() }
    }

    /// Returns the line of a call by another agent.
    fn line(&self, record: &Record) -> Option<String> {
        let agent = record.agent.as_ref().filter(|agent| **agent != self.agent)?;
        let tool = record.tool.as_deref().or(record.called.as_deref()).unwrap_or_default();
        let tool = excerpt(&tool.replacen("::", ".", 1), MAX_NAME_BYTES);
        let outcome = match record.outcome {
            Outcome::Ok => "ok",
            Outcome::Begun => return None,
            other => other.as_str(),
        };
        let agent = excerpt(agent, MAX_NAME_BYTES);
        Some(format!("   {agent}: {tool} {outcome} in {:.0} ms", record.total_ms))
    }
}

impl AuditSink for DelegatedCalls {
    fn record(&self, record: &Record) {
        if let Some(line) = self.line(record) {
            tell_raw(&(line + "\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use toolcrib_exec::audit::{Audit, MemorySink};
    use toolcrib_model::ToolCall;
    use toolcrib_port::CallContext;

    use super::*;

    #[test]
    fn calls_of_other_agents_are_shown_and_those_of_the_agent_itself_are_not() {
        let kept = Arc::new(MemorySink::new());
        let audit = Audit::new(kept.clone());
        for context in
            [CallContext::new("run").with_agent("lead"), CallContext::new("run").with_agent("scout")]
        {
            drop(audit.begin(&ToolCall::new("notes.read", toolcrib_model::JsonObject::new()), &context));
        }
        let calls = DelegatedCalls::new("lead");
        let shown: Vec<_> = kept.records().iter().filter_map(|record| calls.line(record)).collect();
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert!(shown[0].starts_with("   scout: notes.read dropped in "), "{shown:?}");
    }
}
