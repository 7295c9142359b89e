//! What the operator of an app can find out about it.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{TestDir, mcp_script};

const RULES: &str = "
modules:
  hello: {constraints: {blocked_actions: [status]}}
  filesystem: {}
tools:
  capabilities:
    default_policy: approve
    grant:
      - {module: filesystem, actions: [read], arguments: [{path: /path, equals: notes.txt}]}
    deny: [{module: filesystem, actions: [delete]}]
";

#[tokio::test]
async fn why_a_tool_is_denied_asked_about_or_granted_is_said_with_the_rule() {
    let dir = TestDir::with_app(RULES);
    for (arguments, lines) in [
        (
            &["why", "app.yaml", "filesystem.delete"][..],
            &[
                "filesystem.delete: deny",
                "decided by: tools.capabilities.deny[0]",
                "which is: {\"module\":\"filesystem\"",
            ][..],
        ),
        (
            &["why", "app.yaml", "hello.status"],
            &["hello.status: deny", "decided by: modules.hello.constraints"],
        ),
        (
            &["why", "app.yaml", "filesystem.write"],
            &[
                "filesystem.write: approve",
                "decided by: tools.capabilities.default_policy",
                "no rule matches",
            ],
        ),
        (
            &["why", "app.yaml", "filesystem.read"],
            &[
                "filesystem.read: grant (if /path is \"notes.txt\")",
                "decided by: tools.capabilities.grant[0]",
            ],
        ),
        (&["why", "app.yaml", "filesystem.read", "{\"path\": \"notes.txt\"}"], &["filesystem.read: grant\n"]),
        (
            &["why", "app.yaml", "filesystem.read", "{\"path\": \"other.txt\"}"],
            &["filesystem.read: approve\n"],
        ),
    ] {
        let said = dir.run_words(arguments).await.expect(0).stdout;
        for line in lines {
            assert!(said.contains(line), "{arguments:?}: {line}\n{said}");
        }
    }
    let machine = dir.run(["why", "app.yaml", "filesystem.read", "--json"]).await.expect(0).json();
    let decision = &machine["decisions"][0]["policy"];
    assert_eq!(decision["depends_on_arguments"], true, "{machine}");
    assert_eq!(decision["conditions"][0]["path"], "/path", "{machine}");
    dir.run(["why", "app.yaml", "filesystem.none"]).await.expect(2);
}

#[tokio::test]
async fn why_lists_all_that_matches_in_order_and_what_would_change_the_outcome() {
    let dir = TestDir::with_app(RULES);
    let said = dir.run(["why", "app.yaml", "filesystem.delete"]).await;
    insta::assert_snapshot!(said.expect(0).stdout);
    let said =
        dir.run(["why", "app.yaml", "filesystem.write", "{\"path\": \"a\", \"content\": \"b\"}"]).await;
    insta::assert_snapshot!(said.expect(0).stdout);
}

#[tokio::test]
async fn why_tells_what_the_client_of_a_token_may_do() {
    let app = format!(
        "{RULES}serve:\n  tokens: [{{name: guest, token: 'a-token-of-32-characters-or-more!!', namespaces: [hello]}}]\n"
    );
    let dir = TestDir::with_app(&app);
    let said = dir.run(["why", "app.yaml", "filesystem.write", "--token", "guest"]).await.expect(0).stdout;
    assert!(
        said.contains("filesystem.write: deny") && said.contains("decided by: serve.tokens[0]"),
        "{said}"
    );
    let said = dir.run(["why", "app.yaml", "hello.say_hello", "--token", "stranger"]).await.expect(0).stdout;
    assert!(said.contains("hello.say_hello: deny"), "{said}");
}

