//! Tests of the injection decision.

use toolcrib_model::{QualifiedName, Tool};

use super::{RUNTIME, example_tools, runtime_tools, schema, taking, tool};
use crate::injection::Estimate;
use crate::system_prompt::CallStyle;
use crate::tokenizer::estimate_tokens;
use crate::{
    Error, Injection, InjectionMode, InjectionSettings, Plan, Role, SystemPrompt, Tokenizer, WireNames,
};

fn plan(tools: &[Tool], settings: &InjectionSettings) -> Plan {
    Plan::new(tools, settings, &WireNames::new(tools, RUNTIME, &[])).unwrap()
}

fn window(context_window: u32) -> InjectionSettings {
    InjectionSettings { context_window, ..InjectionSettings::default() }
}

fn per_tool(context_window: u32) -> InjectionSettings {
    InjectionSettings { estimate: Estimate::PerTool(200), ..window(context_window) }
}

/// A budget of so many tokens.
fn budget(tokens: u64) -> InjectionSettings {
    InjectionSettings { tool_budget: 1.0, ..window(u32::try_from(tokens).unwrap()) }
}

fn wanted(mode: InjectionMode) -> InjectionSettings {
    InjectionSettings { mode, ..InjectionSettings::default() }
}

fn offered(plan: &Plan) -> Vec<&str> {
    plan.offered.iter().map(|tool| tool.wire_name.as_str()).collect()
}

fn listed(plan: &Plan) -> Vec<String> {
    plan.listed.iter().map(|line| line.name.dotted()).collect()
}

fn all_tools() -> Vec<Tool> {
    runtime_tools().into_iter().chain(example_tools()).collect()
}

/// So many tools that the ways of showing them differ, three to a namespace.
fn many(count: usize) -> Vec<Tool> {
    let tools = (0..count).map(|n| {
        taking(&format!("domain_{}", n / 3), &format!("tool_{n}"), "argument")
            .with_description(
                "Does one thing. It does that in a way that takes many more words to say in full.",
            )
            .with_parameters(schema(&"long_name_of_an_argument_".repeat(8)))
    });
    runtime_tools().into_iter().chain(tools).collect()
}

#[test]
fn with_a_figure_for_each_tool_the_documented_examples_are_decided_as_documented() {
    let example = plan(&example_tools(), &per_tool(131_000));
    assert_eq!(
        (example.budget_tokens, example.tokens().direct, example.mode),
        (26_200, 1_000, Injection::Direct)
    );
    assert_eq!(plan(&many(30), &per_tool(8_000)).mode, Injection::Discovery);
}

#[test]
fn with_a_figure_for_each_tool_those_that_fill_the_budget_exactly_are_direct_and_one_token_less_is_discovery()
{
    let tools = all_tools();
    assert_eq!(plan(&tools, &per_tool(5_000)).mode, Injection::Direct);
    assert_eq!(plan(&tools, &per_tool(4_999)).mode, Injection::Discovery);
    assert_eq!(plan(&[], &per_tool(0)).mode, Injection::Direct);
}

#[test]
fn tools_that_fill_the_budget_exactly_are_direct_and_one_token_less_is_not() {
    let tools = many(60);
    for tokenizer in [Tokenizer::Estimate, Tokenizer::O200k] {
        for style in [CallStyle::Native, CallStyle::Text] {
            let with = |tokens| plan(&tools, &InjectionSettings { tokenizer, style, ..budget(tokens) });
            let direct = with(1_000_000).tokens().direct;
            assert_eq!(with(direct).mode, Injection::Direct, "{tokenizer:?} {style:?}");
            assert_ne!(with(direct - 1).mode, Injection::Direct, "{tokenizer:?} {style:?}");
        }
    }
}

#[test]
fn a_list_takes_a_quarter_of_the_budget_at_most_unless_it_is_asked_for() {
    let tools = many(60);
    let compact = plan(&tools, &wanted(InjectionMode::Compact));
    let list = compact.list_tokens();
    assert_eq!(plan(&tools, &budget(4 * list)).mode, Injection::Compact);
    assert_eq!(plan(&tools, &budget(4 * list - 1)).mode, Injection::Discovery);
    let asked_for = InjectionSettings { mode: InjectionMode::Compact, ..budget(1) };
    assert_eq!((plan(&tools, &asked_for).mode, plan(&tools, &asked_for).unlisted()), (Injection::Compact, 0));
}

