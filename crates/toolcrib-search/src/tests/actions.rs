//! Verbs, aliases and tools that should not be used any more.

use serde_json::json;

use super::{index, search, tool};

#[test]
fn the_verb_of_a_request_decides_between_the_tools_of_one_noun() {
    let tools = ["create", "read", "list", "replace", "delete"].map(|verb| {
        tool(&format!("k8s::{verb}PolicyV1PodDisruptionBudget"), "A PodDisruptionBudget of the cluster.")
    });
    let index = index(&tools);
    for (query, verb) in [
        ("create pod disruption budget", "create"),
        ("get one pod disruption budget", "read"),
        ("show me the pod disruption budget", "read"),
        ("list all pod disruption budgets", "list"),
        ("change the pod disruption budget", "replace"),
        ("modify a pod disruption budget", "replace"),
        ("remove the pod disruption budget", "delete"),
        ("supprimer pod disruption budget", "delete"),
    ] {
        let found = search(&index, query);
        assert_eq!(found[0], format!("k8s::{verb}PolicyV1PodDisruptionBudget"), "{query}: {found:?}");
    }
}

#[test]
fn a_tool_that_changes_does_not_stand_before_one_that_looks_where_the_query_only_looks() {
    let index = index(&[
        tool("shop::add_order", "Adds an order, an open order of a customer; the order is open."),
        tool("shop::delete_order", "Deletes an open order of a customer."),
        tool("shop::get_order", "Returns an open order."),
    ]);
    for query in
        ["find the open order of a customer", "show open orders of a customer", "get open customer order"]
    {
        assert_eq!(search(&index, query)[0], "shop::get_order", "{query}");
    }
    assert_eq!(search(&index, "delete the open order of a customer")[0], "shop::delete_order");
    // What comes behind a look may be anything.
    assert_ne!(search(&index, "find the customer, and add an open order")[0], "shop::get_order");
}

#[test]
fn a_tool_whose_alias_is_in_the_query_stands_first() {
    let index = index(&[
        tool("tasks::schedule_cron", "Runs something by a cron line.")
            .with_metadata("aliases", json!(["recurring task", "cron", "task"])),
        tool("tasks::schedule_cancel", "Cancels a scheduled task; the task is not scheduled again."),
        tool("tasks::schedule_list", "Lists each scheduled task, and when the task is scheduled."),
    ]);
    for query in ["schedule a recurring task", "Recurring tasks?", "please a cron", "task"] {
        assert_eq!(search(&index, query)[0], "tasks::schedule_cron", "{query}");
    }
    // A single word that other tools have is no alias in a longer query.
    assert_ne!(search(&index, "cancel a scheduled task")[0], "tasks::schedule_cron");
    // A name goes before an alias.
    assert_eq!(search(&index, "tasks.schedule_list of a recurring task")[0], "tasks::schedule_list");
}

#[test]
fn a_deprecated_tool_falls_behind() {
    let old = tool("a::send_mail", "DEPRECATED: sends a mail to a person.");
    let marked = tool("b::send_mail", "Sends a mail to a person.").with_metadata("deprecated", true);
    let index = index(&[old, marked, tool("c::send_mail", "Sends a mail to a person.")]);
    assert_eq!(search(&index, "mail to a person, please")[0], "c::send_mail");
}
