//! Tests of the injection decision.

use serde_json::json;
use toolcrib_model::{QualifiedName, Tool};

use super::{RUNTIME, example_tools, runtime_tools, taking, tool};
use crate::{Error, Injection, InjectionMode, InjectionSettings, Plan, Role, WireNames, estimate_tokens};

fn plan(tools: &[Tool], settings: &InjectionSettings) -> Plan {
    Plan::new(tools, settings, &WireNames::new(tools, RUNTIME, &[])).unwrap()
}

fn window(context_window: u32) -> InjectionSettings {
    InjectionSettings { context_window, ..InjectionSettings::default() }
}

fn offered(plan: &Plan) -> Vec<&str> {
    plan.offered.iter().map(|tool| tool.wire_name.as_str()).collect()
}

fn all_tools() -> Vec<Tool> {
    runtime_tools().into_iter().chain(example_tools()).collect()
}

#[test]
fn the_documented_examples_are_decided_as_documented() {
    let example = plan(&example_tools(), &window(131_000));
    assert_eq!(
        (example.budget_tokens, example.tokens.direct, example.mode),
        (26_200, 1_000, Injection::Direct)
    );
    assert_eq!(window(8_000).decide(30), Ok(Injection::Discovery));
}

#[test]
fn tools_that_fill_the_budget_exactly_are_direct_and_one_token_less_is_discovery() {
    assert_eq!(window(5_000).decide(5), Ok(Injection::Direct));
    assert_eq!(window(4_999).decide(5), Ok(Injection::Discovery));
    assert_eq!(window(5_000).decide(6), Ok(Injection::Discovery));
    assert_eq!(window(0).decide(0), Ok(Injection::Direct));
    assert_eq!(window(u32::MAX).decide(usize::MAX), Ok(Injection::Discovery));
}

#[test]
fn the_budget_is_a_share_of_the_window_rounded_down() {
    let budget = |context_window, tool_budget| {
        InjectionSettings { context_window, tool_budget, ..InjectionSettings::default() }.budget_tokens()
    };
    assert_eq!(budget(131_072, 0.2), Ok(26_214));
    assert_eq!(budget(100, 0.29), Ok(29), "0.29 * 100.0 is a little less than 29");
    assert_eq!(budget(u32::MAX, 1.0), Ok(u32::MAX));
    assert_eq!(budget(7, 0.0), Ok(0));
}

#[test]
fn a_budget_that_is_no_share_is_refused() {
    for share in [-0.1, 1.5, 20.0, f64::INFINITY] {
        let settings = InjectionSettings { tool_budget: share, ..InjectionSettings::default() };
        assert_eq!(settings.decide(1), Err(Error::ToolBudget { share }));
    }
    let settings = InjectionSettings { tool_budget: f64::NAN, ..InjectionSettings::default() };
    assert!(settings.decide(1).is_err());
    let error =
        serde_json::from_value::<InjectionSettings>(json!({"tool_budget": 20})).unwrap_err().to_string();
    assert!(error.contains("between 0 and 1"), "{error}");
}

#[test]
fn settings_read_from_data_have_the_documented_defaults() {
    let settings: InjectionSettings = serde_json::from_value(json!({"mode": "discovery"})).unwrap();
    assert_eq!(
        settings,
        InjectionSettings { mode: InjectionMode::Discovery, ..InjectionSettings::default() }
    );
    assert_eq!((settings.context_window, settings.tokens_per_tool), (131_072, 200));
    assert!(serde_json::from_value::<InjectionSettings>(json!({"mode": "sometimes"})).is_err());
    assert!(serde_json::from_value::<InjectionSettings>(json!({"budget": 1})).is_err());
}

#[test]
fn tools_of_the_runtime_are_not_counted() {
    let plan = plan(&all_tools(), &window(5_000));
    assert_eq!((plan.tool_count, plan.mode), (5, Injection::Direct));
    assert_eq!(plan.domains, ["filesystem", "hello"]);
}

#[test]
fn direct_mode_offers_all_but_the_discovery_tools() {
    let plan = plan(&all_tools(), &window(5_000));
    assert_eq!(
        offered(&plan),
        [
            "run_parallel",
            "ask_user",
            "filesystem__find",
            "filesystem__grep",
            "filesystem__ls",
            "filesystem__read",
            "hello__greet"
        ]
    );
}

#[test]
fn discovery_mode_offers_the_discovery_tools_and_the_operational_ones() {
    let mut tools = all_tools();
    tools.push(tool("memory", "remember").with_metadata("operational", true));
    // A source cannot make its tool a discovery tool.
    tools.push(tool("evil", "search").with_metadata("discovery", true));
    let plan = plan(&tools, &window(4_000));
    assert_eq!(plan.mode, Injection::Discovery);
    assert_eq!(
        offered(&plan),
        [
            "search_tools",
            "get_tool",
            "execute_tool",
            "list_categories",
            "browse_category",
            "ask_user",
            "memory__remember"
        ]
    );
    assert_eq!(plan.offered.iter().filter(|tool| tool.role == Role::Discovery).count(), 5);
}

#[test]
fn a_wanted_mode_is_kept_whatever_the_size() {
    let with = |mode| plan(&all_tools(), &InjectionSettings { mode, ..window(5_000) }).mode;
    assert_eq!(with(InjectionMode::Discovery), Injection::Discovery);
    let tiny = InjectionSettings { mode: InjectionMode::Direct, ..window(10) };
    assert_eq!(plan(&all_tools(), &tiny).mode, Injection::Direct);
}

#[test]
fn the_order_of_sources_makes_no_difference() {
    let tools = all_tools();
    let mut reordered = runtime_tools();
    reordered.extend(example_tools().into_iter().rev());
    assert_eq!(plan(&tools, &window(5_000)), plan(&reordered, &window(5_000)));
}

#[test]
fn overloads_are_offered_one_by_one() {
    let tools = [taking("a", "get", "name"), taking("a", "get", "id")];
    let plan = plan(&tools, &window(5_000));
    assert_eq!(plan.offered.len(), 2);
    assert_eq!(plan.offered[0].wire_name, "a__get");
    assert!(plan.offered[0].parameters["properties"].get("name").is_some());
}

#[test]
fn a_tool_without_a_wire_name_is_an_error_that_names_it() {
    let tools = [tool("a", "b")];
    let error = Plan::new(&tools, &window(5_000), &WireNames::new([], RUNTIME, &[])).unwrap_err();
    assert_eq!(error, Error::NoWireName { name: QualifiedName::new("a", "b").unwrap() });
}

#[test]
fn the_figures_are_those_of_the_payload() {
    let plan = plan(&all_tools(), &window(4_000));
    assert_eq!((plan.tokens.direct, plan.tokens.compact), (1_000, 150));
    let sent: u32 = plan.offered.iter().map(|tool| estimate_tokens(&tool.function().to_string())).sum();
    assert_eq!(plan.tokens.chosen, u64::from(sent));
}

#[test]
fn the_json_form_is_that_of_the_command_line_contract() {
    insta::assert_json_snapshot!(plan(&example_tools()[..2], &window(8_000)).to_json("You are brief."));
}

#[test]
fn a_token_is_four_bytes_rounded_up() {
    assert_eq!(["", "a", "abcd", "abcde", "天气"].map(estimate_tokens), [0, 1, 1, 2, 2]);
}
