//! What the wiring promises.

mod modules;
mod setup;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolcrib_exec::DenyAll;
use toolcrib_model::{ErrorKind, JsonObject, ToolCall};
use toolcrib_port::CallContext;
use toolcrib_testkit::wait_until;

use crate::{App, Error, Runtime};

fn wrong(text: &str) -> String {
    App::from_text("app.yaml", text).unwrap_err().to_string()
}

async fn start(text: &str) -> Runtime {
    Runtime::start(App::from_text("app.yaml", text).unwrap(), Arc::new(DenyAll)).await.unwrap()
}

#[test]
fn everything_that_is_wrong_is_said_at_its_place() {
    let text = "
agents:
  - {id: a, brain: {provider: recorded}}
  - {id: a, role: asistant, brain: {provider: recorded}}
modules:
  helo: {}
  hello: {config: {loud: true}, setup: [{action: x}], constraints: {blocked_actions: [staus]}}
tools:
  registry:
    - {type: fiel, path: a}
    - {path: a}
    - {type: file, path: a, engine: e}
  engines:
    f: {type: moc}
  capabilities: {deny: [{module: 'a['}]}
";
    insta::assert_snapshot!(wrong(text));
}

#[test]
fn the_settings_of_a_source_are_checked_before_anything_starts() {
    for (entry, message) in [
        (
            "{type: file, path: a, namespce: b}",
            "app.yaml:3:29: unknown key `namespce`, did you mean `namespace`?",
        ),
        (
            "{type: mcp, namespace: a}",
            "app.yaml:3:7: an MCP server needs either a `command`, a list of words, or a `url`",
        ),
        (
            "{type: file, path: a, engine: 5}",
            "app.yaml:3:29: `engine` should be the name of one of `tools.engines`, not 5",
        ),
        ("{type: rest, spec: a.yaml}", "app.yaml:3:7: `tools.registry.0`: missing field `namespace`"),
        (
            "{type: rest, namespace: a, spec: a.yaml, auth: {type: bearer, tokn: x}}",
            "app.yaml:3:69: unknown key `tokn`, did you mean `token`?",
        ),
        (
            "{type: rest, namespace: a, spec: a.yaml, auth: [{type: basic, username: x, token: y}]}",
            "app.yaml:3:7: `auth` of type `basic` has no `token`; it has `username`, `password`",
        ),
        (
            "{type: rest, namespace: a, spec: a.yaml, auth: {type: api_key, value: x, name: X-Key}}",
            "app.yaml:3:7: `auth` of type `api_key` needs `in`; it has `value`, `in`, `name`",
        ),
        (
            "{type: rest, namespace: a, spec: a.yaml, auth: {type: bearer, token: x}}",
            "app.yaml:3:7: `auth` of the OpenAPI source rest a.yaml as a: a credential goes to one origin only: set its \
             `origin`, or `base_url`",
        ),
        (
            "{type: rest, namespace: a, spec: a.yaml, max_response_bytes: 0}",
            "app.yaml:3:7: `max_response_bytes` has to be from 1 to 104857600, not 0",
        ),
        (
            "{type: rest, namespace: a, spec: a.yaml, include: {tgas: [x]}}",
            "app.yaml:3:58: unknown key `tgas`, did you mean `tags`?",
        ),
        (
            "{type: rest, namespace: a, spec: a.yaml, exclude: [{}]}",
            "app.yaml:3:7: an entry of `exclude` names none of `operations`, `tags`, `methods` and `paths`, and would fit all",
        ),
        (
            "{type: rest, namespace: a, spec: a.yaml, risks: {methods: [GET]}}",
            "app.yaml:3:7: an entry of `risks` needs a `risk`: low, medium or high",
        ),
        (
            "{type: rest, namespace: a, spec: a.yaml, cache: 3}",
            "app.yaml:3:48: `tools.registry.0.cache`: `cache` has to be a folder, or `false`",
        ),
        (
            "{type: file, path: '${TOOLCRIB_NO_SUCH_VARIABLE}/a'}",
            "app.yaml:3:20: the environment variable `TOOLCRIB_NO_SUCH_VARIABLE` is not set; \
             set it, or give a default: ${TOOLCRIB_NO_SUCH_VARIABLE:-…}",
        ),
    ] {
        assert_eq!(wrong(&format!("tools:\n  registry:\n    - {entry}\n")), message);
    }
}