#[tokio::test]
async fn why_tells_whose_approval_a_call_needs_and_which_rules_require_it() {
    let app = format!(
        "{RULES}serve:
  tokens: [{{name: ci, token: 'a-token-of-32-characters-or-more!!'}}]
approvals:
  url: http://127.0.0.1:8080
  people:
    alice: {{principals: [operator]}}
    bob: {{}}
    carol: {{principals: [ci]}}
  channels:
    hook: {{type: webhook, url: 'http://127.0.0.1:9/', people: [alice, bob]}}
  rules:
    - {{module: filesystem, ask: [hook]}}
    - {{module: filesystem, actions: [write], approvers: 3, four_eyes: true}}
    - {{module: filesystem, risk: high, approvers: 4}}
"
    );
    let dir = TestDir::with_app(&app);
    let said = dir.run(["why", "app.yaml", "filesystem.write", "--token", "ci"]).await.expect(0).stdout;
    insta::assert_snapshot!(said);
    let why =
        dir.run(["why", "app.yaml", "filesystem.write", "--token", "ci", "--json"]).await.expect(0).json();
    let approval = &why["decisions"][0]["approval"];
    assert_eq!(approval["eligible"], json!(["alice", "bob"]), "{why}");
    assert_eq!(approval["requester"], "ci", "{why}");
    assert_eq!(approval["rules"][1]["rule"], "approvals.rules[1]", "{why}");
    let said = dir.run(["why", "app.yaml", "filesystem.read"]).await.expect(0).stdout;
    assert!(said.contains("  to be approved by 1 person: alice, bob, carol\n"), "{said}");
    let denied = dir.run(["why", "app.yaml", "filesystem.delete", "--json"]).await.expect(0).json();
    assert_eq!(denied["decisions"][0]["approval"], json!(null), "nobody is asked about a denied call");
}

#[tokio::test]
async fn a_table_of_cases_tests_the_policy() {
    let dir = TestDir::with_app(RULES);
    std::fs::write(
        dir.path("good.yaml"),
        "
- {tool: filesystem.delete, expect: deny, rule: 'tools.capabilities.deny[0]'}
- {tool: filesystem.read, arguments: {path: notes.txt}, expect: grant}
- {tool: filesystem.read, arguments: {path: other.txt}, expect: approve}
- {tool: filesystem.fly, expect: absent}
",
    )
    .unwrap();
    let tested = dir.run(["policy", "test", "app.yaml", "good.yaml"]).await.expect(0);
    assert!(tested.stdout.contains("4 of 4 cases hold"), "{tested:?}");
    std::fs::write(
        dir.path("bad.yaml"),
        "
- {tool: filesystem.delete, expect: grant}
- {tool: filesystem.read, expect: grant}
- {tool: filesystem.delete, expect: deny, rule: 'tools.capabilities.deny[1]'}
- {tool: filesystem.fly, expect: deny}
- {tool: filesystem.write, expect: absent}
",
    )
    .unwrap();
    let tested = dir.run(["policy", "test", "app.yaml", "bad.yaml"]).await.expect(1);
    insta::assert_snapshot!(tested.stdout);
    let json = dir.run(["policy", "test", "app.yaml", "bad.yaml", "--json"]).await.expect(1).json();
    assert_eq!(json["failed"], 5, "{json}");
}

#[tokio::test]
async fn a_case_with_a_mistyped_caller_does_not_hold() {
    let dir = TestDir::with_app(&format!(
        "{RULES}serve:\n  tokens: [{{name: guest, token: 'a-token-of-32-characters-or-more!!'}}]\n"
    ));
    for (caller, problem) in
        [("token: gest", "no client `gest`; it has: guest"), ("agent: clrk", "no agent `clrk`; it has: none")]
    {
        let case = format!("- {{tool: filesystem.delete, expect: deny, {caller}}}\n");
        std::fs::write(dir.path("cases.yaml"), case).unwrap();
        let tested = dir.run(["policy", "test", "app.yaml", "cases.yaml"]).await.expect(1);
        assert!(tested.stdout.contains(problem), "{tested:?}");
    }
}

#[tokio::test]
async fn a_table_of_cases_that_cannot_be_read_is_an_error_with_its_place() {
    let dir = TestDir::with_app(RULES);
    for (text, problem) in [
        ("[]", "expected a list of cases, found none"),
        ("- {tool: x, expect: maybe}", "cases.yaml:1:"),
        ("- {tool: x, expect: deny, argument: {}}", "did you mean `arguments`?"),
    ] {
        std::fs::write(dir.path("cases.yaml"), text).unwrap();
        let tested = dir.run(["policy", "test", "app.yaml", "cases.yaml"]).await.expect(2);
        assert!(tested.report().contains(problem), "{tested:?}");
    }
    dir.run(["policy", "test", "app.yaml", "none.yaml"]).await.expect(2);
}

