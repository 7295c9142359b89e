//! The names of the tools that make tasks, those among them that calls in the background had before there was one action
//! for all.

use serde_json::json;
use toolcrib_model::{JsonObject, ToolCall};
use toolcrib_policy::RUNTIME_NAMESPACE;

use crate::SCHEDULER;

/// The beginnings of the names of all tools that make or change tasks.
const MAKERS: [&str; 5] = ["background_", "watch_", "schedule_", "remind", REMEMBER];

/// The earlier name of `remind`, which the module `memory` has for something else.
const REMEMBER: &str = "remember";

const REMIND: &str = "remind";

const RUN: &str = "background_run";

/// The former names of tools, each with the present one.
const FORMER_NAMES: [(&str, &str); 7] = [
    (REMEMBER, REMIND),
    ("background_status", RUN),
    ("background_result", RUN),
    ("background_wait", RUN),
    ("background_cancel", RUN),
    ("cancel_bg_task", RUN),
    ("background_list", RUN),
];

/// The name of a tool of one of these namespaces, in any spelling; none of what is in another.
fn name_in<'a>(namespaces: &[&str], name: &'a str) -> Option<&'a str> {
    match name.rsplit_once(['.', ':']) {
        Some((namespace, name)) => namespaces.contains(&namespace.trim_end_matches(':')).then_some(name),
        None => Some(name),
    }
}

/// Whether a call by this name, in any spelling, may make something that is kept for later.
pub fn makes_tasks(name: &str) -> bool {
    name_in(&[RUNTIME_NAMESPACE, SCHEDULER], name)
        .is_some_and(|name| MAKERS.iter().any(|maker| name.starts_with(maker)))
}

/// Returns the former names of tools of a namespace, each with the present one.
pub fn former_names(namespace: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_there = move |present| match namespace {
        RUNTIME_NAMESPACE => true,
        SCHEDULER => present == REMIND,
        _ => false,
    };
    FORMER_NAMES.into_iter().filter(move |(_, present)| is_there(*present))
}

/// The call that a call by an earlier name means: of `remind` by `remember`, and of `background_run` by `background_status`,
/// `background_result`, `background_wait`, `background_cancel`, `cancel_bg_task` and `background_list`. They are listed
/// nowhere.
pub fn renamed(call: &ToolCall) -> Option<ToolCall> {
    if name_in(&[RUNTIME_NAMESPACE, SCHEDULER], &call.name) == Some(REMEMBER) {
        let name = format!("{}{REMIND}", call.name.strip_suffix(REMEMBER)?);
        return Some(ToolCall { name, ..call.clone() });
    }
    let mode = match name_in(&[RUNTIME_NAMESPACE], &call.name)? {
        "background_status" | "background_result" => JsonObject::new(),
        "background_wait" => JsonObject::from_iter([("wait".to_owned(), json!(true))]),
        "background_cancel" | "cancel_bg_task" => JsonObject::from_iter([("cancel".to_owned(), json!(true))]),
        "background_list" => JsonObject::from_iter([("list".to_owned(), json!(true))]),
        _ => return None,
    };
    let mut arguments = call.arguments.clone();
    arguments.extend(mode);
    let name = format!("{RUNTIME_NAMESPACE}::{RUN}");
    Some(ToolCall { name, arguments, call_id: call.call_id.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reminder_is_still_made_by_its_earlier_name() {
        for (given, meant) in [
            ("remember", "remind"),
            ("context_builder.remember", "context_builder.remind"),
            ("scheduler::remember", "scheduler::remind"),
        ] {
            let call = ToolCall::new(given, JsonObject::new());
            assert_eq!(renamed(&call).unwrap().name, meant);
            assert!(makes_tasks(given) && makes_tasks(meant));
        }
        assert_eq!(renamed(&ToolCall::new("memory.remember", JsonObject::new())), None);
    }

    #[test]
    fn every_former_name_in_the_table_is_one_by_which_calls_are_made() {
        for (namespace, count) in [(RUNTIME_NAMESPACE, FORMER_NAMES.len()), (SCHEDULER, 1), ("memory", 0)] {
            assert_eq!(former_names(namespace).count(), count, "{namespace}");
            for (former, present) in former_names(namespace) {
                let call = ToolCall::new(format!("{namespace}::{former}"), JsonObject::new());
                assert_eq!(renamed(&call).unwrap().name, format!("{namespace}::{present}"));
            }
        }
    }
}
