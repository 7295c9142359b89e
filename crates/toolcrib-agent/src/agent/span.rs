//! The spans of a run and of its turns, by the conventions of OpenTelemetry for generative AI. Neither prompts nor answers
//! are among the fields.

use toolcrib_port::CallContext;
use tracing::Span;
use tracing::field::Empty;

use super::{AgentSettings, Outcome, RunReport};
use crate::chat::{ChatReply, Usage};

/// Returns the span of a run.
pub(super) fn invoke_agent(settings: &AgentSettings, provider: &str, context: &CallContext) -> Span {
    tracing::info_span!(
        "invoke_agent",
        "otel.name" = format!("invoke_agent {}", settings.name),
        "otel.status_code" = Empty,
        "toolcrib.parent" = context.trace.as_deref(),
        "gen_ai.operation.name" = "invoke_agent",
        "gen_ai.provider.name" = provider,
        "gen_ai.agent.name" = settings.name,
        "gen_ai.request.model" = settings.model,
        "gen_ai.conversation.id" = context.conversation.as_deref(),
        "session.id" = &*context.session,
        "gen_ai.usage.input_tokens" = Empty,
        "gen_ai.usage.output_tokens" = Empty,
        "error.type" = Empty,
    )
}

/// Returns the span of one turn of the model.
pub(super) fn chat(settings: &AgentSettings, provider: &str, context: &CallContext) -> Span {
    tracing::info_span!(
        "chat",
        "otel.name" = format!("chat {}", settings.model),
        "otel.kind" = "client",
        "otel.status_code" = Empty,
        "gen_ai.operation.name" = "chat",
        "gen_ai.provider.name" = provider,
        "gen_ai.request.model" = settings.model,
        "gen_ai.conversation.id" = context.conversation.as_deref(),
        "gen_ai.response.finish_reasons" = Empty,
        "gen_ai.response.model" = Empty,
        "gen_ai.usage.input_tokens" = Empty,
        "gen_ai.usage.output_tokens" = Empty,
        "error.type" = Empty,
    )
}

/// Notes what a turn came to.
pub(super) fn replied(span: &Span, reply: &Result<ChatReply, Outcome>) {
    match reply {
        Ok(reply) => {
            used(span, reply.usage);
            span.record("gen_ai.response.finish_reasons", reply.finish_reason.as_deref());
            span.record("gen_ai.response.model", reply.model.as_deref());
        }
        Err(outcome) => ended(span, outcome),
    }
}

/// Notes what a run came to.
pub(super) fn finished(span: &Span, report: &RunReport) {
    used(span, report.usage);
    ended(span, &report.outcome);
}

fn used(span: &Span, usage: Usage) {
    // Zero where the server did not say.
    if usage != Usage::default() {
        span.record("gen_ai.usage.input_tokens", usage.prompt_tokens);
        span.record("gen_ai.usage.output_tokens", usage.completion_tokens);
    }
}

fn ended(span: &Span, outcome: &Outcome) {
    match outcome {
        Outcome::Completed => return,
        Outcome::Truncated => span.record("error.type", "truncated"),
        Outcome::Refused => span.record("error.type", "refused"),
        Outcome::ContentFilter => span.record("error.type", "content_filter"),
        Outcome::InvalidOutput { .. } => span.record("error.type", "invalid_output"),
        Outcome::LimitReached { .. } => span.record("error.type", "limit_reached"),
        Outcome::Failed { error } => span.record("error.type", &*error.kind()),
    };
    span.record("otel.status_code", "ERROR");
}
