//! Workers in a shell, which keep to the protocol or do not.

use std::time::Duration;

use serde_json::json;
use toolcrib_model::ErrorKind;
use toolcrib_policy::Access;
use toolcrib_policy::access::AccessRules;
use toolcrib_port::{CallContext, LoadOutcome, RejectKind, ToolEngine as _, ToolLoader as _};

use super::{App, PROCESS, SIX_LINES, authorized, ended, outcome, python, until};
use crate::ModuleSettings;
use crate::worker::WorkerModule;

const HELLO: &str = r#"echo '{"type":"hello","protocol":1,"name":"kit"}'"#;

const TOOLS: &str = r#"read list; echo '{"type":"tools","id":1,"tools":[{"name":"run","description":"Runs."}]}'
read list; echo '{"type":"tools","id":2,"tools":[{"name":"run","description":"Runs."}]}'"#;

/// The page that describes the protocol.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/worker-protocol.md");

#[tokio::test]
async fn the_worker_that_the_page_of_the_protocol_shows_works() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (_, block) = page.split_once("```python\n").unwrap();
    let (program, _) = block.split_once("```").unwrap();
    let app = App::new("").with_file("worker.py", program);
    let module = app.running(["python3", "worker.py"]);
    assert_eq!(outcome(&module, "reverse", json!({"text": "drawer"})).await, Ok(json!("reward")));
    let error = outcome(&module, "reverse", json!({"text": 1})).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::ToolFailed);
    assert!(error.message.starts_with("TypeError"), "{error}");
    assert_eq!(module.exclusive_namespace(), Some("texts"));
}

async fn reason(module: &WorkerModule) -> String {
    let LoadOutcome { tools, rejected } = module.load().await;
    assert!(tools.is_empty(), "{tools:?}");
    let [reject] = rejected.as_slice() else { panic!("{rejected:?}") };
    assert_eq!((reject.kind, reject.name.as_deref()), (RejectKind::Unavailable, None));
    reject.reason.clone()
}

#[tokio::test]
async fn a_worker_that_does_not_speak_the_protocol_says_what_is_wrong() {
    for (script, expected) in [
        ("echo 'no such module' >&2; exit 3", "it ended before its hello: no such module"),
        (
            "echo Hello",
            "expected its hello, `{\"type\": \"hello\", …}`, found (expected value at line 1 column 1): Hello",
        ),
        (r#"echo '{"type":"tools"}'"#, "found (another message): {\"type\":\"tools\"}"),
        (
            r#"echo '{"type":"hello","protocol":2,"name":"kit"}'"#,
            "it speaks version 2 of the protocol, and the runtime version 1",
        ),
        (&format!("{HELLO}; read list; echo what"), "it wrote a line that is not a message of the protocol"),
        (
            &format!("{HELLO}; read list; echo '{{\"type\":\"tools\",\"id\":1}}'; read more"),
            "its list of tools has no array `tools`",
        ),
        (&HELLO.replace("kit", "a::b"), "the namespace"),
    ] {
        let (_app, module) = App::scripted(script);
        let reason = reason(&module).await;
        assert!(reason.starts_with("the worker ") && reason.contains(expected), "{script}: {reason}");
    }
    let (_app, module) = App::scripted("sleep 1000");
    let reason = reason(&module.with_start_limit(Duration::from_millis(100))).await;
    assert!(reason.ends_with("did not start within 0 s"), "{reason}");
}

#[tokio::test]
async fn a_result_that_cannot_be_read_fails_its_call_and_not_the_worker() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let script = format!(
        "{HELLO}\n{TOOLS}\nread call; echo '{{\"type\":\"later\",\"new\":1}}'; echo '{{\"type\":\"result\",\"id\":3,\"value\":{deep}}}'\n\
         read list; echo '{{\"type\":\"tools\",\"id\":4,\"tools\":[{{\"name\":\"run\"}}]}}'\n\
         read call; echo '{{\"type\":\"result\",\"id\":5,\"value\":1}}'; read end"
    );
    let (_app, module) = App::scripted(&script);
    let error = outcome(&module, "run", json!({})).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::ToolFailed);
    assert!(error.message.contains("cannot be read: recursion limit exceeded"), "{error}");
    assert_eq!(outcome(&module, "run", json!({})).await, Ok(json!(1)));
}

#[tokio::test]
async fn a_call_that_a_worker_did_not_read_is_made_in_the_next() {
    let script = format!(
        "{HELLO}\nif [ -e second ]; then\n\
         read list; echo '{{\"type\":\"tools\",\"id\":1,\"tools\":[{{\"name\":\"run\",\"description\":\"Runs.\"}}]}}'\n\
         read call; echo '{{\"type\":\"result\",\"id\":2,\"value\":\"second\"}}'; read end\n\
         else\ntouch second\n{TOOLS}\nexec 0<&-; touch closed; sleep 1000\nfi"
    );
    let (app, module) = App::scripted(&script);
    let call = authorized(&module, "run", &json!({})).await;
    until("the worker's closed input", || app.0.path().join("closed").exists()).await;
    let result = module.invoke(&call, &CallContext::new("test")).await;
    assert_eq!(
        (result.error, result.result),
        (None, json!("second")),
        "it is not known to be lost, and not lost"
    );
}

#[tokio::test]
async fn tools_of_a_worker_stay_in_its_namespace_and_what_is_wrong_with_one_hides_no_other() {
    let tools = json!([
        {"name": "run", "description": "Runs.", "namespace": "filesystem", "risk": "low"},
        {"name": "filesystem::write", "description": "Is another's."},
        {"name": "risky", "risk": "huge"},
        {"name": "reach", "access": {"network": 3}},
        {"name": "run"},
        {"description": "Has no name."},
    ]);
    let script = |id| {
        format!(
            r"read list; echo '{}'",
            json!({"type": "tools", "id": id, "tools": tools}).to_string().replace('\'', "")
        )
    };
    let (_app, module) = App::scripted(&format!("{HELLO}\n{}\n{}\nread end", script(1), script(2)));
    let loaded = module.load().await;
    let names: Vec<_> = loaded.tools.iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(names, ["kit::run"], "{loaded:?}");
    assert_eq!(loaded.rejected.len(), 5, "{:#?}", loaded.rejected);
}

#[tokio::test]
async fn only_programs_that_may_be_started_are() {
    let app = App::new(SIX_LINES);
    let rules: AccessRules = serde_json::from_value(json!({"system": ["node"]})).unwrap();
    let access = Access::new(&rules).unwrap();
    let module = app.module_with(ModuleSettings { env: python(), access, ..Default::default() });
    let reason = reason(&module).await;
    assert!(reason.contains("may not start `python3`"), "{reason}");
}

#[tokio::test]
async fn the_worker_of_a_disabled_source_ends_and_is_started_again_when_the_source_is_enabled() {
    let app = App::new(PROCESS);
    let module = app.module();
    let call = authorized(&module, "process", &json!({})).await;
    let context = CallContext::new("test");
    let process = module.invoke(&call, &context).await.result["pid"].clone();
    module.set_suspended(true).await;
    ended(&process).await;
    assert!(!module.load().await.tools.is_empty(), "the operator can name its tools");
    let error = module.invoke(&call, &context).await.error.unwrap();
    assert!(error.message.contains("is not started while its source is disabled"), "{error}");
    assert!(!error.retryable);

    module.set_suspended(false).await;
    let again = module.invoke(&call, &context).await.result["pid"].clone();
    assert!(again.is_number() && again != process, "{again}");
    module.close().await;
}
