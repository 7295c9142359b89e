//! Calls that take their time: progress, tasks, states that a server hands back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use toolcrib_model::ErrorKind;
use toolcrib_port::{Progress, ProgressListener, ToolEngine as _, ToolLoader as _};

use super::server::ScriptServer;
use super::{authorized, authorized_tool, context, eventually, invoke};

#[derive(Default)]
struct Heard(Mutex<Vec<Progress>>);

impl ProgressListener for Heard {
    fn progress(&self, progress: &Progress) {
        self.0.lock().push(progress.clone());
    }
}

/// Tells of its progress twice, with characters that move a cursor, and once of a request that is not there.
const TELLS: &str = r#"
tell() {
  printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%s,"total":2,"message":"step\\u001b[2J %s"}}\n' "$1" "$2" "$2"
}
on_call() {
  token=${line#*\"progressToken\":}; token=${token%%[!0-9]*}
  tell "$token" 1; tell 4711 7; tell "$token" 2
  # The answer follows when the test has heard.
  while [ ! -e "${LOG%log}heard" ]; do sleep 0.01; done
  text done
}
"#;

#[tokio::test]
async fn progress_reaches_the_caller_and_nothing_else_does() {
    let server = ScriptServer::new(TELLS);
    let heard = Arc::new(Heard::default());
    let context = context().with_progress(heard.clone());
    let call = invoke(&server.engine, authorized("one", json!({})), &context);
    let listen = async {
        eventually(async || (heard.0.lock().len() == 2).then_some(())).await;
        std::fs::write(server.path().join("heard"), "").unwrap();
    };
    let (result, ()) = tokio::join!(call, listen);
    assert_eq!(result.result, "done", "{:?}", result.error);
    let mut heard = std::mem::take(&mut *heard.0.lock());
    heard.sort_by(|left, right| left.done.total_cmp(&right.done));
    let step = |done: f64, message: &str| Progress { done, total: Some(2.0), message: Some(message.into()) };
    assert_eq!(heard, [step(1.0, "step 1"), step(2.0, "step 2")]);
    server.engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_progress_right_before_a_result_is_heard_before_it() {
    const CALLS: usize = 50;
    let server = ScriptServer::new(
        r#"on_call() {
             token=${line#*\"progressToken\":}; token=${token%%[!0-9]*}
             printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}\n' "$token"
             text done
           }"#,
    );
    let mut unheard = 0;
    for _ in 0..CALLS {
        let heard = Arc::new(Heard::default());
        let context = context().with_progress(heard.clone());
        let result = invoke(&server.engine, authorized("one", json!({})), &context).await;
        assert_eq!(result.result, "done", "{:?}", result.error);
        unheard += usize::from(heard.0.lock().is_empty());
    }
    assert_eq!(unheard, 0);
    server.engine.close().await;
}

/// A server of revision 2026-07-28 that makes a task of each call.
const WITH_TASKS: &str = r#"
on_discover() {
  reply '{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"serverInfo":{"name":"sh","version":"1"}}'
}
task() {
  printf '"resultType":"%s","taskId":"t-1","status":"%s","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null,"pollIntervalMs":50' "$1" "$2"
}
on_call() { reply "{$(task task working)}"; }
looks=0
on_other() {
  case $line in
    *'"method":"tasks/get"'*) looks=$((looks + 1)); on_look ;;
    *'"method":"tasks/cancel"'*) reply '{"resultType":"complete"}' ;;
  esac
}
"#;

/// How often a call is polled before it is dropped, at most. It is sent long before that.
const MOST_POLLS: usize = 200;

fn with_tasks(on_look: &str) -> ScriptServer {
    ScriptServer::new(&format!("{WITH_TASKS}\non_look() {{ {on_look} ; }}"))
}

#[tokio::test]
async fn a_task_is_followed_to_its_result() {
    let server = with_tasks(
        r#"if [ $looks -lt 3 ]; then reply "{$(task complete working),\"statusMessage\":\"half\"}"; else
           reply "{$(task complete completed),\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}"; fi"#,
    );
    let heard = Arc::new(Heard::default());
    let context = context().with_progress(heard.clone());
    let result = invoke(&server.engine, authorized("one", json!({})), &context).await;
    assert_eq!(result.result, "done", "{:?}", result.error);
    assert_eq!(heard.0.lock().len(), 2);
    assert_eq!(heard.0.lock()[0].message.as_deref(), Some("half"));
    assert_eq!(server.logged("tools/call").len(), 1);
    assert_eq!(server.logged("tasks/cancel").len(), 0);
    server.engine.close().await;
}

