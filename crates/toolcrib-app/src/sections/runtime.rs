//! `runtime`: the limits of runs, and how tools are shown to models.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_agent::RunLimits;
use toolcrib_document::Error;
use toolcrib_prompt::InjectionMode;
use toolcrib_prompt::injection::Reveal;

use crate::AppFile;
use crate::sections::output_schema::{OutputSchemaConfig, ResolvedOutputSchema};
use crate::sections::values::some_amount;

/// `runtime`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RuntimeSection {
    /// The form in which tools are shown to the model. The default is `auto`.
    pub tool_injection: InjectionMode,
    /// The share of the context window for tools. The default is 0.2.
    pub tool_budget: Option<f64>,
    /// The estimate of the size of tools: counted on the definitions that are sent (`payload`, the default), or a fixed
    /// number of tokens for each (`per_tool`).
    pub estimate: Option<SizeEstimate>,
    /// The tokens of a tool with `estimate: per_tool`. The default is 200.
    pub tokens_per_tool: Option<NonZeroU32>,
    /// The condition for offering agents `run_script`, by which a model runs a program instead of many calls. The
    /// default is `auto`.
    pub scripts: ScriptMode,
    /// Tools that models always see with their parameters, in any spelling.
    pub pinned: Vec<String>,
    /// The way in which a model calls a tool that it found: `execute` (the default) through `execute_tool`, or
    /// `append`, which also adds the tool to the request.
    pub reveal: Reveal,
    /// The maximum number of turns of a run. The default is 50.
    pub max_turns: Option<NonZeroU32>,
    /// The maximum number of calls of a run and of the work that it delegates. The default is 200.
    pub max_calls: Option<NonZeroU32>,
    /// The maximum number of failed calls in a row. The default is 10.
    pub max_failures: Option<NonZeroU32>,
    /// The maximum number of times that a run asks the model to continue an answer that was cut off. The default is 2.
    pub max_continuations: Option<u32>,
    /// The schema of the answers to prompts, or a file with it in JSON or YAML, relative to the app file. By default
    /// answers are text.
    pub output_schema: Option<OutputSchemaConfig>,
    /// The maximum number of tokens, read and written, of a run and of the work that it delegates. The default is
    /// 10,000,000.
    pub max_tokens: Option<NonZeroU64>,
    /// The maximum cost of a run and of the work that it delegates, in the currency of `brain.prices`. The default is
    /// 10. It requires prices.
    #[serde(deserialize_with = "some_amount")]
    pub max_cost: Option<f64>,
    /// The share of the context window, from 0.1 to 1, at which older results and turns are compacted. The default is
    /// 0.75.
    pub compact_at: Option<f64>,
    /// The maximum number of seconds of a run. The default is 1,800.
    pub max_seconds: Option<NonZeroU32>,
}

/// `runtime.estimate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SizeEstimate {
    /// Counts the tokens that are sent.
    Payload,
    /// Assumes a fixed number of tokens for each tool.
    PerTool,
}

/// `runtime.scripts` and `serve.scripts`: the condition for offering `run_script`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ScriptMode {
    /// Offered to agents where all tools are shown with their parameters, and these take at least 3,000 tokens. Not
    /// offered to clients, which can call it by its name.
    #[default]
    Auto,
    /// Always offered.
    On,
    /// Not available.
    Off,
}

/// Returns the limits of a run.
pub fn run_limits(runtime: &RuntimeSection) -> RunLimits {
    let mut limits = RunLimits::default();
    limits.max_turns = runtime.max_turns.map_or(limits.max_turns, NonZeroU32::get);
    limits.max_calls = runtime.max_calls.map_or(limits.max_calls, NonZeroU32::get);
    limits.max_failures = runtime.max_failures.map_or(limits.max_failures, NonZeroU32::get);
    limits.max_continuations = runtime.max_continuations.unwrap_or(limits.max_continuations);
    limits.max_tokens = runtime.max_tokens.map_or(limits.max_tokens, NonZeroU64::get);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 1e15")]
    let cost = runtime.max_cost.map(|cost| (cost * 1e6) as u64);
    limits.max_cost = cost.unwrap_or(limits.max_cost);
    limits.max_duration =
        runtime.max_seconds.map_or(limits.max_duration, |seconds| Duration::from_secs(seconds.get().into()));
    limits
}

/// Checks the section beyond its types.
pub(crate) fn check(
    section: &RuntimeSection,
    output_schema: Option<&ResolvedOutputSchema>,
    file: &AppFile,
    errors: &mut Vec<Error>,
) {
    errors.extend(output_schema.and_then(|resolved| resolved.schema.as_ref().err()).cloned());
    if section.tool_budget.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
        let message = "`tool_budget` is a share of the context window, from 0 to 1";
        errors.push(file.error_at("/runtime/tool_budget", message));
    }
}
