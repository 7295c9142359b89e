//! `tools.capabilities`: mistakes in rules, beyond their types.

use serde_json::Value;
use toolcrib_document::{Error, nearest};
use toolcrib_model::Tool;
use toolcrib_policy::{
    Access, Capabilities, Decision, Policy, RUNTIME_NAMESPACE, Rule, RuleLocations, SettingLocation,
};
use toolcrib_sdk::Module;
use toolcrib_tasks::Skills;

use crate::file::former_names;
use crate::findings::Findings;
use crate::sections::skills;
use crate::sections::values::{is_literal, unknown};
use crate::{App, AppConfig, AppFile};

/// The list of rules that grant.
const GRANT: &str = "grant";

/// Returns the locations of the rules in an app file.
pub fn locations() -> RuleLocations {
    let top = SettingLocation::default();
    RuleLocations { capabilities: top.key("tools").key("capabilities"), modules: top.key("modules") }
}

/// Returns why the rule of a decision applies, in a sentence. The rule is a location that [`locations`] and the other
/// sections give to it, or a name of the policy.
pub fn reason(decision: &Decision) -> &'static str {
    match decision.rule.as_ref() {
        "tools.capabilities.default_policy" => "no rule matches, so the default policy decides",
        "tools.capabilities.max_risk_level" => "the risk of the tool is above `max_risk_level`",
        "runtime" => "it is one of the runtime's own tools, which are granted unless a rule names them",
        "exposed_when_granted" => "the tool is hidden until a rule grants it",
        "confirmation_required" => {
            "the tool declares that each call needs a confirmation; a grant that names module and action drops the question"
        }
        "high risk" => {
            "the tool is of high risk, and no grant names it by module and action without a pattern"
        }
        rule if rule.starts_with("tools.capabilities.") => {
            "the first rule that matches decides; deny comes before approve, approve before grant"
        }
        rule if rule.starts_with("modules.") => "the constraints of the module leave this action out",
        rule if rule.starts_with("agents") => "the tool is reserved for other agents",
        rule if rule.starts_with("serve.") => "the scope of the client leaves the tool out",
        rule if rule.starts_with("profiles.") => {
            "a profile of the client leaves the tool out, or has a stricter rule"
        }
        rule if rule.starts_with("override:") => "an operator has disabled it",
        _ => "see this place in the app file",
    }
}

/// Returns the access of modules.
pub(crate) fn access(capabilities: &Capabilities, file: &AppFile) -> Result<Access, Error> {
    let location = locations().capabilities.key("access");
    let rules = capabilities.access.as_ref();
    let access = rules.map(|rules| Access::at(&location, rules)).transpose().map(Option::unwrap_or_default);
    access.map_err(|error| file.error_at(error.place().pointer(), error.to_string()))
}

/// Builds and checks the rules of an app, without those for the clients of the server.
pub(crate) fn policy(
    app: &App,
    (modules, skills): (&[Module], &Skills),
    found: &mut Findings,
) -> Option<Policy> {
    check_names(app, (modules, skills), found);
    let constraints = app.config.modules.iter().map(|(id, module)| (id.as_str(), &module.constraints));
    let rules = Policy::at(&locations(), &app.config.tools.capabilities, constraints);
    let rules = rules.map_err(|error| app.file.error_at(error.place().pointer(), error.to_string()));
    found.built(rules).map(former_names::with_former_names)
}

