//! Input that the discovery tools accept beyond their schemas.

use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, Risk};
use toolcrib_policy::Principal;

use super::fixture;
use super::signatures::{discovery, tool};

#[tokio::test]
async fn a_search_takes_its_arguments_by_other_names_and_brings_the_number_of_results_within_bounds() {
    let fixture = fixture().await;
    let usual = fixture.call("search_tools", json!({"query": "read a text file", "max_results": 2})).await;
    let other = fixture.call("search_tools", json!({"q": "read a text file", "limit": 2})).await;
    assert_eq!((other.error, &other.result), (None, &usual.result));
    let many = fixture.call("search_tools", json!({"query": "read a text file", "max_results": 50})).await;
    assert!(many.is_ok(), "{many:?}");
    assert!(many.metadata["repairs"].to_string().contains("20"), "{:?}", many.metadata);
    for few in [0, -3] {
        let found =
            fixture.call("search_tools", json!({"query": "read a text file", "max_results": few})).await;
        assert_eq!(found.result["results"].as_array().map(Vec::len), Some(1), "{few}: {found:?}");
    }
}

#[tokio::test]
async fn the_error_of_wrong_arguments_shows_each_part_of_the_schema_once() {
    let fixture = fixture().await;
    let mut errors = Vec::new();
    for (name, arguments) in [
        ("search_tools", json!({"text_to_find": "slack", "count": 2})),
        ("search_tools", json!({"query": "slack", "max_results": "many"})),
        ("get_tool", json!({"name": "files.read", "include": ["everything"]})),
        ("execute_tool", json!({"name": "files.read", "params": {"file": "a", "encoding": "b"}})),
    ] {
        let error = fixture.call(name, arguments.clone()).await.error.unwrap();
        errors.push(format!("{name} {arguments}\n  {error}"));
    }
    insta::assert_snapshot!(errors.join("\n"));
}

#[tokio::test]
async fn a_tool_is_shown_by_any_spelling_of_its_name_and_with_a_slip() {
    let fixture = fixture().await;
    for name in ["files_read", "FILES.Read", "files/read", "mcp__files__read", "files.raed"] {
        let shown = fixture.call("get_tool", json!({"name": name})).await;
        assert_eq!(shown.result["name"], "files.read", "{name}: {:?}", shown.error);
    }
    let error = fixture.call("get_tool", json!({"tool": "vault.read_secrt"})).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::UnknownTool);
    assert!(!error.hint.unwrap_or_default().contains("vault"));
}

#[tokio::test]
async fn a_call_with_a_slip_in_the_name_runs_only_a_tool_that_changes_nothing() {
    let fixture = fixture().await;
    let ran = fixture.call("execute_tool", json!({"name": "weathr.forecast", "params": {"path": "a"}})).await;
    assert_eq!(ran.name, "weather::forecast", "{ran:?}");
    assert!(ran.is_ok(), "{ran:?}");
    let ran = fixture.call("execute_tool", json!({"name": "files.remve", "params": {"path": "a"}})).await;
    let error = ran.error.unwrap();
    assert_eq!(error.kind, ErrorKind::UnknownTool);
    assert!(error.hint.as_deref().unwrap().starts_with("did you mean `files.remove`"), "{error:?}");
}

#[test]
fn a_category_is_found_by_a_part_of_its_name_where_only_one_fits() {
    let tools = ["docker_stripe_remote.pay", "docker_hub.pull", "GitHub.clone"];
    let tools = tools.map(|name| tool(name, "Does it.", json!({})).with_risk(Risk::Low)).to_vec();
    let (_registry, discovery) = discovery(json!({"default_policy": "grant"}), tools);
    let browse = |category: &str| discovery.browse(category, 1, 5, Principal::new("s"));
    for (given, category) in [
        ("docker_stripe_remote", "docker_stripe_remote"),
        ("stripe", "docker_stripe_remote"),
        ("Docker-Stripe-Remote", "docker_stripe_remote"),
    ] {
        assert_eq!(browse(given).unwrap().0, category, "{given}");
    }
    let hints: Vec<Value> = ["docker", "hub", "gitub", "zzz"]
        .map(|given| json!(browse(given).err().map(|error| error.hint)))
        .to_vec();
    insta::assert_json_snapshot!(hints);
}
