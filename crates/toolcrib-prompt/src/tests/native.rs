//! Tests of native mode.

use toolcrib_model::Tool;
use toolcrib_model::tool::DiscoveryStep;

use super::{RUNTIME, example_tools, runtime_tools, tool};
use crate::system_prompt::CallStyle;
use crate::{Error, InjectionMode, InjectionSettings, Plan, SystemPrompt, WireNames};

fn all_tools() -> Vec<Tool> {
    let watch =
        tool(RUNTIME, "watch").with_metadata("operational", true).with_metadata("presence", "on_demand");
    runtime_tools().into_iter().chain(example_tools()).chain([watch]).collect()
}

fn settings(mode: InjectionMode) -> InjectionSettings {
    InjectionSettings { mode, defers_tools: true, ..InjectionSettings::default() }
}

fn plan(settings: &InjectionSettings) -> Result<Plan, Error> {
    let tools = all_tools();
    Plan::new(&tools, settings, &WireNames::new(&tools, RUNTIME, &[]))
}

#[test]
fn native_mode_offers_the_search_and_defers_the_tools_that_it_finds() {
    let mut settings = settings(InjectionMode::Native);
    settings.pinned.insert("hello::greet".parse().unwrap());
    let plan = plan(&settings).unwrap();
    let offered: Vec<_> = plan.offered.iter().map(|tool| tool.wire_name.as_str()).collect();
    assert_eq!(offered, ["search_tools", "ask_user", "hello__greet"]);
    assert_eq!(plan.search_tool().unwrap().wire_name, "search_tools");
    assert!(plan.offered.iter().all(|tool| tool.step != Some(DiscoveryStep::Execute)));

    let reveals = plan.reveals();
    for spelling in ["filesystem.read", "filesystem::read", "filesystem__read"] {
        assert_eq!(reveals.named(spelling).next().unwrap().wire_name, "filesystem__read");
    }
    assert_eq!(reveals.named("watch").count(), 1, "an operational tool is found like others");
    for spelling in ["hello.greet", "execute_tool", "no.such"] {
        assert_eq!(reveals.named(spelling).count(), 0, "{spelling}");
    }
}

#[test]
fn native_mode_needs_an_api_that_defers_tools() {
    let text = InjectionSettings { style: CallStyle::Text, ..settings(InjectionMode::Native) };
    let other = InjectionSettings { defers_tools: false, ..settings(InjectionMode::Native) };
    for settings in [text, other] {
        let error = plan(&settings).unwrap_err();
        assert_eq!(error, Error::NotDeferred);
        assert!(error.to_string().ends_with("write `discovery`"), "{error}");
    }
}

#[test]
fn the_costs_of_native_mode_and_discovery_stand_side_by_side_where_both_are_possible() {
    let of = |mode| plan(&settings(mode)).unwrap().tokens();
    let (native, discovery) = (of(InjectionMode::Native), of(InjectionMode::Discovery));
    assert_eq!((native.native, native.discovery), (Some(native.chosen), Some(discovery.chosen)));
    assert_eq!((discovery.native, discovery.discovery), (Some(native.chosen), Some(discovery.chosen)));
    assert!(native.chosen < discovery.chosen, "{native:?}");
    let other = InjectionSettings { defers_tools: false, ..settings(InjectionMode::Discovery) };
    let other = plan(&other).unwrap().tokens();
    assert_eq!((other.native, other.discovery), (None, None));
}

#[test]
fn the_prompt_of_native_mode_names_no_tool_that_runs_others() {
    let plan = plan(&settings(InjectionMode::Native)).unwrap();
    let prompt = SystemPrompt::new(&plan).with_agent("assistant", "assistant").render();
    let search = plan.search_tool().unwrap();
    insta::assert_snapshot!(format!("{}: {}\n\n{}", search.wire_name, search.description, prompt.text));
}