#[tokio::test]
async fn a_conditional_grant_is_shown_as_one_and_a_denied_tool_is_shown_to_the_operator_alone() {
    let dir = TestDir::with_app(RULES);
    let listed = dir.run(["tools", "app.yaml"]).await.expect(0).stdout;
    let read = listed.lines().find(|line| line.starts_with("filesystem.read ")).unwrap();
    assert!(read.contains("grant (if /path is \"notes.txt\")"), "{read}");
    let shown = dir.run(["show", "app.yaml", "filesystem.delete"]).await.expect(0).stdout;
    assert!(shown.contains("policy: deny, by tools.capabilities.deny[0]"), "{shown}");
    let called = dir.run(["call", "app.yaml", "filesystem.delete", "{\"path\": \"x\"}"]).await.expect(3);
    assert!(!called.report().contains("tools.capabilities"), "{called:?}");
}

#[tokio::test]
async fn a_dead_server_is_not_green_by_what_was_kept_of_it() {
    let app = "tools: {registry: [{type: mcp, name: team, command: [sh, server.sh]}]}\n";
    let dir = TestDir::with_app(app).with_file("server.sh", mcp_script(""));
    dir.run(["validate", "app.yaml", "--connect"]).await.expect(0);
    dir.run(["tools", "app.yaml"]).await.expect(0);
    let dir = dir.with_file("server.sh", "exit 1\n");
    dir.run(["tools", "app.yaml"]).await.expect(0);
    let said = dir.run(["validate", "app.yaml", "--connect"]).await.expect(5);
    assert!(said.stderr.contains("mcp mcp_team"), "{said:?}");
    let said = dir.run(["doctor", "app.yaml"]).await.expect(5).stdout;
    assert!(said.contains("failed   mcp mcp_team"), "{said}");
}

#[tokio::test]
async fn a_model_at_an_address_of_its_own_needs_no_key() {
    let dir = TestDir::with_app(
        "agents: [{id: a, brain: {provider: openai, model: m, base_url: 'http://127.0.0.1:9/v1'}}]\n",
    );
    let said = dir.run(["doctor", "app.yaml"]).await.expect(0).stdout;
    assert!(said.contains("ok       agent a") && !said.contains("OPENAI_API_KEY"), "{said}");
    assert!(!said.contains("missing"), "what is optional is not missing: {said}");
}

#[tokio::test]
async fn apps_that_start_one_another_end() {
    let app = |other: &str| {
        format!(
            "tools: {{registry: [{{type: mcp, name: next, command: ['${{TOOLCRIB}}', serve, {other}]}}]}}\n"
        )
    };
    let dir = TestDir::with_app(&app("other.yaml")).with_file("other.yaml", app("app.yaml"));
    // What is listed is empty at each depth, and nothing is left of any.
    dir.run(["tools", "app.yaml"]).await;
    let own = TestDir::with_app(&app("app.yaml"));
    let refused = own.run(["tools", "app.yaml"]).await.expect(2);
    assert!(refused.stderr.contains("serves this same app"), "{refused:?}");
    let deep = dir.with_variable("TOOLCRIB_DEPTH", "3").run(["tools", "app.yaml"]).await.expect(2);
    assert!(deep.stderr.contains("3 Toolcrib processes have started one another"), "{deep:?}");
}

#[tokio::test]
async fn apps_that_name_each_other_several_times_start_few_processes() {
    let app = |other: &str| {
        let start = format!("echo x >> starts; exec ${{TOOLCRIB}} serve {other}");
        let source = |name| format!("{{type: mcp, name: {name}, command: [sh, -c, '{start}']}}");
        format!("tools: {{registry: [{}, {}, {}]}}\n", source("a"), source("b"), source("c"))
    };
    // Without a cache: a process that starts late would find there what another of the same app has listed.
    let dir = TestDir::with_app(&app("other.yaml"))
        .with_file("other.yaml", app("app.yaml"))
        .with_variable("XDG_CACHE_HOME", "/dev/null");
    dir.run(["tools", "app.yaml"]).await;
    // 3 below the first process, 3 below each of those, and none below these.
    assert_eq!(dir.read("starts").lines().count(), 12);
}

