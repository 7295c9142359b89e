//! Every way to a tool leads through the gate: each way in, crossed with each decision, counts what really output.

use serde_json::{Value, json};
use toolcrib_testkit::{FaultScript, FaultyModel, ModelFormat, ModelServer, Turn};

use crate::faulty_models::provider;
use crate::model_formats::search_name;
use crate::support::{TestDir, binary};

/// What the policy says of the tool, and whether somebody says yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Denied,
    /// Approval is needed, and there is nobody to ask.
    NobodyToAsk,
    /// Approval is needed, and given.
    Approved,
    Granted,
    /// A rule grants the call, and a hook denies it.
    Hooked,
    /// A rule grants the call, and a hook returns no verdict.
    HookFails,
    /// A rule grants the call, and the profile of the client does not have the tool.
    OutsideProfile,
}

impl Decision {
    const ALL: [Self; 6] =
        [Self::Denied, Self::NobodyToAsk, Self::Approved, Self::Granted, Self::Hooked, Self::HookFails];

    fn rule(self) -> &'static str {
        match self {
            Self::Denied => "deny",
            Self::NobodyToAsk | Self::Approved => "approve",
            Self::Granted | Self::Hooked | Self::HookFails | Self::OutsideProfile => "grant",
        }
    }

    /// The answer of the hook that checks the tool, also when it is shaped.
    fn hooks(self) -> String {
        let answer = match self {
            Self::Hooked => r#"{"verdict": "deny", "reason": "closed"}"#,
            Self::HookFails => r#"{"verdict": "perhaps"}"#,
            _ => return String::new(),
        };
        format!(
            "hooks: [{{name: check, when: before, tools: [shop.touch], run: [printf, '%s', '{answer}']}}]"
        )
    }

    /// How often the tool runs for one call.
    fn runs(self) -> usize {
        usize::from(matches!(self, Self::Approved | Self::Granted))
    }

    /// A dir whose tool appends a line to `ran.txt` each time that it runs.
    fn dir(self, mode: &str, is_native: bool) -> TestDir {
        self.lab_of(Target::Plain, mode, is_native)
    }

    fn lab_of(self, target: Target, mode: &str, is_native: bool) -> TestDir {
        let app = format!(
            r#"
agents:
  - id: clerk
    brain:
      provider: openai
      model: test-model
      base_url: "${{MODEL_URL:-http://127.0.0.1:9/v1}}"
      native_tool_use: {is_native}
audit: {{path: audit.jsonl}}
profiles: {{desk: {{namespaces: [hello]}}, all: {{namespaces: [shop, desk]}}}}
{hooks}
runtime: {{tool_injection: {mode}}}
serve: {{scripts: on}}
tools:
  {shape}
  registry: [{{type: file, path: tools.yaml, engine: shop}}]
  engines:
    shop: {{type: command, argv: [sh, -c, 'echo ran >> ran.txt; echo done', sh]}}
  capabilities:
    default_policy: deny
    grant: [{{module: context_builder}}{granted}]
    {rules}
"#,
            hooks = self.hooks(),
            shape = target.shape(),
            granted =
                if target == Target::Original || self.rule() == "grant" { target.granted() } else { "" },
            rules = if self.rule() == "grant" { String::new() } else { target.rules(self.rule()) },
        );
        TestDir::with_app(&app)
            .with_file("tools.yaml", "shop: [{name: touch, description: Leaves a trace.}]\n")
            .with_variable("OPENAI_API_KEY", "test")
    }
}

/// The tool of a call, and the tool that rules name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// A tool as its source defines it.
    Plain,
    /// A shaped tool, which rules name by its own name.
    Shaped,
    /// A shaped tool, which is granted, while a rule restricts its original.
    Original,
}

impl Target {
    const ALL: [Self; 3] = [Self::Plain, Self::Shaped, Self::Original];

