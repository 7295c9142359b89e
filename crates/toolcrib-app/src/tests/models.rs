//! What is wrong with the models of agents.

use super::wrong;

#[test]
fn native_injection_is_refused_where_an_api_loads_no_tools() {
    let native = "runtime: {tool_injection: native}";
    let wrong_brain = |brain: &str| wrong(&format!("agents: [{{id: a, brain: {brain}}}]\n{native}"));
    for (brain, place) in [
        ("{provider: groq, model: m}", "app.yaml:1:26"),
        ("{provider: anthropic, model: m, fallback: [{provider: gemini, model: n}]}", "app.yaml:1:69"),
    ] {
        let error = wrong_brain(brain);
        let expected = "which are `openai_responses`, `anthropic`, `recorded`; found `g";
        assert!(error.starts_with(place) && error.contains(expected), "{error}");
        assert!(error.contains("write `tool_injection: discovery`"), "{error}");
    }
    let error = wrong_brain("{provider: anthropic, model: m, native_tool_use: false}");
    assert!(error.contains("remove `native_tool_use: false`"), "{error}");
}

#[test]
fn a_form_of_tools_that_an_api_does_not_have_is_refused_at_its_place() {
    for (brain, problem) in [
        ("{provider: gemini, strict_tools: true}", "the API of `gemini` has no `strict_tools`; remove it"),
        (
            "{provider: openai, eager_tool_streaming: true}",
            "the API of `openai` has no `eager_tool_streaming`",
        ),
        ("{provider: anthropic, text_tools: [a.b]}", "the API of `anthropic` has no `text_tools`"),
        (
            "{provider: anthropic, tool_choice: [a.b, a.c]}",
            "`anthropic` takes no list of tools; name one tool",
        ),
        ("{provider: openai, tool_choice: []}", "names from 1 to 64 tools, found 0"),
    ] {
        let error = wrong(&format!("agents: [{{id: a, brain: {brain}}}]"));
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn a_key_comes_from_one_place() {
    let error = wrong("agents: [{id: a, brain: {provider: gemini, api_key: k, api_key_command: [print]}}]");
    assert!(error.contains("`api_key_command` takes the place of `api_key`; remove one of them"), "{error}");
}