#[test]
fn limits_are_checked_before_anything_starts() {
    let limits = [
        "{source: {queue: -1}}",
        "{source: {timeout: 1}}",
        "{source: {timeout_seconds: -1}}",
        "{approval_timeout_seconds: 5}",
        "{result_tokens: 1}",
        "{tools: {greet: {}}}",
        "{tools: {hello.greet: {timeout_seconds: 601}}}",
        "{source: {timeout_seconds: 3600}}",
    ];
    let section = |limits: &str| format!("modules: {{hello: {{}}}}\ntools:\n  limits: {limits}\n");
    let mut said: Vec<String> = limits.iter().map(|limits| wrong(&section(limits))).collect();
    said.push(wrong("tools:\n  registry:\n    - {type: file, path: a, limits: {max_concurency: 1}}\n"));
    said.push(wrong("tools:\n  registry:\n    - {type: file, path: a, limits: {timeout_seconds: 900}}\n"));
    insta::assert_snapshot!(said.join("\n"));
}

#[tokio::test]
async fn the_limits_of_an_entry_hold_for_its_source() {
    let text = "
modules: {hello: {limits: {rate: {calls: 1, per_seconds: 3600}, queue: 0}}}
tools: {capabilities: {default_policy: grant}}
";
    let runtime = start(text).await;
    let context = CallContext::new("s");
    let call = || runtime.executor().call(ToolCall::new("hello.status", JsonObject::new()), &context);
    assert!(call().await.is_ok());
    assert_eq!(call().await.error.unwrap().kind, ErrorKind::Overloaded);
}

#[test]
fn a_mistake_in_a_rule_is_said_at_its_line_and_column() {
    let cases = [
        "deny: [{module: shell, argument: [{path: /x, equals: 1}]}]",
        "deny: [{module: shell, arguments: [{path: x, equals: 1}]}]",
        "deny: [{module: shell, arguments: [{path: /x}]}]",
        "deny: [{module: shell, arguments: [{path: /x, equals: 1, matches: a}]}]",
        "deny: [{module: shell, arguments: [{path: /x, equal: 1}]}]",
        "deny: [{module: shell, arguments: [{path: /x, in: 5}]}]",
        "deny: [{module: shell, arguments: [{path: /x, matches: 'a('}]}]",
        "deny: [{module: shell, arguments: []}]",
        "deny: [{module: shell, agent: assistent}]",
        "access: {network: ['https://a.example']}",
        "access: {filesystem: [{path: a, mode: wirte}]}",
    ];
    let messages = cases.map(|rules| {
        wrong(&format!(
            "agents: [{{id: assistant, brain: {{provider: recorded}}}}]\nmodules: {{hello: {{}}}}\ntools:\n  registry: \
             [{{type: file, path: tools.yaml}}]\n  capabilities:\n    {rules}\n"
        ))
    });
    insta::assert_snapshot!(messages.join("\n"));
}

#[tokio::test]
async fn a_module_reaches_what_both_its_own_access_and_that_of_the_app_let_it() {
    let runtime = start(
        "modules: {filesystem: {access: {filesystem: [{path: src}]}}}
tools: {capabilities: {default_policy: grant, access: {filesystem: [{path: src/lib.rs}, {path: Cargo.toml}]}}}",
    )
    .await;
    for (path, is_ok) in [("src/lib.rs", true), ("src/app.rs", false), ("Cargo.toml", false)] {
        let arguments = json!({"path": path}).as_object().unwrap().clone();
        let call = ToolCall::new("filesystem.read", arguments);
        let result = runtime.executor().call(call, &CallContext::new("s")).await;
        assert_eq!(result.is_ok(), is_ok, "{path}: {result:?}");
    }
}