#[tokio::test]
async fn a_task_that_ends_in_another_way_is_an_error_that_says_which() {
    let failed = r#"reply "{$(task complete failed),\"error\":{\"code\":-1,\"message\":\"no paper\"}}""#;
    let cancelled = r#"reply "{$(task complete cancelled)}""#;
    let asks = r#"reply "{$(task complete input_required),\"inputRequests\":{}}""#;
    let other = r#"reply '{"resultType":"complete","x":1}'"#;
    let cases = [
        (failed, ErrorKind::ToolFailed, "no paper", 0),
        (cancelled, ErrorKind::ToolFailed, "gave up the task", 0),
        (asks, ErrorKind::InputRequired, "needs an answer", 1),
        (other, ErrorKind::OutcomeUnknown, "cannot be read", 1),
    ];
    for (on_look, kind, words, cancels) in cases {
        let server = with_tasks(on_look);
        let error = invoke(&server.engine, authorized("one", json!({})), &context()).await.error.unwrap();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(words), "{error}");
        eventually(async || (server.logged("tasks/cancel").len() == cancels).then_some(())).await;
        server.engine.close().await;
    }
}

#[tokio::test]
async fn a_task_of_which_nothing_is_heard_any_more_leaves_the_outcome_unknown_and_is_not_begun_again() {
    for on_look in ["exit 1", "fail -32602 'there is no such task'", "fail -32601 'not found'"] {
        let server = with_tasks(on_look);
        let error = invoke(&server.engine, authorized("one", json!({})), &context()).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::OutcomeUnknown, "{on_look}: {error}");
        assert_eq!(server.logged("tools/call").len(), 1, "{on_look}");
        server.engine.close().await;
    }
}

#[tokio::test]
async fn a_call_that_ran_although_it_was_to_be_a_task_is_not_taken_for_one_that_did_not() {
    let cases = [
        ("exit 1", Some(ErrorKind::OutcomeUnknown)),
        ("text 'at once'", None),
        ("reply '{\"x\":1}'", Some(ErrorKind::OutcomeUnknown)),
        ("fail -32601 'no tasks here'", Some(ErrorKind::ToolChanged)),
    ];
    for (as_task, kind) in cases {
        let server = ScriptServer::new(&format!(
            r#"on_call() {{
                 case $line in
                   *'"task":{{}}'*) {as_task} ;;
                   *) fail -32601 'this tool has to be called as a task' ;;
                 esac
               }}"#
        ));
        let result = invoke(&server.engine, authorized("one", json!({})), &context()).await;
        assert_eq!(result.error.as_ref().map(|error| error.kind), kind, "{as_task}: {result:?}");
        assert_eq!(server.logged("tools/call").len(), 2, "{as_task}");
        server.engine.close().await;
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_at_any_moment_leaves_nothing_behind() {
    let server = ScriptServer::new(r#"on_call() { [ "$1" = hang ] || text "called $1"; }"#);
    let heard = Arc::new(Heard::default());
    let context = context().with_progress(heard);
    for polls in 0..MOST_POLLS {
        let mut call = std::pin::pin!(invoke(&server.engine, authorized("hang", json!({})), &context));
        for _ in 0..polls {
            assert!(futures::poll!(call.as_mut()).is_pending());
            tokio::task::yield_now().await;
        }
    }
    let after = invoke(&server.engine, authorized("one", json!({})), &context).await;
    assert_eq!(after.result, "called one", "{:?}", after.error);
    assert_eq!((server.process_ids().len(), server.connection.listeners()), (1, 0));
    let begun = server.logged("\"name\":\"hang\"").len();
    assert!(begun > 0);
    eventually(async || (server.logged("notifications/cancelled").len() >= begun).then_some(())).await;
    server.engine.close().await;
    assert!(!super::server::runs(server.process_ids()[0]));
}

#[tokio::test]
async fn the_server_is_told_when_a_task_is_given_up() {
    let server = with_tasks(r#"reply "{$(task complete working)}""#);
    {
        let context = context();
        let call = invoke(&server.engine, authorized("one", json!({})), &context);
        let working = eventually(async || (server.logged("tasks/get").len() > 1).then_some(()));
        tokio::select! {
            result = call => panic!("{result:?}"),
            () = working => {}
        }
    }
    eventually(async || (server.logged("tasks/cancel").len() == 1).then_some(())).await;
    server.engine.close().await;
}

#[tokio::test]
async fn a_tool_of_the_old_revision_that_only_runs_as_a_task_is_run_as_one() {
    let server = ScriptServer::new(
        r#"
task() { printf '"taskId":"t-2","status":"%s","createdAt":"2026-01-01T00:00:00Z","ttl":null,"pollInterval":50' "$1"; }
on_call() {
  case $line in
    *'"task":{}'*) reply "{\"task\":{$(task working)}}" ;;
    *) fail -32601 'this tool has to be called as a task' ;;
  esac
}
on_other() {
  case $line in
    *'"method":"tasks/get"'*) reply "{$(task completed)}" ;;
    *'"method":"tasks/result"'*) text done ;;
  esac
}
"#,
    );
    let result = invoke(&server.engine, authorized("one", json!({"a": 1})), &context()).await;
    assert_eq!(result.result, "done", "{:?}", result.error);
    let calls = server.logged("tools/call");
    let last: Value = serde_json::from_str(calls.last().unwrap()).unwrap();
    assert_eq!((calls.len(), &last["params"]["arguments"]), (2, &json!({"a": 1})));
    server.engine.close().await;
}