/// Modules and actions that rules name and nothing has. A tool file may hold any namespace, and a module of programs may name
/// itself, so only a name that is near to a known one is taken for a mistake while there is one.
fn check_names(app: &App, (modules, skills): (&[Module], &Skills), found: &mut Findings) {
    let Findings { errors, warnings } = found;
    let tools = &app.config.tools;
    let namespace = |entry: &Value| entry.get("namespace").and_then(Value::as_str).map(str::to_owned);
    let mut known: Vec<String> =
        app.config.modules.keys().cloned().chain([RUNTIME_NAMESPACE.to_owned()]).collect();
    known.extend(tools.registry.iter().filter_map(namespace));
    known.extend(skills::namespaces(skills).map(str::to_owned));
    let is_open = tools.registry.iter().any(|entry| match entry.get("type").and_then(Value::as_str) {
        Some("file") => true,
        Some("exec") => namespace(entry).is_none(),
        _ => false,
    });
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let lists = [
        (GRANT, &tools.capabilities.grant),
        ("approve", &tools.capabilities.approve),
        ("deny", &tools.capabilities.deny),
    ];
    for (list, rules) in lists {
        for (position, rule) in rules.iter().enumerate() {
            check_agent(
                app,
                &format!("/tools/capabilities/{list}/{position}/agent"),
                rule.agent.as_deref(),
                errors,
            );
            let Some(module) = rule.module.as_deref().filter(|module| is_literal(module)) else { continue };
            let place = format!("/tools/capabilities/{list}/{position}");
            let is_unknown = !known.contains(&module)
                && app.extensions.modules().all(|id| id != module)
                && !app.config.may_be_of_session(module);
            if is_unknown && (!is_open || nearest(module, known.iter().copied()).is_some()) {
                errors.push(app.file.error_at(&format!("{place}/module"), unknown("module", module, &known)));
                continue;
            }
            let built = modules.iter().find(|built| built.id() == module);
            let actions: Option<Vec<&str>> = built.map(|built| built.actions().collect());
            for (at, action) in rule.actions.iter().flatten().enumerate() {
                let place = format!("{place}/actions/{at}");
                if let Some(present) = former_names::present_action(module, action) {
                    let holds = if list == GRANT {
                        "a grant holds for that name alone"
                    } else {
                        "the rule holds for it"
                    };
                    let message = format!("`{module}.{action}` is called `{module}.{present}` now; {holds}");
                    warnings.push(app.file.error_at(&place, message).to_string());
                } else if let Some(actions) =
                    actions.as_deref().filter(|actions| !actions.contains(&action.as_str()))
                    && is_literal(action)
                {
                    let message = format!("in the module `{module}`: {}", unknown("action", action, actions));
                    errors.push(app.file.error_at(&place, message));
                }
            }
        }
    }
}

/// Checks that the app has the agent that a rule names.
pub(crate) fn check_agent(app: &App, place: &str, named: Option<&str>, errors: &mut Vec<Error>) {
    let known: Vec<&str> = app.config.agents.iter().map(|agent| agent.id.as_str()).collect();
    if let Some(name) = named.filter(|name| is_literal(name) && !known.contains(name)) {
        errors.push(app.file.error_at(place, unknown("agent", name, &known)));
    }
}

/// Returns warnings about rules that match no tool. Rules that may be about tools which single sessions add are left out.
pub(crate) fn unused<'a>(
    config: &'a AppConfig,
    policy: &'a Policy,
    tools: &'a [&'a Tool],
) -> impl Iterator<Item = String> + 'a {
    let later = rules_of_sessions(config);
    let unused = policy.unused_rules(tools.iter().copied());
    let unused = unused.filter(move |rule| !later.iter().any(|later| later == rule));
    unused.map(|rule| format!("`{rule}` matches no tool"))
}

/// Returns the places of the rules that may be about tools which single sessions add.
fn rules_of_sessions(config: &AppConfig) -> Vec<String> {
    let Capabilities { grant, approve, deny, .. } = &config.tools.capabilities;
    let lists = [(GRANT, grant), ("approve", approve), ("deny", deny)];
    let location = locations().capabilities;
    let rules = lists.into_iter().flat_map(|(list, rules)| {
        let list = location.key(list);
        rules.iter().enumerate().map(move |(at, rule)| (list.at(at).to_string(), rule))
    });
    let is_later =
        |rule: &Rule| rule.module.as_deref().is_some_and(|module| config.may_be_of_session(module));
    rules.filter(|(_, rule)| is_later(rule)).map(|(place, _)| place).collect()
}
