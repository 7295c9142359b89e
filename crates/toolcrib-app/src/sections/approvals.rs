//! `approvals`: the people who approve calls, and the channels that ask them.

mod channels;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toolcrib_document::Error as DocumentError;
use toolcrib_model::Secret;
use toolcrib_model::text::pointer_part;
use toolcrib_policy::{ApprovalRule, OPERATOR, People, Policy, SettingLocation};
use toolcrib_tasks::channels::check_address;
use url::Url;

use crate::file::expansion;
use crate::findings::Findings;
use crate::sections::serve::{LOCAL_CLIENT, SERVED_SESSIONS, sessions_of, too_short};
use crate::sections::values::{check_name, present, unknown};
use crate::{App, AppFile, Error};

pub use self::channels::{ApprovalChannel, ApprovalChannels, ApprovalTransport, WebhookFormat};

/// The most people of an app.
const MAX_PEOPLE: usize = 64;

/// `approvals`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ApprovalsSection {
    /// The URL under which people reach this server, such as `https://tools.example.com`. The links in messages begin
    /// with it, and its host name is one of `serve.allowed_hosts`. Required for channels.
    #[serde(deserialize_with = "present")]
    pub url: Option<String>,
    /// The people who approve calls in addition to the operator, by name.
    pub people: BTreeMap<String, PersonConfig>,
    /// The channels that ask people about calls, by name, each `{type: …}` with the settings of that type. An app
    /// without a rule that names a channel asks no one by it.
    pub channels: BTreeMap<String, Value>,
    /// The calls that particular people, or several, have to approve.
    pub rules: Vec<ApprovalRule>,
}

/// `approvals.people.NAME`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PersonConfig {
    /// The principals that are this person, in addition to the name itself: clients of the server by name, users, and
    /// `operator`. A person does not count twice, and does not approve their own calls where `four_eyes` forbids it.
    pub principals: Vec<String>,
    /// The address of the person, for channels of type `email`.
    #[serde(deserialize_with = "present")]
    pub email: Option<String>,
    /// The key with which the person signs in at the console, as `${NAME}`; at least 16 characters.
    #[serde(deserialize_with = "present")]
    pub key: Option<String>,
}

impl ApprovalsSection {
    /// Returns the keys of people for the console, with what their variables hold now.
    pub fn page_keys(&self, file: &AppFile) -> Result<Vec<(String, Secret)>, Error> {
        let mut keys: Vec<(String, Secret)> = Vec::new();
        for (name, person) in &self.people {
            let Some(key) = &person.key else { continue };
            let place = format!("/approvals/people/{}/key", pointer_part(name));
            let key = expansion::expanded(file, key, &place, false).map_err(|error| file.wrong(error))?;
            if let Some(message) = too_short("key", &key) {
                return Err(file.wrong(file.error_at(&place, message)));
            }
            if keys.iter().any(|(_, other)| other.expose() == key) {
                let message = "another person has this key already; give each a different one";
                return Err(file.wrong(file.error_at(&place, message)));
            }
            let key = Secret::new(key);
            file.secrets.add(name, key.clone());
            keys.push((name.clone(), key));
        }
        Ok(keys)
    }

    /// Returns the host name of [`url`](Self::url).
    pub fn host(&self) -> Option<String> {
        Url::parse(self.url.as_deref()?).ok()?.host_str().map(str::to_owned)
    }

    /// Returns the people, with the sessions of clients.
    fn people(&self) -> People {
        let served = People::default().with_served_sessions(SERVED_SESSIONS, &sessions_of(LOCAL_CLIENT));
        self.people.iter().fold(served, |people, (name, person)| {
            people.with_person(name, person.principals.iter().cloned())
        })
    }
}

/// Checks the section beyond its types, and returns the policy with its rules.
pub(crate) fn rules(policy: Option<Policy>, app: &App, found: &mut Findings) -> Option<Policy> {
    let (section, file) = (&app.config.approvals, &app.file);
    check(section, file, &mut found.errors);
    channels::check(app, found);
    let location = SettingLocation::default().key("approvals").key("rules");
    let policy = policy?.with_approval_rules(&section.rules, section.people(), &location);
    found.built(policy.map_err(|error| file.error_at(error.place().pointer(), error.to_string())))
}

fn check(section: &ApprovalsSection, file: &AppFile, errors: &mut Vec<DocumentError>) {
    if section.people.len() > MAX_PEOPLE {
        let message = format!("expected at most {MAX_PEOPLE} people, found {}", section.people.len());
        errors.push(file.error_at("/approvals/people", message));
    }
    let mut principals = BTreeSet::new();
    for (name, person) in &section.people {
        let place = format!("/approvals/people/{}", pointer_part(name));
        if name == OPERATOR {
            let message =
                "the operator is a person already; name `operator` under the `principals` of another person";
            errors.push(file.error_at(&place, message));
        } else if let Err(message) = check_name("a person", name) {
            errors.push(file.error_at(&place, message));
        }
        for (position, principal) in person.principals.iter().enumerate() {
            let is_other = principal != name && section.people.contains_key(principal);
            if is_other || !principals.insert(principal) {
                let message = format!("another person is `{principal}` already");
                errors.push(file.error_at(&format!("{place}/principals/{position}"), message));
            }
        }
        if let Some(Err(error)) = person.email.as_deref().map(check_address) {
            let message = format!("expected an address, such as `alice@example.com`: {error}");
            errors.push(file.error_at(&format!("{place}/email"), message));
        }
        let key = person.key.as_deref().map(|key| expansion::expanded(file, key, &place, false));
        // One whose variable is not set here may be set where the app is served.
        if let Some(message) = key.and_then(Result::ok).and_then(|key| too_short("key", &key)) {
            errors.push(file.error_at(&format!("{place}/key"), message));
        }
    }
    let known: Vec<&str> = section.channels.keys().map(String::as_str).collect();
    for (position, rule) in section.rules.iter().enumerate() {
        for (at, channel) in
            rule.ask.iter().enumerate().filter(|(_, channel)| !known.contains(&channel.as_str()))
        {
            let place = format!("/approvals/rules/{position}/ask/{at}");
            errors.push(file.error_at(&place, unknown("channel", channel, &known)));
        }
    }
}
