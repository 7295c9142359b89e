//! Hooks that are programs, before a call.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_model::ErrorKind;
use toolcrib_testkit::processes_of;

use super::{answering, configured, hooked, shell};

#[tokio::test]
async fn a_program_reads_the_call_as_one_json_object() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("message.json");
    let line = format!("cat > {}; echo '{{\"verdict\": \"allow\"}}'", file.display());
    let fixture = hooked(shell("before", &line));
    assert!(fixture.call("shop.order", json!({"value": "a lamp"})).await.is_ok());
    let message: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(
        message,
        json!({
            "when": "before", "hook": "check", "tool": "shop.order", "source": "shop", "risk": "medium",
            "side_effects": [], "arguments": {"value": "a lamp"}, "session": "s", "agent": "clerk",
        })
    );
}

#[tokio::test]
async fn the_verdict_of_a_program_decides() {
    let denied = answering("before", &json!({"verdict": "deny", "reason": "not on Sundays"}));
    let error = denied.error().await;
    assert_eq!((error.kind, denied.runs()), (ErrorKind::Denied, 0));
    assert_eq!(error.message, "the hook `check` denied the call: not on Sundays");

    let asking = answering("before", &json!({"verdict": "ask", "reason": "it is large"}));
    assert_eq!((asking.error().await.kind, asking.runs()), (ErrorKind::ApprovalRequired, 0));

    let changing =
        answering("before", &json!({"verdict": "change", "arguments": {"value": 2}, "reason": "less"}));
    let changed = changing.result(json!(1)).await;
    assert_eq!((changed.result.clone(), changing.runs()), (json!(2), 1));
    assert_eq!(changed.facts().unwrap(), "[the hook `check` changed `value` before the call ran: less]");
    assert_eq!(
        changing.hook_records(),
        json!([{"hook": "check", "verdict": "change", "arguments": ["value"]}])
    );
}

#[tokio::test]
async fn changed_arguments_pass_the_schema_and_the_rules_again() {
    for (arguments, kind) in
        [(json!({"value": "forbidden"}), ErrorKind::Denied), (json!({"fail": 1}), ErrorKind::Internal)]
    {
        let fixture = answering("before", &json!({"verdict": "change", "arguments": arguments}));
        let error = fixture.error().await;
        assert_eq!((error.kind, fixture.runs()), (kind, 0), "{error}");
    }
}