    fn shape(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Shaped | Self::Original => {
                "shape: [{tool: shop.touch, name: desk.mark, description: Leaves a trace.}]"
            }
        }
    }

    fn granted(self) -> &'static str {
        match self {
            Self::Plain => ", {module: shop, actions: [touch]}",
            Self::Shaped | Self::Original => ", {module: desk, actions: [mark]}",
        }
    }

    fn rules(self, effect: &str) -> String {
        let tool = if self == Self::Shaped {
            "module: desk, actions: [mark]"
        } else {
            "module: shop, actions: [touch]"
        };
        format!("{effect}: [{{{tool}}}]")
    }

    /// The tool that a record names, and the original.
    fn recorded(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Plain => ("shop::touch", None),
            Self::Shaped | Self::Original => ("desk::mark", Some("shop::touch")),
        }
    }

    /// The ways to the tool.
    fn ways(self) -> Vec<(String, Value)> {
        let renamed = |text: &str| {
            if self == Self::Plain {
                return text.to_owned();
            }
            let names =
                [("shop.touch", "desk.mark"), ("shop::touch", "desk::mark"), ("shop__touch", "desk__mark")];
            names.into_iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
        };
        let ways = ways().into_iter();
        ways.map(|(name, arguments)| {
            let arguments = renamed(&arguments.to_string());
            (renamed(name), serde_json::from_str(&arguments).unwrap())
        })
        .collect()
    }
}

/// The arguments of a tool of the runtime, that lead to the tool.
fn ways() -> Vec<(&'static str, Value)> {
    let touch = json!({"name": "shop.touch", "params": {}});
    let nested = json!({"name": "context_builder.execute_tool", "params": touch});
    vec![
        ("shop.touch", json!({})),
        ("shop__touch", json!({})),
        ("execute_tool", touch.clone()),
        ("execute_tool", json!({"tool_name": "shop.touch"})),
        ("execute_tool", json!({"params": {"tool_name": "shop::touch"}})),
        ("execute_tool", nested.clone()),
        ("context_builder.execute_tool", json!({"name": "execute_tool", "params": nested})),
        ("execute_tool", json!({"name": "shop.touch", "params": {}, "project": "$"})),
        ("run_parallel", json!({"calls": [{"name": "shop.touch", "params": {}, "project": "."}]})),
        ("run_parallel", json!({"calls": [touch]})),
        ("run_parallel", json!({"calls": [nested]})),
        ("execute_tool", json!({"name": "run_parallel", "params": {"calls": [touch]}})),
        ("run_script", json!({"source": "await tools.shop.touch()"})),
        ("run_script", json!({"source": "await tools.shop__touch({})"})),
        ("run_script", json!({"source": "await tools.execute_tool({name: 'shop.touch', params: {}})"})),
        (
            "execute_tool",
            json!({"name": "run_script", "params": {"source": "await tools['shop::touch']({})"}}),
        ),
    ]
}

/// How often the tool ran since the last time that this was asked.
fn run_count(dir: &TestDir) -> usize {
    let path = dir.path("ran.txt");
    let lines = std::fs::read_to_string(&path).map_or(0, |text| text.lines().count());
    let _ = std::fs::remove_file(path);
    lines
}

/// The records of calls of the tool since the last time that this was asked.
fn recorded(dir: &TestDir) -> Vec<Value> {
    recorded_of(dir, Target::Plain)
}