#[test]
fn a_source_that_access_does_not_allow_is_refused_before_it_starts() {
    let cases = [
        "registry: [{type: mcp, namespace: a, command: [npx, server]}]",
        "registry: [{type: mcp, namespace: a, url: 'https://mcp.example.net/mcp'}]",
        "registry: [{type: rest, namespace: a, spec: 'https://docs.example.net/openapi.json'}]",
        "registry: [{type: rest, namespace: a, spec: a.yaml, base_url: 'https://api.example.com:8443'}]",
        "registry: [{type: rest, namespace: a, spec: a.yaml, auth: {type: oauth2, origin: 'https://api.example.com', \
         token_url: 'https://id.example.net', client_id: a, client_secret: b}}]",
        "engines: {shell: {type: command, argv: [sh, -c, 'true']}}",
        "engines: {shell: {type: command, tools: {one: [git, log], two: [./git, log]}}}",
    ];
    let access = "access: {network: ['*.example.com:443'], system: [git]}";
    let messages = cases.map(|entry| wrong(&format!("tools:\n  {entry}\n  capabilities: {{{access}}}\n")));
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn an_empty_file_is_an_app_without_anything() {
    assert!(App::from_text("app.yaml", "# nothing yet\n").unwrap().config.agents.is_empty());
}

#[test]
fn what_this_version_does_not_do_is_said() {
    let app = App::from_text("app.yaml", "execution: {watchers: true}").unwrap();
    assert_eq!(app.warnings(), ["`execution.watchers` is set, and this version has none; it is left out"]);
}

#[tokio::test]
async fn a_source_that_is_down_does_not_stop_the_app() {
    let app = "
modules: {hello: {}}
tools:
  registry:
    - {type: file, path: no/such/file.yaml}
    - {type: mcp, command: [no-such-server], namespace: gone}
  capabilities: {default_policy: grant}
";
    let runtime = start(app).await;
    let sources: Vec<_> = runtime.snapshot().rejected().iter().map(|reject| reject.source.clone()).collect();
    assert_eq!(sources, ["file ./no/such/file.yaml", "mcp gone"]);
    let call = ToolCall::new("hello.say_hello", json!({"name": "Ada"}).as_object().unwrap().clone());
    assert!(runtime.executor().call(call, &CallContext::new("s")).await.is_ok());
    runtime.close().await;
}

#[tokio::test]
async fn an_agent_is_shown_what_policy_lets_it_see() {
    let app = "
agents:
  - {id: first, brain: {provider: ollama, context_window: 2000}}
  - {id: second, brain: {provider: ollama, native_tool_use: true, context_window: 3000}}
modules: {hello: {}}
tools: {capabilities: {deny: [{module: hello, actions: [status]}]}}
runtime: {tokens_per_tool: 201}
";
    let runtime = start(app).await;
    let modes = [None, Some("second")].map(|id| runtime.agent(id).unwrap().plan.mode.as_str());
    assert_eq!(modes, ["discovery", "direct"], "two tools of 201 tokens, in a fifth of 2,000 and of 3,000");
    let names: Vec<_> = runtime
        .agent(Some("second"))
        .unwrap()
        .plan
        .offered
        .iter()
        .map(|tool| tool.wire_name.clone())
        .collect();
    assert_eq!(names, ["run_parallel", "read_result", "hello__greet_many", "hello__say_hello"]);
    let Err(Error::UnknownAgent { known, .. }) = runtime.agent(Some("third")) else { panic!("found") };
    assert_eq!(known, ["first", "second"]);
}

#[tokio::test]
async fn a_recording_is_wanted_when_the_model_is_and_warned_of_before() {
    let app = "agents: [{id: a, brain: {provider: recorded}}, {id: b, brain: {provider: groq, recording: no.yaml}}]";
    let runtime = start(app).await;
    assert_eq!(
        runtime.app().warnings(),
        [
            "the agent `a` has no `recording`; it needs `toolcrib run --replay FILE`",
            "the recording `no.yaml` of the agent `b` is not there",
        ]
    );
    let setup = runtime.agent(None).unwrap();
    let error = runtime.model(&setup).err().unwrap();
    let message = "`provider: recorded` needs a `recording`, a file of turns, or `--replay FILE`";
    assert_eq!(error.to_string(), format!("app.yaml:1:18: {message}"));
    assert!(setup.replay(std::path::Path::new("absent.yaml")).is_err());
}

#[test]
fn what_run_would_refuse_is_refused_before() {
    for (text, message) in [
        (
            "runtime: {tool_budget: -1}",
            "app.yaml:1:11: `tool_budget` is a share of the context window, from 0 to 1",
        ),
        (
            "tools: {registry: [{type: mcp, namespace: a, command: [a], startup_timeout_seconds: 1e30}]}",
            "app.yaml:1:60: `tools.registry.0.startup_timeout_seconds`: a time has to be from 1 to 120 seconds, \
             not 1000000000000000000000000000000",
        ),
        (
            "modules: {hello: {}}\ntools: {capabilities: {deny: [{module: helo}, {module: hello, actions: [staus]}]}}",
            "app.yaml:2:32: unknown module `helo`, did you mean `hello`?\n\
             app.yaml:2:73: in the module `hello`: unknown action `staus`, did you mean `status`?",
        ),
        (
            "tools: {capabilities: {grant: [{module: }]}}",
            "app.yaml:1:33: `tools.capabilities.grant[0].module`: invalid type: null, expected a string",
        ),
    ] {
        assert_eq!(wrong(text), message);
    }
    assert!(wrong("runtime: {max_turns: 0}").starts_with("app.yaml:1:11: `runtime.max_turns`: "));
    assert_eq!(
        wrong("runtime: {max_cost: -1}"),
        "app.yaml:1:11: `runtime.max_cost`: must be a number from 0 to 1000000000, not -1"
    );
    let fallback = "agents: [{id: a, brain: {provider: openai, fallback: [{provider: opnai}]}}]";
    assert!(
        wrong(fallback).contains("unknown provider `opnai`; did you mean `openai`?"),
        "{}",
        wrong(fallback)
    );
}

#[tokio::test]
async fn tools_can_stand_in_the_app_file_itself() {
    let app = "
tools:
  registry:
    - type: inline
      namespace: desk
      engine: canned
      tools:
        - {name: ask, description: Asks the desk.}
        - {description: nameless}
  engines: {canned: {type: mock, default: yes}}
  capabilities: {default_policy: grant}
";
    let runtime = start(app).await;
    let call = ToolCall::new("desk.ask", JsonObject::new());
    assert_eq!(runtime.executor().call(call, &CallContext::new("s")).await.result, "yes");
    assert_eq!(runtime.snapshot().rejected()[0].reason, "app.yaml:9:11: the tool has no `name`");
}

#[tokio::test]
async fn a_tool_whose_name_holds_a_secret_is_not_loaded() {
    let app = App::from_text(
        "app.yaml",
        "
tools:
  registry:
    - {type: inline, namespace: desk, tools: [{name: ask_canary_5ab3}, {name: ask}]}
",
    )
    .unwrap();
    app.secrets().add("TOKEN", toolcrib_model::Secret::new("canary_5ab3"));
    let runtime = Runtime::start(app, Arc::new(DenyAll)).await.unwrap();
    let snapshot = runtime.snapshot();
    assert!(snapshot.tool_names().all(|name| !name.name().contains("canary")));
    assert!(snapshot.tool_names().any(|name| name.dotted() == "desk.ask"));
    let rejected = &snapshot.rejected()[0];
    assert_eq!(rejected.name.as_deref(), Some("desk::ask_[secret TOKEN]"));
    assert!(rejected.reason.starts_with("its name holds a secret"), "{rejected:?}");
}

/// How soon a saved file has to be loaded again.
const RELOAD_TIME: Duration = Duration::from_millis(500);

#[tokio::test]
async fn a_saved_file_is_loaded_again_and_a_broken_save_keeps_the_tools() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools.yaml");
    std::fs::write(&tools, "- {name: one}\n").unwrap();
    let text = "tools: {registry: [{type: file, path: tools.yaml, watch: true}]}\n";
    std::fs::write(folder.path().join("app.yaml"), text).unwrap();
    let app = App::open(folder.path().join("app.yaml")).unwrap();
    let runtime = Runtime::start(app, Arc::new(DenyAll)).await.unwrap();
    let registry = runtime.executor().registry();
    let mut changes = registry.subscribe();

    std::fs::write(&tools, "- {name: one}\n- {name: two}\n").unwrap();
    let change = tokio::time::timeout(RELOAD_TIME, changes.recv()).await.expect("loaded in time").unwrap();
    assert_eq!(change.added[0].dotted(), "default.two");

    let generation = registry.snapshot().generation();
    std::fs::write(&tools, "- {name: one\n").unwrap();
    let reloaded = || Ok((registry.snapshot().generation() > generation).then(|| registry.snapshot()));
    let snapshot = wait_until("the broken save", Duration::from_secs(10), reloaded).await.unwrap();
    assert_eq!(snapshot.tool_names().filter(|name| name.namespace() == "default").count(), 2);
    assert!(snapshot.rejected()[0].reason.contains("not valid YAML"), "{:?}", snapshot.rejected());
}