#[tokio::test]
async fn a_server_that_hands_back_a_state_is_called_again_with_it_and_not_without_end() {
    let server = ScriptServer::new(
        r#"on_call() {
             case $line in
               *'"requestState":"half"'*) text done ;;
               *) reply '{"resultType":"input_required","requestState":"half"}' ;;
             esac
           }"#,
    );
    let result = invoke(&server.engine, authorized("one", json!({})), &context()).await;
    assert_eq!(result.result, "done", "{:?}", result.error);
    server.engine.close().await;

    let server =
        ScriptServer::new(r#"on_call() { reply '{"resultType":"input_required","requestState":"more"}'; }"#);
    let error = invoke(&server.engine, authorized("one", json!({})), &context()).await.error.unwrap();
    assert!(error.message.contains("8 times"), "{error}");
    assert_eq!(server.logged("tools/call").len(), 8);
    server.engine.close().await;
}

#[tokio::test]
async fn a_change_of_the_list_is_noticed_and_a_call_after_it_is_checked() {
    let server = ScriptServer::new(
        r#"on_call() {
             text "called $1"
             printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
           }
           on_list() {
             if [ "$(grep -c tools/call "$LOG")" = 0 ]; then reply "{\"tools\":[$(tool one)]}"
             else reply '{"tools":[{"name":"one","description":"and more","inputSchema":{"type":"object"}}]}'; fi
           }"#,
    );
    let one = server.loader.load().await.tools.remove(0);
    let result = invoke(&server.engine, authorized_tool(one.clone(), json!({})), &context()).await;
    assert_eq!(result.result, "called one", "{:?}", result.error);
    tokio::time::timeout(super::PATIENCE, server.loader.changed()).await.unwrap();
    let error = invoke(&server.engine, authorized_tool(one, json!({})), &context()).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::ToolChanged, "{error}");
    assert_eq!(server.logged("tools/call").len(), 1);
    let again = server.loader.load().await.tools.remove(0);
    assert_eq!(again.description, "and more");
    let result = invoke(&server.engine, authorized_tool(again, json!({})), &context()).await;
    assert_eq!(result.result, "called one", "{:?}", result.error);
    server.engine.close().await;
}

#[tokio::test]
async fn a_list_with_a_lifetime_is_loaded_again_at_its_end() {
    let server = ScriptServer::new(r#"on_list() { reply "{\"tools\":[$(tool one)],\"ttlMs\":90000}"; }"#);
    server.loader.load().await;
    tokio::time::pause();
    let before = tokio::time::Instant::now();
    server.loader.changed().await;
    let waited = before.elapsed();
    assert!((Duration::from_secs(85)..=Duration::from_secs(91)).contains(&waited), "{waited:?}");
    tokio::time::resume();
    server.engine.close().await;
}

#[tokio::test]
async fn what_a_server_has_none_of_has_no_tools_until_it_tells_of_a_change() {
    let server = ScriptServer::new(
        r#"
CAPABILITIES='{"tools":{},"resources":{},"prompts":{}}'
PROMPTS=
on_call() { PROMPTS='{"name":"greet"}'; printf '{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}\n'; text done; }
on_other() {
  case $line in
    *'"method":"resources/list"'*) reply '{"resources":[]}' ;;
    *'"method":"resources/templates/list"'*) fail -32601 'no such method' ;;
    *'"method":"prompts/list"'*) reply "{\"prompts\":[$PROMPTS]}" ;;
  esac
}
"#,
    );
    let names = async || {
        let loaded = server.loader.load().await;
        loaded.tools.iter().map(|tool| tool.name.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["one"]);
    invoke(&server.engine, authorized("one", json!({})), &context()).await;
    server.loader.changed().await;
    assert_eq!(names().await, ["one", "list_prompts", "get_prompt"]);
    server.engine.close().await;
}

