//! `profiles`: named subsets of the tools for clients of the server.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_document::Error as DocumentError;
use toolcrib_model::Risk;
use toolcrib_policy::{
    Capabilities, Effect, Policy, PolicyError, ProfileRules, Rule, RuleLocations, Scope, SettingLocation,
};

use crate::App;
use crate::file::former_names;
use crate::findings::Findings;
use crate::sections::capabilities;
use crate::sections::serve::SERVED_SESSIONS;
use crate::sections::serve::surface::SurfaceMode;
use crate::sections::values::{check_name, present, unknown};

/// The most profiles of an app.
const MAX_PROFILES: usize = 64;

/// The most patterns in one list of a profile.
const MAX_PATTERNS: usize = 256;

/// The key of the profiles in an app file.
const PROFILES: &str = "profiles";

/// One entry of `profiles`: the tools that exist for its clients are those that one of the lists selects, or all tools
/// without any list.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ProfileConfig {
    /// The purpose of the profile, for operators.
    #[serde(deserialize_with = "present")]
    pub description: Option<String>,
    /// The tools, as `namespace.name` or globs of such names. A shaped tool is meant by its own name.
    #[serde(deserialize_with = "present")]
    pub tools: Option<Vec<String>>,
    /// The namespaces. Globs.
    #[serde(deserialize_with = "present")]
    pub namespaces: Option<Vec<String>>,
    /// The sources, by the names that `toolcrib tools` prints. Globs.
    #[serde(deserialize_with = "present")]
    pub sources: Option<Vec<String>>,
    /// The tools that its clients see. By default `serve.surface`.
    #[serde(deserialize_with = "present")]
    pub surface: Option<SurfaceMode>,
    /// Tools that its clients always see with their parameters, in any spelling. By default those of `runtime.pinned` and
    /// `serve.pin`.
    #[serde(deserialize_with = "present")]
    pub pin: Option<Vec<String>>,
    /// Rules in addition to `tools.capabilities`. They only tighten: the stricter decision applies.
    pub policy: ProfilePolicy,
}

/// The rules of a profile.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ProfilePolicy {
    /// Tools above this risk are denied.
    #[serde(deserialize_with = "present")]
    pub max_risk_level: Option<Risk>,
    /// Calls that a person is asked about.
    pub approve: Vec<Rule>,
    /// Calls that do not run.
    pub deny: Vec<Rule>,
}

/// Checks the profiles, and returns the policy with their rules. If the app is served with a profile, it must be one of
/// them.
pub(crate) fn limited(policy: Option<Policy>, app: &App, found: &mut Findings) -> Option<Policy> {
    check_used(app, &mut found.errors);
    check(app, &mut found.errors);
    let mut policy = policy.map(|policy| policy.with_profiles_in(SERVED_SESSIONS));
    for (name, profile) in &app.config.profiles {
        let rules = profile.rules(name);
        let rules = rules.map_err(|error| app.file.error_at(error.place().pointer(), error.to_string()));
        policy = policy.zip(found.built(rules)).map(|(policy, rules)| policy.with_profile(name, rules));
    }
    let served = app.served_profile.iter();
    Some(served.fold(policy?, |policy, profile| policy.with_profile_of(SERVED_SESSIONS, profile)))
}

/// Checks that the profiles exist by which the app is served and its clients are limited.
fn check_used(app: &App, errors: &mut Vec<DocumentError>) {
    let serve = &app.config.serve;
    let tokens = serve.tokens.iter().enumerate();
    let tokens = tokens.map(|(at, token)| (format!("/serve/tokens/{at}/profile"), token.profile.as_deref()));
    let clients = serve.oauth.iter().flat_map(|oauth| &oauth.clients).enumerate();
    let clients =
        clients.map(|(at, client)| (format!("/serve/oauth/clients/{at}/profile"), client.profile.as_deref()));
    let served = [(format!("/{PROFILES}"), app.served_profile.as_deref())];
    for (place, profile) in tokens.chain(clients).chain(served) {
        if let Some(message) = profile.and_then(|name| unknown_profile(name, &app.config.profiles)) {
            errors.push(app.file.error_at(&place, message));
        }
    }
}

/// Returns the message about a profile that does not exist; `None` for one that does.
pub fn unknown_profile(name: &str, profiles: &BTreeMap<String, ProfileConfig>) -> Option<String> {
    let known: Vec<&str> = profiles.keys().map(String::as_str).collect();
    (!profiles.contains_key(name)).then(|| unknown("profile", name, &known))
}

impl ProfileConfig {
    fn rules(&self, name: &str) -> Result<ProfileRules, PolicyError> {
        let location = SettingLocation::default().key(PROFILES).key(name);
        let scope = Scope {
            tools: self.tools.clone(),
            namespaces: self.namespaces.clone(),
            sources: self.sources.clone(),
            max_risk_level: None,
        };
        ProfileRules::new(&scope, self.policy.compiled(&location.key("policy"))?, &location)
    }
}

impl ProfilePolicy {
    fn compiled(&self, location: &SettingLocation) -> Result<Policy, PolicyError> {
        let capabilities = Capabilities {
            default_policy: Effect::Grant,
            max_risk_level: self.max_risk_level,
            approve: self.approve.clone(),
            deny: self.deny.clone(),
            ..Capabilities::default()
        };
        let locations = RuleLocations { capabilities: location.clone(), ..RuleLocations::default() };
        Policy::at(&locations, &capabilities, []).map(former_names::with_former_names)
    }
}

fn check(app: &App, errors: &mut Vec<DocumentError>) {
    let (profiles, file) = (&app.config.profiles, &app.file);
    if profiles.len() > MAX_PROFILES {
        let message = format!("Expected at most {MAX_PROFILES} profiles, found {}", profiles.len());
        errors.push(file.error_at(&format!("/{PROFILES}"), message));
    }
    for (name, profile) in profiles {
        let place = format!("/{PROFILES}/{name}");
        if let Err(message) = check_name("a profile", name) {
            errors.push(file.error_at(&format!("/{PROFILES}"), message));
            continue;
        }
        let lists =
            [("tools", &profile.tools), ("namespaces", &profile.namespaces), ("sources", &profile.sources)];
        for (key, list) in lists {
            let count = list.as_ref().map_or(0, Vec::len);
            if count > MAX_PATTERNS {
                let message = format!("Expected at most {MAX_PATTERNS} patterns, found {count}");
                errors.push(file.error_at(&format!("{place}/{key}"), message));
            }
        }
        for (list, rules) in [("approve", &profile.policy.approve), ("deny", &profile.policy.deny)] {
            for (position, rule) in rules.iter().enumerate() {
                let place = format!("{place}/policy/{list}/{position}/agent");
                capabilities::check_agent(app, &place, rule.agent.as_deref(), errors);
            }
        }
        for (position, tool) in profile.tools.iter().flatten().enumerate() {
            if !tool.contains(['.', '*']) && !tool.contains("::") {
                let message = format!(
                    "Expected `namespace.name` or a glob, found `{tool}`; `namespaces: [{tool}]` selects a namespace"
                );
                errors.push(file.error_at(&format!("{place}/tools/{position}"), message));
            }
        }
    }
}