#[tokio::test]
async fn a_rule_that_speaks_of_no_tool_is_warned_of() {
    let runtime =
        start("modules: {hello: {}}\ntools: {capabilities: {deny: [{module: hello, actions: ['x*']}]}}")
            .await;
    assert_eq!(runtime.warnings(), ["`tools.capabilities.deny[0]` speaks of no tool that is there"]);
    let text =
        "modules: {hello: {}}\ntools: {limits: {tools: {hello.statsu: {retries: 1}, hello.status: {}}}}";
    let warned = ["`tools.limits.tools` has limits for `hello.statsu`, and there is no such tool"];
    assert_eq!(start(text).await.warnings(), warned);
}

#[tokio::test]
async fn no_source_speaks_for_the_runtime_or_for_a_module() {
    let folder = tempfile::tempdir().unwrap();
    let tools = "- {name: execute_tool, namespace: context_builder}\n- {name: shout, namespace: hello}\n- {name: own}\n";
    std::fs::write(folder.path().join("tools.yaml"), tools).unwrap();
    let text = "modules: {hello: {}}\ntools: {registry: [{type: file, path: tools.yaml}]}\n";
    std::fs::write(folder.path().join("app.yaml"), text).unwrap();
    let app = App::open(folder.path().join("app.yaml")).unwrap();
    let runtime = Runtime::start(app, Arc::new(DenyAll)).await.unwrap();
    let snapshot = runtime.snapshot();
    let rejected: Vec<_> = snapshot.rejected().iter().map(|reject| reject.name.as_deref().unwrap()).collect();
    assert_eq!(rejected, ["context_builder::execute_tool", "hello::shout"]);
    assert!(snapshot.find("default.own", |_| true).is_ok());
}

