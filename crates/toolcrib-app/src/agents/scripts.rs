//! The plan of the tools of a caller, with or without `run_script`.

use toolcrib_model::Tool;
use toolcrib_policy::RUNTIME_NAMESPACE;
use toolcrib_prompt::{Error, Injection, InjectionMode, InjectionSettings, Plan, WireNames};
use toolcrib_tasks::scripts::RUN_SCRIPT;

use crate::sections::runtime::ScriptMode;

/// The fewest tokens of tools with which [`ScriptMode::Auto`] offers `run_script`: twenty times those of its definition,
/// so that it adds at most 5 % to each request.
const MIN_TOKENS: u64 = 3_000;

/// Plans these tools. They are offered with `run_script` if its mode says so, and if it is among them.
pub(super) fn plan<'a, T: Iterator<Item = &'a Tool>>(
    tools: impl Fn() -> T,
    scripts: ScriptMode,
    settings: &InjectionSettings,
    wire_names: &WireNames,
) -> Result<Plan, Error> {
    if scripts == ScriptMode::On && tools().any(is_run_script) {
        let mut settings = settings.clone();
        settings.scripts = true;
        return Plan::new(tools(), &settings, wire_names);
    }
    let plan = Plan::new(tools().filter(|tool| !is_run_script(tool)), settings, wire_names)?;
    let is_offered =
        scripts == ScriptMode::Auto && plan.mode == Injection::Direct && plan.offered_tokens() >= MIN_TOKENS;
    if !is_offered {
        return Ok(plan);
    }
    let mut settings = settings.clone();
    settings.mode = InjectionMode::Direct;
    Plan::new(tools(), &settings, wire_names)
}

fn is_run_script(tool: &Tool) -> bool {
    tool.name.namespace() == RUNTIME_NAMESPACE && tool.name.name() == RUN_SCRIPT
}