#[tokio::test]
async fn an_import_takes_no_entry_that_starts_this_program_and_goes_on_past_a_broken_file() {
    let servers = json!({"mcpServers": {
        "plain": {"command": "toolcrib", "args": ["serve", "app.yaml"]},
        "stdio": {"command": "/usr/local/bin/toolcrib", "args": ["serve", "/a/app.yaml", "--stdio"]},
        "npx": {"command": "npx", "args": ["-y", "toolcrib", "serve", "app.yaml"]},
        "shell": {"command": "sh", "args": ["-c", "exec toolcrib serve app.yaml"]},
        "notes": {"command": "notes", "env": {"${HOME}": "canary-v2-9876543210"}},
    }});
    let dir = TestDir::new()
        .with_file("home/.cursor/mcp.json", servers.to_string())
        .with_file("home/.claude.json", "{\"mcpServers\": {\n");
    let imported = dir.run(["import", "--json"]).await.expect(0).json();
    let names: Vec<_> =
        imported["servers"].as_array().unwrap().iter().map(|server| &server["name"]).collect();
    assert_eq!(names, ["notes"], "{imported}");
    let unreadable = imported["unreadable"].as_array().unwrap();
    assert!(unreadable[0].as_str().unwrap().contains(".claude.json"), "{imported}");
    assert!(!dir.read("app.yaml").contains("canary"), "{}", dir.read("app.yaml"));
    let nothing = TestDir::new().with_file("home/.claude.json", "{\"mcpServers\": {\n");
    assert!(nothing.run(["import"]).await.expect(2).stderr.contains(".claude.json"));
}

#[tokio::test]
async fn what_is_wrong_with_a_skill_is_said_by_validate_and_counted_by_other_commands() {
    let dir = TestDir::with_app("modules: {hello: {}}\nskills: {folders: [./skills]}\ntools: {capabilities: {default_policy: grant}}\n")
        .with_file("skills/broken/SKILL.md", "no front matter\n");
    let said = dir.run(["validate", "app.yaml"]).await.expect(0).stderr;
    assert!(said.contains("is no skill"), "{said}");
    for arguments in [&["tools", "app.yaml"][..], &["call", "app.yaml", "hello.status"]] {
        let said = dir.run_words(arguments).await.expect(0).stderr;
        assert!(!said.contains("is no skill"), "{arguments:?}: {said}");
        assert!(
            said.contains("note: 1 warning about app.yaml; `toolcrib validate app.yaml` shows"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_port_that_is_taken_is_said_with_what_to_do() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let dir = TestDir::with_app("modules: {hello: {}}\n");
    let said = dir.run(["serve", "app.yaml", "--http", &port]).await.expect(5).stderr;
    assert!(said.contains("another program uses the port: end it, or give another port"), "{said}");
}

#[tokio::test]
async fn a_silent_server_holds_up_nobody_for_longer_than_it_may_take_to_start() {
    let app = "
modules: {hello: {}}
tools: {registry: [{type: mcp, name: team, command: [sh, -c, 'exec sleep 1000']}], capabilities: {default_policy: grant}}
";
    // Ten seconds by default; a server is given a minute only where it is what is asked for.
    let most = Duration::from_secs(40);
    let begun = Instant::now();
    let (first, second) = (TestDir::with_app(app), TestDir::with_app(app));
    let (called, found) = tokio::join!(
        first.run(["call", "app.yaml", "hello.status"]),
        second.run(["search", "app.yaml", "say hello"]),
    );
    assert!(called.stdout.contains("version"), "{called:?}");
    assert!(found.stdout.contains("hello.say_hello"), "{found:?}");
    assert!(begun.elapsed() < most, "{:?}", begun.elapsed());
}