#[tokio::test]
async fn a_call_of_the_meta_tool_ends_as_the_call_inside_does() {
    let runtime = start("modules: {hello: {}}").await;
    let arguments = json!({"name": "hello.status", "params": {}});
    let call = ToolCall::new("context_builder.execute_tool", arguments.as_object().unwrap().clone());
    let result = runtime.executor().call(call, &CallContext::new("s")).await;
    assert_eq!(result.error.map(|error| error.kind), Some(ErrorKind::ApprovalRequired));
    assert_eq!(result.name, "hello::status");
}

#[test]
fn the_audit_is_checked_before_anything_starts() {
    for (audit, message) in [
        ("", "app.yaml:1:1: `audit`: invalid type: null, expected a mapping with a `path`"),
        ("{values: true}", "app.yaml:1:1: `audit`: missing field `path`"),
        ("{path: a, value: true}", "app.yaml:1:18: unknown key `value`, did you mean `values`?"),
        ("{path: ''}", "app.yaml:1:9: `path` is empty; name the file that records are written to"),
        ("{path: a, max_bytes: 1000}", "app.yaml:1:18: `max_bytes` is at least 1048576, not 1000"),
        ("{path: a, key: ''}", "app.yaml:1:18: `key` is empty; leave it out, or make one up"),
        (
            "{path: '${TOOLCRIB_NO_SUCH_VARIABLE}/a'}",
            "app.yaml:1:9: the environment variable `TOOLCRIB_NO_SUCH_VARIABLE` is not set; \
             set it, or give a default: ${TOOLCRIB_NO_SUCH_VARIABLE:-…}",
        ),
    ] {
        assert_eq!(wrong(&format!("audit: {audit}\n")), message);
    }
}