#[test]
fn with_pinned_tools_what_is_too_large_is_mixed() {
    let tools = many(200);
    let pinned = [QualifiedName::new("domain_7", "tool_21").unwrap()].into();
    let mixed = plan(&tools, &InjectionSettings { pinned, ..budget(2_000) });
    assert_eq!(mixed.mode, Injection::Mixed);
    assert!(
        offered(&mixed).contains(&"domain_7__tool_21")
            && !listed(&mixed).contains(&"domain_7.tool_21".into())
    );
    assert!(mixed.list_tokens() <= 500 && mixed.tokens().chosen <= 2_000);
    // One of each namespace before a second of any.
    assert_eq!(mixed.listed[0].name.dotted(), "domain_0.tool_0");
    assert!(
        mixed.listed.iter().filter(|line| line.name.namespace() == "domain_0").count() <= 1,
        "{:?}",
        listed(&mixed)
    );
}

#[test]
fn tools_that_cost_less_than_what_they_would_be_found_with_are_direct() {
    assert_eq!(plan(&all_tools(), &budget(10)).mode, Injection::Discovery);
    let few: Vec<_> = all_tools().into_iter().take(8).collect();
    let plan = plan(&few, &budget(10));
    assert_eq!(plan.mode, Injection::Direct);
    assert!(plan.tokens().direct > 10);
}

#[test]
fn each_mode_offers_what_it_says() {
    let mut tools = all_tools();
    tools.push(tool("memory", "remember").with_metadata("operational", true));
    // A source cannot make its tool a discovery tool.
    tools.push(tool("evil", "search").with_metadata("discovery", true));
    let pinned = [QualifiedName::new("hello", "greet").unwrap()].into();
    let settings = InjectionSettings { pinned, ..InjectionSettings::default() };
    let mut told = Vec::new();
    for mode in [
        InjectionMode::Direct,
        InjectionMode::Compact,
        InjectionMode::Discovery,
        InjectionMode::Mixed,
        InjectionMode::Native,
    ] {
        let plan = plan(&tools, &InjectionSettings { mode, defers_tools: true, ..settings.clone() });
        told.push(format!(
            "{}\n  offered: {}\n  listed: {}\n  unlisted: {}\n",
            plan.mode,
            offered(&plan).join(", "),
            listed(&plan).join(", "),
            plan.unlisted()
        ));
        assert_eq!(plan.offered.len() + plan.hidden.len(), tools.len(), "nothing is lost");
        let meta = plan.offered.iter().filter(|tool| tool.role == Role::Discovery).count();
        let expected = match plan.mode {
            Injection::Direct => 0,
            Injection::Compact => 2,
            Injection::Discovery | Injection::Mixed => 5,
            Injection::Native => 1,
        };
        assert_eq!(meta, expected, "{mode:?}");
    }
    insta::assert_snapshot!(told.concat());
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
        assert_eq!(settings.budget_tokens(), Err(Error::ToolBudget { share }));
    }
    let settings = InjectionSettings { tool_budget: f64::NAN, ..InjectionSettings::default() };
    assert!(settings.budget_tokens().is_err());
}

#[test]
fn the_figures_are_those_of_what_is_sent() {
    for style in [CallStyle::Native, CallStyle::Text] {
        let settings =
            InjectionSettings { tokenizer: Tokenizer::O200k, style, ..wanted(InjectionMode::Compact) };
        let plan = plan(&all_tools(), &settings);
        let prompt = SystemPrompt::new(&plan).render();
        let count = |text: &str| u64::from(Tokenizer::O200k.count(text));
        let lines = prompt
            .text
            .lines()
            .filter(|line| line.starts_with("- filesystem.") || line.starts_with("- hello."));
        let lines: u64 = lines.map(|line| count(&format!("{line}\n"))).sum();
        let tools: u64 = match style {
            CallStyle::Native => plan.offered.iter().map(|tool| count(&tool.function().to_string())).sum(),
            CallStyle::Text => {
                let blocks = prompt.text.split_once("## Tools\n\n").unwrap().1;
                let blocks = blocks.split_once("\n\nCall template").unwrap().0;
                blocks.split("\n\n").map(count).sum()
            }
        };
        assert_eq!((plan.tokens().compact, plan.tokens().chosen), (tools + lines, tools + lines));
        let parts = plan.parts(&prompt);
        let part = |name| parts.iter().find(|(part, _)| *part == name).unwrap().1;
        assert_eq!(part("system_prompt"), count(&prompt.text));
        assert_eq!(part("tools"), if style == CallStyle::Native { tools } else { 0 });
        assert_eq!(part("total"), part("tools") + part("system_prompt"));
    }
}

#[test]
fn the_json_form_is_that_of_the_command_line_contract() {
    let plan = plan(&example_tools()[..2], &window(8_000));
    insta::assert_json_snapshot!(
        plan.to_json(&SystemPrompt::new(&plan).with_user_prompt("You are brief.").render())
    );
}

