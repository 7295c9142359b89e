//! The approval that calls of a tool need, as `toolcrib why` shows it.

use serde_json::{Value, json};
use toolcrib_app::App;
use toolcrib_model::Tool;
use toolcrib_policy::{ApprovalRequirement, ApprovalRule, Policy, SettingLocation};

use crate::ui::output;

/// The approval that calls of a tool need, with the rules that require it.
pub(super) struct NeededApproval<'a> {
    app: &'a App,
    requirement: ApprovalRequirement,
    rules: Vec<(&'a SettingLocation, &'a ApprovalRule)>,
}

impl<'a> NeededApproval<'a> {
    pub(super) fn new(app: &'a App, policy: &'a Policy, tool: &Tool, session: &str) -> Self {
        let requirement = policy.approval_requirement(tool, session, None);
        Self { app, requirement, rules: policy.approval_rules(tool) }
    }

    pub(super) fn to_json(&self) -> Value {
        let rule = |(place, rule): &(&SettingLocation, &ApprovalRule)| {
            json!({
                "rule": place.to_string(),
                "position": self.position(place),
                "ask": rule.ask,
                "approvers": rule.approvers,
                "four_eyes": rule.four_eyes,
            })
        };
        json!({
            "approvers": self.requirement.approvers,
            "four_eyes": self.requirement.four_eyes,
            "requester": self.requirement.requester,
            "eligible": self.eligible(),
            "channels": self.requirement.channels,
            "rules": self.rules.iter().map(rule).collect::<Vec<_>>(),
            "to_change": self.to_change(),
        })
    }

    pub(super) fn say(&self) {
        let ApprovalRequirement { approvers, four_eyes, requester, channels, .. } = &self.requirement;
        let count = match approvers {
            1 => "1 person".to_owned(),
            needed => format!("{needed} different people"),
        };
        let others = if *four_eyes { format!(", not by `{requester}`, who calls") } else { String::new() };
        output::say(&format!("  to be approved by {count}{others}: {}", self.eligible_in_words()));
        for channel in channels {
            output::say(&format!("    asked by {channel}: {}", self.people_of(channel).join(", ")));
        }
        for (place, rule) in &self.rules {
            let position = self.position(place).map(|place| format!("   ({place})")).unwrap_or_default();
            output::say(&format!("    required by {place}: {}{position}", settings(rule)));
        }
        output::say(&format!("    to change it: {}", self.to_change()));
    }

    fn eligible(&self) -> Vec<&str> {
        let people = self.app.config.approvals.people.keys().map(String::as_str);
        self.requirement.eligible(people).into_iter().collect()
    }

    fn eligible_in_words(&self) -> String {
        let eligible = self.eligible();
        let missing = self.requirement.approvers.saturating_sub(eligible.len());
        match missing {
            0 => eligible.join(", "),
            _ => format!(
                "{}; {missing} more must be added to `approvals.people`",
                if eligible.is_empty() { "no person".to_owned() } else { eligible.join(", ") }
            ),
        }
    }

    /// Returns the people of a channel. The app has been validated.
    fn people_of(&self, channel: &str) -> Vec<&str> {
        let entry = self.app.config.approvals.channels.get(channel);
        let people = entry.and_then(|entry| entry["people"].as_array()).into_iter().flatten();
        people.filter_map(Value::as_str).collect()
    }

    /// Returns the place of a rule in the file: `app.yaml:12:5`.
    fn position(&self, place: &SettingLocation) -> Option<String> {
        let file = &self.app.file;
        Some(format!("{}:{}", file.name, file.document().position_of(place.pointer())?))
    }

    /// Returns what would change the approval, as advice for the author of the app file.
    fn to_change(&self) -> String {
        let names = |matches: &dyn Fn(&ApprovalRule) -> bool| {
            let rules = self.rules.iter().filter(|(_, rule)| matches(rule));
            let names: Vec<String> = rules.map(|(place, _)| format!("`{place}`")).collect();
            names.join(" and ")
        };
        let requirement = &self.requirement;
        let mut advice = Vec::new();
        if requirement.approvers > 1 {
            let rules = names(&|rule| usize::from(rule.approvers.get()) == requirement.approvers);
            advice.push(format!("lower `approvers` of {rules}"));
        }
        if requirement.four_eyes {
            advice.push(format!("remove `four_eyes` from {}", names(&|rule| rule.four_eyes)));
        }
        if !requirement.channels.is_empty() {
            advice.push(format!("change `ask` of {}", names(&|rule| !rule.ask.is_empty())));
        }
        if advice.is_empty() {
            advice.push("add a rule for the tool to `approvals.rules`".to_owned());
        }
        advice.join("; ")
    }
}

fn settings(rule: &ApprovalRule) -> String {
    let mut settings = vec![format!("approvers {}", rule.approvers)];
    if rule.four_eyes {
        settings.push("four_eyes".to_owned());
    }
    if !rule.ask.is_empty() {
        settings.push(format!("ask {}", rule.ask.join(", ")));
    }
    settings.join("; ")
}
