//! What is said of an app file before anything starts.

use toolcrib_oauth::server::SignatureAlgorithm;
use toolcrib_script::ScriptLimits;
use toolcrib_tasks::TaskStore;

use super::wrong;
use crate::Blueprint;

#[test]
fn an_empty_file_is_an_app_without_anything() {
    assert!(Blueprint::from_text("app.yaml", "# nothing yet\n").unwrap().app.config.agents.is_empty());
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
        ("{type: rest, spec: a.yaml}", "app.yaml:3:7: `tools.registry[0]`: missing field `namespace`"),
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
            "app.yaml:3:48: `tools.registry[0].cache`: `cache` has to be a folder, or `false`",
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
fn what_run_would_refuse_is_refused_before() {
    for (text, message) in [
        (
            "runtime: {tool_budget: -1}",
            "app.yaml:1:11: `tool_budget` is a share of the context window, from 0 to 1",
        ),
        (
            "tools: {registry: [{type: mcp, namespace: a, command: [a], startup_timeout_seconds: 1e30}]}",
            "app.yaml:1:60: `tools.registry[0].startup_timeout_seconds`: a time has to be from 1 to 120 seconds, \
             not 1000000000000000000000000000000",
        ),
        (
            "tools: {registry: [{type: file, path: a.yaml, refresh_seconds: 1}]}",
            "app.yaml:1:47: `refresh_seconds` has to be a whole number from 10 to 604800, not 1",
        ),
        (
            "modules: {hello: {}}\ntools: {capabilities: {deny: [{module: helo}, {module: hello, actions: [staus]}]}}",
            "app.yaml:2:32: unknown module `helo`, did you mean `hello`?\n\
             app.yaml:2:73: in the module `hello`: unknown action `staus`, did you mean `status`?",
        ),
        (
            "tools: {capabilities: {grant: [{module: }]}}",
            "app.yaml:1:33: `tools.capabilities.grant[0].module`: expected a text, found nothing",
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

#[test]
fn the_audit_is_checked_before_anything_starts() {
    for (audit, message) in [
        ("", "app.yaml:1:1: `audit`: expected a mapping with a `path`, found nothing"),
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
fn what_is_wrong_with_an_authorization_server_is_said_at_its_place() {
    let base = "issuer: 'https://login.example.com', audience: 'https://tools.example.com/mcp'";
    let ci = "{name: ci, client_id: bot}";
    let cases = [
        format!("{{issuer: login, audience: a, clients: [{ci}]}}"),
        format!("{{issuer: 'http://login.example.com', audience: 'https://a.example', clients: [{ci}]}}"),
        format!(
            "{{issuer: 'https://me@login.example.com?a#b', audience: 'https://a.example', clients: [{ci}]}}"
        ),
        format!("{{issuer: 'https://login.example.com?a', audience: 'https://a.example', clients: [{ci}]}}"),
        format!("{{{base}, jwks_url: 'file:///keys', clients: [{ci}]}}"),
        format!("{{{base}, resource: tools, clients: [{ci}]}}"),
        format!("{{{base}, algorithms: [RS256, HS256], clients: [{ci}]}}"),
        format!("{{{base}, algorithms: [none], clients: [{ci}]}}"),
        format!("{{{base}, algorithms: [], clients: [{ci}]}}"),
        format!("{{{base}, clients: []}}"),
        format!("{{{base}}}"),
        format!("{{{base}, clients: [{{name: ci}}]}}"),
        format!("{{{base}, clients: [{{name: 'a b', subject: ''}}]}}"),
        format!("{{{base}, clients: [{{name: ci, scopes: ['a b']}}]}}"),
        format!("{{{base}, clients: [{ci}, {ci}]}}"),
        format!("{{{base}, clients: [{{name: local, subject: a}}]}}"),
        format!("{{{base}, clients: [{{name: ci, subject: a, namespaces: ['docs[']}}]}}"),
        format!("{{{base}, clients: [{{name: ci, subject: a, max_risk_level: huge}}]}}"),
        format!("{{{base}, clients: [{{name: ci, scope: a}}]}}"),
    ];
    let messages = cases.map(|oauth| wrong(&format!("serve:\n  oauth: {oauth}\n")));
    insta::assert_snapshot!(messages.join("\n"));
    let beside = wrong(&format!(
        "serve: {{tokens: [{{name: ci, token: '${{A}}'}}], oauth: {{{base}, clients: [{ci}]}}}}\n"
    ));
    assert!(beside.ends_with("there is a client `ci` already"), "{beside}");
}

#[test]
fn the_clients_of_an_authorization_server_are_left_what_their_entry_says() {
    let text = "serve: {oauth: {issuer: 'https://login.example.com', audience: 'api://tools', \
                resource: 'https://tools.example.com/mcp', clients: [{name: ci, scopes: [a], max_risk_level: low}]}}\n";
    let app = Blueprint::from_text("app.yaml", text).unwrap();
    let served = |blueprint: &Blueprint| {
        let oauth = blueprint.app.config.serve.oauth.as_ref().unwrap();
        oauth.served(&blueprint.app.file)
    };
    let served_oauth = served(&app).unwrap();
    assert_eq!(
        (served_oauth.server.audience.as_str(), served_oauth.server.resource.as_str()),
        ("api://tools", "https://tools.example.com/mcp")
    );
    assert_eq!(served_oauth.server.algorithms, SignatureAlgorithm::ALL);
    let unset = text.replace("api://tools", "${TOOLCRIB_NO_SUCH_VARIABLE}");
    let error = served(&Blueprint::from_text("app.yaml", &unset).unwrap()).unwrap_err().to_string();
    assert!(error.starts_with("app.yaml:1:54: the environment variable"), "{error}");
}

#[test]
fn a_section_with_nothing_in_it_is_empty() {
    let text = "app:\nagents:\nmodules:\n  hello:\ntools:\n  registry:\n  engines:\n  capabilities:\nexecution:\nruntime:\n";
    let app = Blueprint::from_text("app.yaml", text).unwrap();
    assert!(app.app.config.modules.contains_key("hello"));
    for text in ["modules: {hello: {constraints: }}", "tools: {capabilities: {deny: }}", "audit:"] {
        assert!(
            Blueprint::from_text("app.yaml", text).is_err(),
            "{text} takes something away, or needs something"
        );
    }
}

#[test]
fn a_wrong_type_is_told_in_words() {
    for (text, message) in [
        (
            "runtime: {max_turns: many}",
            "`runtime.max_turns`: expected a whole number from 1 to 4294967295, found \"many\"",
        ),
        ("agents: {a: 1}", "`agents`: expected a list, found a mapping"),
        ("modules: [hello]", "`modules`: expected a mapping, found a list"),
        ("app: {id: [x]}", "`app.id`: expected a text, found a list"),
    ] {
        let error = wrong(text);
        assert!(error.ends_with(message), "{error}");
    }
}

#[test]
fn former_names_are_read_as_what_they_are_called_now() {
    let text = "
agents: [{id: a, role: specialist, brain: {provider: recorded}}]
modules: {cron_native: {}}
tools: {capabilities: {grant: [{module: cron_native}]}}
runtime: {watchers: true}
";
    let app = Blueprint::from_text("app.yaml", text).unwrap();
    assert_eq!(app.app.config.agents[0].role, "assistant");
    assert!(app.app.config.modules.contains_key("scheduler") && app.app.config.execution.watchers);
    assert_eq!(app.app.config.tools.capabilities.grant[0].module.as_deref(), Some("scheduler"));
    let notes: Vec<_> = app.warnings().iter().filter(|note| note.contains(" is called ")).collect();
    assert_eq!(
        notes,
        [
            "line 5: `runtime.watchers` is called `execution.watchers` now",
            "line 3: `modules.cron_native` is called `modules.scheduler` now",
            "line 2: `specialist` is called `assistant` now",
            "line 4: `cron_native` is called `scheduler` now",
        ]
    );
    assert!(wrong("modules: {workspace: {}}").contains("`filesystem` works in the folder"));
}

#[test]
fn an_empty_module_that_an_app_needs_no_more_is_a_warning_and_one_with_settings_an_error() {
    let app =
        Blueprint::from_text("app.yaml", "modules:\n  agent_spawn: {}\n  channels:\n  hello: {}\n").unwrap();
    assert_eq!(app.app.config.modules.keys().collect::<Vec<_>>(), ["hello"]);
    let notes: Vec<_> = app.warnings().iter().filter(|note| note.contains("is no module")).collect();
    assert_eq!(
        notes,
        [
            "line 2: `modules.agent_spawn` is no module, and the empty entry has no effect: give one of the `agents` `role: \
             coordinator`, and it can start the others",
            "line 3: `modules.channels` is no module, and the empty entry has no effect: name them under `tools.channels`",
        ]
    );
    for (text, advice) in [
        ("modules: {agent_spawn: {config: {max_agents: 3}}}", "`role: coordinator`"),
        ("modules: {channels: {config: {email: {}}}}", "`tools.channels`"),
        ("modules: {watchers: {}}", "`execution: {watchers: true}`"),
    ] {
        assert!(wrong(text).contains(advice), "{text}");
    }
}

#[test]
fn an_engine_that_is_not_there_any_more_says_what_to_write() {
    let engines = "tools:\n  engines:\n    a: {type: mcp}\n    b: {type: rest}\n";
    insta::assert_snapshot!(wrong(engines), @r"
    app.yaml:3:5: there is no engine `mcp`: a source `{type: mcp}` under `tools.registry` brings its own engine
    app.yaml:4:5: there is no engine `rest`: a source `{type: rest}` under `tools.registry` brings its own engine
    ");
}

#[test]
fn a_path_does_not_begin_with_its_folder_twice() {
    let text = "tools: {registry: [{type: file, path: ./nosuch.yaml}]}\napp: {workspace: ././work}\n";
    let app = Blueprint::from_text("app.yaml", text).unwrap();
    for (named, shown) in [
        ("./nosuch.yaml", "./nosuch.yaml"),
        ("nosuch.yaml", "./nosuch.yaml"),
        ("././a/./b/../c", "./a/b/../c"),
        (".", "."),
        ("/a", "/a"),
    ] {
        assert_eq!(app.app.file.path(named).as_os_str(), shown, "{named}");
    }
    assert_eq!(app.app.file.workspace().unwrap().as_os_str(), "./work");
}

#[test]
fn blocking_an_action_that_does_not_exist_is_a_warning_that_names_the_nearest() {
    for (blocked, warning) in [
        ("drop_table", "unknown action `drop_table`"),
        ("staus", "unknown action `staus`, did you mean `status`?"),
    ] {
        let text = format!("modules: {{hello: {{constraints: {{blocked_actions: [{blocked}]}}}}}}");
        let app = Blueprint::from_text("app.yaml", &text).unwrap();
        let warnings = app.warnings();
        assert!(warnings.iter().any(|said| said.contains(warning)), "{warnings:?}");
    }
}

#[test]
fn what_no_command_can_run_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.yaml");
    std::fs::write(folder.path().join("file"), "").unwrap();
    for (text, message) in [
        ("", "the file is empty; `toolcrib init` writes a starter app"),
        ("# only a comment\n", "the file is empty; `toolcrib init` writes a starter app"),
        ("app: {workspace: none}", "is not there; make it, or name another folder"),
        ("app: {workspace: file}", "is a file; name a folder"),
        (
            "agents: [{id: a, brain: {provider: openai, model: m, base_url: 'localhost:8080'}}]",
            "`base_url` begins with `http://` or `https://`, as `http://localhost:8080`",
        ),
        ("serve: {tokens: [{name: ci, token: short}]}", "characters; this one has fewer"),
        ("audit: {path: none/audit.jsonl}", "none` is not there; make it"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = Blueprint::open(&path).unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
    std::fs::write(&path, "agents: [{id: a, brain: {provider: ollama}}]").unwrap();
    let blueprint = Blueprint::open(&path).unwrap();
    let warnings = blueprint.warnings();
    assert!(warnings.iter().any(|warning| warning.contains("names no `model`")), "{warnings:?}");
}

#[test]
fn a_credential_that_is_written_out_is_a_secret_like_one_in_a_variable() {
    let text = "
agents: [{id: a, brain: {provider: openai, model: m, api_key: canary-key-1}}]
tools:
  registry:
    - {type: mcp, name: a, url: 'https://me:canary-pass@example.com/mcp', headers: {Authorization: Bearer canary-header, Accept: application/json}}
    - {type: mcp, name: b, command: [x], env: {API_TOKEN: canary-token, LOG_LEVEL: production, MAX_TOKENS: '100000000', TOKEN_URL: 'https://id.example/token'}}
";
    let app = Blueprint::from_text("app.yaml", text).unwrap();
    let said = "canary-pass canary-header canary-token application/json production 100000000 https://id.example/token";
    let shown = app.app.secrets().redactor().redact(said).into_owned();
    assert_eq!(
        shown,
        "[secret url] [secret Authorization] [secret API_TOKEN] application/json production 100000000 \
         https://id.example/token"
    );
}

#[test]
fn the_form_of_messages_has_a_schema_where_it_needs_one() {
    let brain = |format: &str| {
        format!("agents:\n  - id: a\n    brain:\n      provider: recorded\n      response_format: {format}\n")
    };
    let schema = wrong(&brain("{type: json_schema}"));
    assert!(schema.starts_with("app.yaml:5:7: `type: json_schema` requires a `schema`"), "{schema}");
    let name = wrong(&brain("{type: json_object, name: x}"));
    assert!(name.starts_with("app.yaml:5:7: only `type: json_schema` takes `name`"), "{name}");
    let letters = wrong(&brain("{type: json_schema, name: a b, schema: {}}"));
    assert!(letters.starts_with("app.yaml:5:7: the `name` of a schema has"), "{letters}");
    let kind = wrong(&brain("{type: json}"));
    assert!(kind.starts_with("app.yaml:5:25: unknown value `json`"), "{kind}");
}

#[test]
fn the_limits_of_scripts_are_settings_with_upper_bounds() {
    let app = "execution: {scripts: {calls: 3, heap_mib: 8, cpu_seconds: 2, concurrent_scripts: 1, paused_hours: 1}}";
    let settings =
        Blueprint::from_text("app.yaml", app).unwrap().app.task_settings(TaskStore::Process).unwrap();
    let limits = settings.scripts.limits;
    assert_eq!((limits.calls, limits.heap_bytes, limits.cpu_ms), (3, 8 * 1024 * 1024, 2_000));
    assert_eq!((settings.scripts.max_running, settings.scripts.retention.as_secs()), (1, 3_600));
    assert_eq!(limits.concurrent_calls, ScriptLimits::default().concurrent_calls);
    let error = wrong("execution: {scripts: {calls: 20000, value_bytes: 9000000}}");
    assert!(
        error.contains("`calls` is at most 10000") && error.contains("`value_bytes` is at most 4194304"),
        "{error}"
    );
    let error = wrong("execution: {scripts: {calls: 0}}");
    assert!(error.starts_with("app.yaml:1:23: "), "{error}");
}