#[test]
fn tools_of_the_runtime_are_not_counted() {
    let plan = plan(&all_tools(), &window(131_072));
    assert_eq!((plan.tool_count, plan.mode), (5, Injection::Direct));
    assert_eq!(plan.domains, ["filesystem", "hello"]);
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
    assert!(plan.offered[0].parameters()["properties"].get("name").is_some());
}

#[test]
fn a_tool_without_a_wire_name_is_an_error_that_names_it() {
    let tools = [tool("a", "b")];
    let error = Plan::new(&tools, &window(5_000), &WireNames::new([], RUNTIME, &[])).unwrap_err();
    assert_eq!(error, Error::NoWireName { name: QualifiedName::new("a", "b").unwrap() });
}

#[test]
fn a_token_is_four_bytes_rounded_up() {
    assert_eq!(["", "a", "abcd", "abcde", "天气"].map(estimate_tokens), [0, 1, 1, 2, 2]);
}

/// Tools that belong to the running of an agent, one of each presence, and one of a module.
fn operational_tools() -> Vec<Tool> {
    let own = |namespace: &str, name: &str, presence: &str| {
        let tool = taking(namespace, name, "argument").with_description("Serves the agent itself.");
        tool.with_metadata("operational", true).with_metadata("presence", presence)
    };
    let mut tools: Vec<_> = runtime_tools()
        .into_iter()
        .filter(|tool| !tool.traits().operational)
        .chain(example_tools())
        .collect();
    tools.extend([
        own(RUNTIME, "read_result", "essential"),
        own(RUNTIME, "ask_user", ""),
        own(RUNTIME, "use_skill", ""),
        own(RUNTIME, "watch_start", "on_demand"),
        own("memory", "remember", "essential"),
    ]);
    tools
}

#[test]
fn tools_of_the_agents_running_are_at_hand_while_there_is_room_and_found_like_others_beyond_it() {
    let operational = |settings: &InjectionSettings| {
        let plan = plan(&operational_tools(), settings);
        let offered = plan.offered.iter().filter(|tool| tool.role == Role::Operational);
        let offered = offered.map(|tool| tool.wire_name.clone()).collect::<Vec<_>>().join(" ");
        (offered, plan.unlisted_operational_tools())
    };
    let told = |offered: &str, found: &str| (offered.to_owned(), found.to_owned());
    let discovery = wanted(InjectionMode::Discovery);
    assert_eq!(
        operational(&discovery),
        told("read_result ask_user use_skill memory__remember", "watch_start")
    );
    // They may take a quarter of the budget.
    let at_hand = plan(&operational_tools(), &discovery);
    let at_hand = at_hand.offered.iter().filter(|tool| tool.role == Role::Operational);
    let all: u64 = at_hand.map(|tool| u64::from(tool.tokens(CallStyle::Native, Tokenizer::Estimate))).sum();
    let small = InjectionSettings { mode: InjectionMode::Discovery, ..budget(4 * (all - 1)) };
    assert_eq!(operational(&small), told("read_result ask_user memory__remember", "use_skill, watch_start"));
    let tiny = InjectionSettings { mode: InjectionMode::Discovery, ..budget(1) };
    assert_eq!(operational(&tiny), told("read_result memory__remember", "ask_user, use_skill, watch_start"));
    // A client has an agent of its own, with a memory of its own.
    let client = InjectionSettings { for_client: true, ..wanted(InjectionMode::Discovery) };
    assert_eq!(
        operational(&client),
        told("read_result", "ask_user, use_skill, watch_start, memory.remember")
    );
    let direct = InjectionSettings { for_client: true, ..wanted(InjectionMode::Direct) };
    let all = "read_result ask_user use_skill watch_start memory__remember";
    assert_eq!(operational(&direct), told(all, ""));
    // Where there is a list, they stand in it.
    let compact = plan(&operational_tools(), &wanted(InjectionMode::Compact));
    assert!(
        listed(&compact).contains(&"context_builder.watch_start".into())
            && compact.unlisted_operational_tools().is_empty()
    );
    let prompt = SystemPrompt::new(&compact).render().text;
    assert!(prompt.contains("\n- watch_start: ") && !prompt.contains(RUNTIME), "{prompt}");
    // It is called by the name under which it is told of.
    let pinned = [QualifiedName::new(RUNTIME, "watch_start").unwrap()].into();
    let pinned = InjectionSettings { pinned, ..wanted(InjectionMode::Mixed) };
    assert!(offered(&plan(&operational_tools(), &pinned)).contains(&"watch_start"));
}