#[tokio::test]
async fn a_change_of_one_list_is_no_change_of_the_others() {
    let server = ScriptServer::new(
        r#"
CAPABILITIES='{"tools":{},"resources":{},"prompts":{}}'
on_call() { printf '{"jsonrpc":"2.0","method":"notifications/%s/list_changed"}\n' "$1"; text done; }
on_list() { reply "{\"tools\":[$(tool tools),$(tool prompts),$(tool resources)]}"; }
on_other() {
  case $line in
    *'"method":"resources/list"'*) reply '{"resources":[{"uri":"a:1","name":"first"}]}' ;;
    *'"method":"resources/templates/list"'*) reply '{"resourceTemplates":[]}' ;;
    *'"method":"prompts/list"'*) reply '{"prompts":[{"name":"greet"}]}' ;;
  esac
}
"#,
    );
    let lists = async || {
        let tools = server.loader.load().await.tools.into_iter();
        let lists = tools.filter(|tool| ["list_prompts", "list_resources"].contains(&tool.name.name()));
        lists.map(|tool| (tool.name.name().to_owned(), tool)).collect::<BTreeMap<_, _>>()
    };
    let mut before = lists().await;
    assert_eq!(before.len(), 2);
    for (changed, differs) in
        [("tools", None), ("prompts", Some("list_prompts")), ("resources", Some("list_resources"))]
    {
        invoke(&server.engine, authorized(changed, json!({})), &context()).await;
        tokio::time::timeout(super::PATIENCE, server.loader.changed()).await.unwrap();
        let after = lists().await;
        for name in ["list_prompts", "list_resources"] {
            assert_eq!(
                before[name] != after[name],
                differs == Some(name),
                "{name} after a change of {changed}"
            );
        }
        before = after;
    }
    server.engine.close().await;
}

#[tokio::test]
async fn resources_and_prompts_are_tools_of_the_namespace() {
    let server = ScriptServer::new(
        r#"
CAPABILITIES='{"tools":{},"resources":{},"prompts":{}}'
INSTRUCTIONS=',"instructions":"Ask first.\u202e"'
on_list() { reply "{\"tools\":[$(tool one),$(tool get_prompt)]}"; }
on_other() {
  case $line in
    *'"method":"resources/list"'*'"cursor":"2"'*) reply '{"resources":[]}' ;;
    *'"method":"resources/list"'*) reply '{"resources":[{"uri":"a:1","name":"first"}],"nextCursor":"2"}' ;;
    *'"method":"resources/templates/list"'*) reply '{"resourceTemplates":[{"uriTemplate":"a:{n}","name":"any"}]}' ;;
    *'"method":"resources/read"'*) reply '{"contents":[{"uri":"a:1","text":"one and only"}]}' ;;
    *'"method":"prompts/list"'*) reply '{"prompts":[{"name":"greet"}]}' ;;
  esac
}
"#,
    );
    let loaded = server.loader.load().await;
    let names: Vec<&str> = loaded.tools.iter().map(|tool| tool.name.name()).collect();
    let own = ["one", "get_prompt"];
    let ours = ["list_resources", "list_resource_templates", "read_resource", "list_prompts"];
    assert_eq!(names, [&own[..], &ours[..]].concat());
    assert_eq!(server.loader.instructions().as_deref(), Some("Ask first."));

    let call = async |name: &str, arguments: Value| {
        let tool = loaded.tools.iter().find(|tool| tool.name.name() == name).unwrap();
        let result =
            invoke(&server.engine, super::authorized_tool(tool.clone(), arguments), &context()).await;
        assert!(result.is_ok(), "{result:?}");
        result.result
    };
    let first = call("list_resources", json!({})).await;
    assert_eq!(first, json!({"resources": [{"uri": "a:1", "name": "first"}], "nextCursor": "2"}));
    assert_eq!(call("list_resources", json!({"cursor": "2"})).await, json!({"resources": []}));
    let templates = call("list_resource_templates", json!({})).await;
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "a:{n}");
    assert_eq!(call("read_resource", json!({"uri": "a:1"})).await, "one and only");
    assert_eq!(call("list_prompts", json!({})).await["prompts"][0]["name"], "greet");
    assert_eq!(call("get_prompt", json!({})).await, "called get_prompt");
    server.engine.close().await;
}
