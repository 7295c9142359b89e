//! `modules.<id>.setup`: calls of a module by the operator before agents use it.
//!
//! The executor resolves, validates, limits and records these calls like any other. The operator wrote them, so they need no
//! approval, and constraints that keep an action from agents do not apply. Rules under `tools.capabilities.deny` and `access`
//! apply.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_document::Error as DocumentError;
use toolcrib_model::text::pointer_part;
use toolcrib_model::{JsonObject, QualifiedName, Tool};
use toolcrib_policy::{Call, Capabilities, Effect, Policy, Principal, Verdict};
use toolcrib_schema::CompiledSchema;
use toolcrib_sdk::{Module, SETUP_SESSION};

use crate::file::templates;
use crate::findings::Findings;
use crate::sections::capabilities;
use crate::sections::module_entry::{ModuleConfig, SetupAction};
use crate::sections::values::unknown;
use crate::{AppConfig, AppFile};

/// The calls of modules by the operator, before agents use them.
pub struct Setup {
    /// The policy: the named actions may be called, unless a rule denies them.
    pub policy: Arc<Policy>,
    /// The calls, in their order.
    pub calls: Vec<SetupCall>,
}

/// A call of a module by the operator.
#[derive(Clone, Debug)]
pub struct SetupCall {
    /// The id of the module.
    pub module: String,
    /// The bare name of the tool.
    pub action: String,
    /// The arguments, with their variables.
    pub params: JsonObject,
    /// The JSON pointer of the entry.
    pub place: String,
}

/// The rules and the actions of an app.
struct SetupRules<'a> {
    file: &'a AppFile,
    capabilities: &'a Capabilities,
    modules: &'a BTreeMap<String, ModuleConfig>,
}

/// Builds and checks the setup of modules.
pub(crate) fn build(
    config: &AppConfig,
    file: &AppFile,
    modules: &[Module],
    found: &mut Findings,
) -> Option<Setup> {
    let rules = SetupRules { file, capabilities: &config.tools.capabilities, modules: &config.modules };
    let calls = modules.iter().flat_map(|module| rules.calls(module, &mut found.errors)).collect();
    // What is wrong with the rules has been said where all of them are checked.
    let policy = if found.errors.is_empty() { found.built(rules.policy()) } else { None };
    Some(Setup { policy: Arc::new(policy?), calls })
}

impl SetupRules<'_> {
    /// Builds and checks the calls of a module; those that can be made.
    fn calls(&self, module: &Module, errors: &mut Vec<DocumentError>) -> Vec<SetupCall> {
        let actions: &[SetupAction] = self.modules.get(module.id()).map_or(&[], |module| &module.setup);
        let mut calls = Vec::new();
        if actions.is_empty() {
            return calls;
        }
        if let Some(reason) = module.setup_refusal() {
            let pointer = format!("/modules/{}/setup", pointer_part(module.id()));
            let message = format!("the module `{}` has no use for `setup`: {reason}", module.id());
            errors.push(self.file.error_at(&pointer, message));
            return calls;
        }
        let tools: Vec<Tool> = module.definitions().collect();
        let known: Vec<&str> = tools.iter().map(|tool| tool.name.name()).collect();
        // What is wrong with the rules is said where they are checked.
        let policy = self.policy().ok();
        for (position, action) in actions.iter().enumerate() {
            let place = place(module.id(), position);
            let Some(tool) = tools.iter().find(|tool| tool.name.name() == action.action) else {
                let message =
                    format!("in the module `{}`: {}", module.id(), unknown("action", &action.action, &known));
                errors.push(self.file.error_at(&format!("{place}/action"), message));
                continue;
            };
            let params = match self.params(action, &place) {
                Ok(params) => params,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            let fitting = self.fitting(tool, params.clone(), &place, errors);
            if let (Some(policy), Some(params)) = (&policy, fitting)
                && let Some(rule) = denied(policy, tool, params)
            {
                let message = format!(
                    "`{rule}` denies `{}`, to setup too; to keep an action from agents alone, name it in \
                     `modules.{}.constraints`",
                    tool.name.dotted(),
                    module.id()
                );
                errors.push(self.file.error_at(&format!("{place}/action"), message));
            }
            let (module, action) = (module.id().to_owned(), action.action.clone());
            calls.push(SetupCall { module, action, params, place });
        }
        calls
    }

    /// Returns the arguments as the tool gets them, or what is wrong with them.
    fn fitting(
        &self,
        tool: &Tool,
        params: JsonObject,
        place: &str,
        errors: &mut Vec<DocumentError>,
    ) -> Option<JsonObject> {
        // A schema that cannot be used is said to be so when the tool is loaded.
        let schema = CompiledSchema::compile(&tool.parameters.to_value()).ok()?;
        match schema.repair(params) {
            Ok(repaired) => Some(repaired.arguments),
            Err(violations) => {
                errors.extend(violations.iter().map(|violation| {
                    let pointer = format!("{place}/params{}", violation.path);
                    let message = format!("in `params` of `{}`: {}", tool.name.dotted(), violation.message);
                    self.file.readable(self.file.error_at(&pointer, message), &pointer)
                }));
                None
            }
        }
    }

    /// Returns the arguments of an action at a place, with their variables.
    fn params(&self, action: &SetupAction, place: &str) -> Result<JsonObject, DocumentError> {
        let pointer = format!("{place}/params");
        match templates::filled(self.file, &Value::Object(action.params.clone()), &pointer)? {
            Value::Object(params) => Ok(params),
            other => Err(self.file.error_at(&pointer, format!("`params` has to be a mapping, not {other}"))),
        }
    }

    /// Returns the policy of setup: the named actions, unless a rule denies them.
    fn policy(&self) -> Result<Policy, DocumentError> {
        let rules = self.capabilities;
        let capabilities = Capabilities {
            default_policy: Effect::Deny,
            deny: rules.deny.clone(),
            ..Capabilities::default()
        };
        let mut policy = Policy::at(&capabilities::locations(), &capabilities, [])
            .map_err(|error| self.file.error_at(error.place().pointer(), error.to_string()))?;
        for (id, module) in self.modules {
            for (position, action) in module.setup.iter().enumerate() {
                // What can be no name is an unknown action, and said to be so.
                if let Ok(name) = QualifiedName::new(id, &action.action) {
                    policy = policy.with_granted(&name, &format!("modules.{id}.setup[{position}]"));
                }
            }
        }
        Ok(policy)
    }
}

/// Returns the rule that denies a call, with these arguments, to everybody.
fn denied(policy: &Policy, tool: &Tool, arguments: JsonObject) -> Option<Arc<str>> {
    let mut call = Call::new(Arc::new(tool.clone()), SETUP_SESSION.into(), 0);
    call.arguments = arguments;
    match policy.authorize(call, Principal::new(SETUP_SESSION)) {
        Verdict::Denied(decision) => Some(decision.rule),
        Verdict::Granted(_) | Verdict::Ask(_) => None,
    }
}

/// Returns the place of an action.
fn place(module: &str, position: usize) -> String {
    format!("/modules/{}/setup/{position}", pointer_part(module))
}