fn recorded_of(dir: &TestDir, target: Target) -> Vec<Value> {
    let (tool, original) = target.recorded();
    let path = dir.path("audit.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let _ = std::fs::remove_file(path);
    let records = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let records: Vec<Value> = records.filter(|record: &Value| record["tool"] == tool).collect();
    assert!(records.iter().all(|record| record["original"].as_str() == original), "{records:#?}");
    records
}

#[tokio::test]
async fn a_call_from_the_command_line_runs_as_often_as_the_policy_lets_it() {
    for (decision, target) in pairs() {
        let dir = decision.lab_of(target, "auto", true);
        for (name, arguments) in target.ways() {
            let arguments = arguments.to_string();
            let mut words = vec!["call", "app.yaml", &name, &arguments];
            if decision == Decision::Approved {
                words.push("--yes");
            }
            dir.run_words(&words).await;
            assert_eq!(run_count(&dir), decision.runs(), "{decision:?} {target:?}: {words:?}");
            let records = recorded_of(&dir, target);
            assert_eq!(records.len(), 1, "{decision:?} {target:?}: {words:?}: {records:#?}");
            let record = &records[0];
            assert_eq!(record["decision"], decision.rule(), "{words:?}: {record:#}");
            assert_eq!(record["outcome"] == "ok", decision.runs() == 1, "{words:?}: {record:#}");
            let rule = format!("tools.capabilities.{}", decision.rule());
            assert!(record["rule"].as_str().unwrap().starts_with(&rule), "{words:?}: {record:#}");
            let verdict = match decision {
                Decision::Hooked => json!("deny"),
                Decision::HookFails => json!("failed"),
                _ => Value::Null,
            };
            assert_eq!(record["hooks"][0]["verdict"], verdict, "{words:?}: {record:#}");
        }
    }
}

/// Each decision with each target.
fn pairs() -> impl Iterator<Item = (Decision, Target)> {
    Decision::ALL.into_iter().flat_map(|decision| Target::ALL.map(|target| (decision, target)))
}

#[tokio::test]
async fn the_original_of_a_shaped_tool_is_reached_by_no_way() {
    let dir = Decision::Granted.lab_of(Target::Shaped, "auto", true);
    for (name, arguments) in ways() {
        let outcome = dir.run_words(&["call", "app.yaml", name, &arguments.to_string(), "--yes"]).await;
        assert_eq!(run_count(&dir), 0, "{name} {arguments}");
        assert!(!outcome.report().contains("echo"), "{name} {arguments}: {}", outcome.report());
    }
    let listed = dir.run(["tools", "app.yaml", "--json"]).await.expect(0).json().to_string();
    assert!(listed.contains("desk::mark") && !listed.contains("touch"), "{listed}");
}

/// An agent that takes every way, in one conversation.
async fn agent_runs(decision: Decision, target: Target, mode: &str, is_native: bool) -> usize {
    let call = |(name, arguments): (String, Value)| {
        let name = name.replace('.', "__");
        if is_native { Turn::call(&name, &arguments) } else { Turn::text_call(&name, &arguments) }
    };
    let turns = target.ways().into_iter().map(call).chain([Turn::text("Done.")]);
    let server = ModelServer::start(turns).await.unwrap();
    let dir = decision.lab_of(target, mode, is_native).with_variable("MODEL_URL", server.base_url());
    let mut words = vec!["run", "app.yaml", "Leave traces.", "--json"];
    if decision == Decision::Approved {
        words.push("--yes");
    }
    let report = dir.run_words(&words).await.expect(0).json();
    assert_eq!(report["calls"].as_array().unwrap().len(), ways().len(), "{decision:?}: {report:#}");
    let records = recorded_of(&dir, target);
    assert_eq!(records.len(), ways().len(), "{decision:?} {target:?}: {records:#?}");
    assert!(records.iter().all(|record| record["agent"] == "clerk"), "{records:#?}");
    run_count(&dir)
}

#[tokio::test]
async fn a_call_of_an_agent_runs_as_often_as_the_policy_lets_it() {
    for (decision, target) in pairs() {
        // Where the tool is not offered, a call of it is routed by itself.
        let modes = [
            ("direct", true),
            ("discovery", false),
            ("compact", true),
            ("discovery", true),
            ("direct", false),
        ];
        // A shaped tool is a tool like any other in each mode.
        let count = if target == Target::Plain { modes.len() } else { 2 };
        for (mode, is_native) in modes.into_iter().take(count) {
            let expected = decision.runs() * ways().len();
            let runs = agent_runs(decision, target, mode, is_native).await;
            assert_eq!(runs, expected, "{decision:?} {target:?} {mode}");
        }
    }
}

#[tokio::test]
async fn a_call_of_an_agent_that_loads_its_tools_runs_as_often_as_the_policy_lets_it() {
    let answer = |(number, (name, arguments)): (usize, (String, Value))| {
        let id = format!("call_{number}");
        let call = json!({"index": 0, "id": id, "name": name, "arguments": arguments.to_string()});
        json!({"body": [{"call": call}, {"finish": "tool_calls"}, "usage", "done"]})
    };
    for format in [ModelFormat::Messages, ModelFormat::Responses] {
        for decision in Decision::ALL {
            let search = (search_name(format).to_owned(), json!({"query": "shop.touch leaves a trace"}));
            let ways = || ways().into_iter().map(|(name, arguments)| (name.replace('.', "__"), arguments));
            let early = (String::from("shop__touch"), json!({}));
            let calls = [early, search].into_iter().chain(ways()).enumerate().map(answer);
            let done = json!({"body": [{"say": "Done."}, {"finish": "stop"}, "usage", "done"]});
            let script = json!({"answers": calls.chain([done]).collect::<Vec<_>>()});
            let server = FaultyModel::start(FaultScript::from_value(script).unwrap(), 0).await.unwrap();
            let (provider, key) = provider(format);
            let dir = decision.dir("native", true).with_variable("MODEL_URL", server.base_url());
            let app = dir.read("app.yaml").replace("provider: openai", &format!("provider: {provider}"));
            let dir = dir.with_file("app.yaml", app).with_variable(key, "test");
            let mut words = vec!["run", "app.yaml", "Leave traces.", "--json"];
            if decision == Decision::Approved {
                words.push("--yes");
            }
            let report = dir.run_words(&words).await.expect(0).json();
            assert_eq!(server.problems(), Vec::<String>::new(), "{format:?} {decision:?}");
            let count = ways().count();
            assert_eq!(report["calls"].as_array().unwrap().len(), count + 2, "{decision:?}: {report:#}");
            // The call before the search reaches the gate only where there is no such tool for the agent.
            let early = usize::from(decision == Decision::Denied);
            assert_eq!(recorded(&dir).len(), count + early, "{decision:?}");
            assert_eq!(run_count(&dir), decision.runs() * count, "{format:?} {decision:?}");
        }
    }
}

#[tokio::test]
async fn a_call_of_a_client_of_the_server_runs_as_often_as_the_policy_lets_it() {
    for (decision, target) in pairs().chain(Target::ALL.map(|target| (Decision::OutsideProfile, target))) {
        let profile = if decision == Decision::OutsideProfile { "desk" } else { "all" };
        let app = format!(
            "
tools:
  registry: [{{type: mcp, namespace: remote, command: ['{}', serve, app.yaml, --profile, {profile}]}}]
  capabilities: {{default_policy: grant}}
",
            binary().display()
        );
        let dir = decision.lab_of(target, "auto", true).with_file("client.yaml", app);
        let name = if target == Target::Plain { "shop.touch" } else { "desk.mark" };
        // A client has nobody who says yes to the server.
        let expected = usize::from(decision == Decision::Granted);
        for (name, arguments) in [
            (format!("remote.{}", name.replace('.', "__")), json!({})),
            ("remote.run_parallel".to_owned(), json!({"calls": [{"name": name, "params": {}}]})),
            ("remote.run_script".to_owned(), json!({"source": format!("await tools.{name}()")})),
        ] {
            dir.run(["call", "client.yaml", &name, &arguments.to_string(), "--yes"]).await;
            assert_eq!(run_count(&dir), expected, "{decision:?} {target:?}: {name}");
        }
    }
}

#[tokio::test]
async fn a_flag_that_says_approved_approves_nothing() {
    let dir = Decision::NobodyToAsk.dir("auto", true);
    for flag in
        ["_approved", "approved", "confirm", "confirmed", "session", "session_id", "agent", "_Approved"]
    {
        let touch = json!({"name": "shop.touch", "params": {flag: true}});
        for (name, arguments) in [
            ("shop.touch", json!({flag: true})),
            ("execute_tool", json!({"name": "shop.touch", "params": {}, flag: true})),
            ("execute_tool", touch.clone()),
            ("execute_tool", json!({"name": "execute_tool", "params": touch, flag: true})),
            ("run_parallel", json!({"calls": [touch], flag: true})),
            ("run_parallel", json!({"calls": [{"name": "shop.touch", "params": {}, flag: true}]})),
        ] {
            let outcome = dir.run(["call", "app.yaml", name, &arguments.to_string()]).await;
            assert_eq!(run_count(&dir), 0, "{name} {arguments}");
            // It was refused for what it is, not for something else that is wrong.
            let report = outcome.report();
            let is_refused = ["approval_required", "invalid_args"].iter().any(|kind| report.contains(kind));
            assert!(is_refused, "{name} {arguments}: {report}");
        }
    }
}