#[test]
fn an_audit_file_that_cannot_be_opened_is_said_at_its_place() {
    let app = App::from_text("app.yaml", "audit: {path: /no/such/folder/audit.jsonl}\n").unwrap();
    let error = crate::audit::open(&app).unwrap_err().to_string();
    assert!(
        error.starts_with("app.yaml:1:9: cannot write records to `/no/such/folder/audit.jsonl`"),
        "{error}"
    );
}

#[test]
fn the_example_of_the_policy_guide_is_an_app() {
    let guide = include_str!("../../../docs/policy.md");
    let (_, rest) = guide.split_once("```yaml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let app = App::from_text("policy.md", example).unwrap();
    let capabilities = &app.config.tools.capabilities;
    let rules = [&capabilities.deny, &capabilities.approve, &capabilities.grant].map(Vec::len);
    assert_eq!(rules, [2, 1, 4]);
    assert!(capabilities.access.as_ref().is_some_and(|access| access.system.is_some()));
}

#[tokio::test]
async fn a_tool_that_is_denied_in_a_session_is_not_in_its_plan() {
    let runtime = start(
        "modules: {hello: {}}
tools: {capabilities: {deny: [{module: hello, actions: [status], session: 'guest-*'}]}}",
    )
    .await;
    let offered = |session| {
        let setup = runtime.agent_in(None, session).unwrap();
        setup.plan.offered.iter().any(|tool| tool.wire_name == "hello__status")
    };
    assert!(offered("s") && !offered("guest-1"));
    assert!(!runtime.agent_in(None, "guest-1").unwrap().system_prompt.text.contains("status"));
}

#[tokio::test]
async fn the_plan_is_decided_once_for_each_generation_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tools.yaml");
    let tools = |count: usize| {
        let tools = (0..count)
            .map(|n| format!("  - {{name: tool_{n}, description: {}}}\n", "Does a thing. ".repeat(40)));
        std::fs::write(&path, format!("shop:\n{}", tools.collect::<String>())).unwrap();
    };
    tools(2);
    let runtime = start(&format!(
        "agents: [{{id: a, brain: {{provider: ollama, context_window: 8000}}}}]
tools: {{registry: [{{type: file, path: '{}'}}]}}",
        path.display()
    ))
    .await;
    let first = runtime.agent(None).unwrap();
    assert_eq!(first.tool_injection().as_str(), "direct");
    assert!(Arc::ptr_eq(&first, &runtime.agent(None).unwrap()));
    assert!(!Arc::ptr_eq(&first, &runtime.agent_in(None, "another").unwrap()));
    tools(100);
    runtime.executor().registry().refresh().await.unwrap();
    let second = runtime.agent(None).unwrap();
    assert_eq!(second.tool_injection().as_str(), "discovery");
    assert!(second.generation > first.generation);
}

#[tokio::test]
async fn pinned_tools_are_shown_and_those_that_are_not_there_are_warned_of() {
    let runtime = start(
        "modules: {hello: {}}
runtime: {tool_injection: discovery, pinned: [status, hello.say_hello, hello.wave]}",
    )
    .await;
    let setup = runtime.agent(None).unwrap();
    let pinned: Vec<_> = setup.plan.offered.iter().filter(|tool| tool.name.namespace() == "hello").collect();
    assert_eq!(pinned.iter().map(|tool| tool.name.name()).collect::<Vec<_>>(), ["say_hello", "status"]);
    assert_eq!(
        runtime.warnings(),
        ["`runtime.pinned` speaks of `hello.wave`, which is no tool that is there"]
    );
}

#[tokio::test]
async fn a_tool_choice_is_a_word_or_a_tool_that_is_there() {
    let app = |choice: &str| {
        format!(
            "agents: [{{id: a, brain: {{provider: openai, tool_choice: {choice}}}}}]\nmodules: {{hello: {{}}}}"
        )
    };
    assert!(
        wrong(&app("requird")).contains("write `auto`, `none`, `required`, or a tool as `namespace.name`")
    );
    let runtime = start(&app("hello.wave")).await;
    let error = runtime.agent(None).err().unwrap().to_string();
    assert!(error.contains("`hello.wave`, which is not there"), "{error}");
    let runtime = start(&app("hello.status")).await;
    let chosen = runtime.agent(None).unwrap().settings.tool_choice.clone();
    assert_eq!(chosen, toolcrib_agent::ToolChoice::Tool("hello__status".into()));
}