#[tokio::test]
async fn a_hook_checks_the_tools_that_it_names_from_its_lowest_risk() {
    let denying = json!({"verdict": "deny", "reason": "no"}).to_string();
    for (selection, denied) in [
        (json!({}), vec!["list", "order", "purge"]),
        (json!({"tools": ["shop::order", "shop.pu*"]}), vec!["order", "purge"]),
        (json!({"min_risk_level": "medium"}), vec!["order", "purge"]),
        (json!({"min_risk_level": "high", "tools": ["*"]}), vec!["purge"]),
        (json!({"min_risk_level": "high", "tools": ["shop.list"]}), vec![]),
    ] {
        let mut settings = json!({"name": "check", "when": "before", "run": ["printf", "%s", denying]});
        settings.as_object_mut().unwrap().extend(selection.as_object().unwrap().clone());
        let fixture = hooked(settings);
        for tool in ["list", "order", "purge"] {
            let result = fixture.call(&format!("shop.{tool}"), json!({})).await;
            assert_eq!(result.is_ok(), !denied.contains(&tool), "{selection} {tool}: {result:?}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_no_verdict_ends_the_call_and_names_the_hook() {
    let mut errors = Vec::new();
    for line in [
        "exit 3",
        "echo the database is down >&2; echo '{\"verdict\": \"allow\"}'; exit 1",
        "kill -9 $$",
        "true",
        "echo yes",
        "echo '[]'",
        "echo '{}'",
        "echo '{\"verdict\": \"alow\"}'",
        "echo '{\"verdict\": \"keep\"}'",
        "echo '{\"verdict\": \"allow\", \"verdict\": \"deny\"}'",
        "echo '{\"verdict\": \"allow\", \"because\": \"I say so\"}'",
        "echo '{\"verdict\": \"deny\"}'",
        "echo '{\"verdict\": \"change\", \"arguments\": 1}'",
        "echo '{\"verdict\": \"allow\"} {\"verdict\": \"deny\", \"reason\": \"\"}'",
        "printf '\\377\\376'",
        "head -c 400 /dev/zero | tr '\\0' x",
        "head -c 9000000 /dev/zero",
    ] {
        let fixture = hooked(shell("before", line));
        let error = fixture.error().await;
        assert_eq!((error.kind, fixture.runs()), (ErrorKind::Internal, 0), "{line}: {error}");
        assert!(error.message.len() < 800, "{error}");
        assert_eq!(fixture.hook_records(), json!([{"hook": "check", "verdict": "failed"}]), "{line}");
        errors.push(format!("{line}\n  {}", error.message));
    }
    insta::assert_snapshot!(errors.join("\n"));
}

#[tokio::test]
async fn a_program_that_hangs_is_killed_with_its_children_and_ends_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let line = format!("cd {}; sleep 1000 & setsid sleep 1000 & sleep 1000", folder.path().display());
    let mut settings = shell("before", &line);
    settings["timeout_seconds"] = json!(1);
    let fixture = hooked(settings);
    let began = Instant::now();
    let error = fixture.error().await;
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!((error.kind, fixture.runs()), (ErrorKind::Internal, 0));
    assert_eq!(error.message, "the hook `check` failed on `shop.list`: it did not answer within 1 s");
    toolcrib_testkit::wait_until("no process of the hook is left", Duration::from_secs(10), || {
        Ok(processes_of(folder.path())?.is_empty().then_some(()))
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_hook_that_fails_open_lets_the_call_run_and_the_audit_names_it() {
    let mut settings = shell("before", "exit 1");
    settings["on_failure"] = json!("open");
    let fixture = hooked(settings);
    assert!(fixture.result(json!(1)).await.is_ok());
    assert_eq!(fixture.hook_records(), json!([{"hook": "check", "verdict": "failed"}]));
    // A verdict counts all the same.
    let mut settings = shell("before", "echo '{\"verdict\": \"deny\", \"reason\": \"no\"}'");
    settings["on_failure"] = json!("open");
    let fixture = hooked(settings);
    assert_eq!((fixture.error().await.kind, fixture.runs()), (ErrorKind::Denied, 0));
}

#[tokio::test]
async fn a_program_sees_the_variables_of_its_entry_and_no_others() {
    let mut settings =
        shell("before", "printf '{\"verdict\": \"deny\", \"reason\": \"%s %s\"}' \"$LIMIT\" \"$CARGO\"");
    settings["env"] = json!({"LIMIT": "five"});
    assert!(std::env::var_os("CARGO").is_some(), "a variable of this process");
    assert_eq!(hooked(settings).error().await.message, "the hook `check` denied the call: five ");
}

#[tokio::test]
async fn more_calls_than_may_run_at_once_wait_for_their_turn() {
    let folder = tempfile::tempdir().unwrap();
    let line = format!(
        "cd {}; touch run.$$; ls run.* | wc -l > count.$$; sleep 0.2; rm run.$$; echo '{{\"verdict\": \"allow\"}}'",
        folder.path().display()
    );
    let fixture = hooked(shell("before", &line));
    let calls = (0..40).map(|number| fixture.result(json!(number)));
    let results = futures::future::join_all(calls).await;
    assert!(results.iter().all(toolcrib_model::ToolResult::is_ok), "{results:?}");
    let counts = std::fs::read_dir(folder.path()).unwrap().map(|entry| {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        text.trim().parse::<usize>().unwrap()
    });
    let counts: Vec<usize> = counts.collect();
    assert_eq!(counts.len(), 40);
    assert!(counts.iter().all(|count| *count <= crate::configured::MAX_CONCURRENT_RUNS), "{counts:?}");
}

#[test]
fn a_program_that_is_not_installed_is_refused_before_any_call() {
    let settings = json!({"name": "check", "when": "before", "run": ["no-such-program-5f2c"]});
    let error = configured(settings).unwrap_err();
    assert_eq!(error.pointer, "/run");
    assert!(error.message.starts_with("program `no-such-program-5f2c` not found"), "{error}");
}
