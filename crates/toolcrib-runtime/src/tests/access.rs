//! What tools reach: the `access` of the app, of their module and of their own together.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::{Blueprint, EntryContext, Extensions};
use toolcrib_exec::DenyAll;
use toolcrib_model::{ErrorKind, ToolCall, ToolResult};
use toolcrib_modules::NoConfig;
use toolcrib_policy::Access;
use toolcrib_policy::access::Mode;
use toolcrib_port::CallContext;
use toolcrib_sdk::{AppEntry as _, FunctionTool, Module, ToolError, Tools, module};

use crate::Runtime;

struct Probe {
    access: Access,
}

impl Probe {
    /// Returns which of these may be reached: two hosts of the module, one beyond it, a file, and a program.
    fn reach(&self, context: &CallContext) -> Value {
        let access = context.narrow(&self.access);
        let hosts = ["reports.example", "other.example", "reports.test"];
        json!([
            hosts.map(|host| access.allows_host(host, 443)),
            access.allows_path("reports/may.txt", Mode::Read),
            access.allows_program("git"),
        ])
    }
}

/// Tells what it may reach.
#[module(id = "probe")]
impl Probe {
    /// Tells what a tool that declares nothing may reach.
    #[tool(risk = "low")]
    fn any(&self, context: &CallContext) -> Value {
        self.reach(context)
    }

    /// Tells what a tool may reach that declares less than its module.
    #[tool(risk = "low", access = {"network": ["reports.example", "reports.test"], "filesystem": [], "system": []})]
    async fn less(&self, context: &CallContext) -> Value {
        tokio::task::yield_now().await;
        self.reach(context)
    }

    /// Calls `any`, and then tells what it may reach itself.
    #[tool(risk = "low", access = {"network": []})]
    async fn nested(&self, context: &CallContext, tools: &Tools) -> Result<Value, ToolError> {
        let inner = tools.run_tool("probe.any", json!({})).await?;
        Ok(json!([inner, self.reach(context)]))
    }
}

fn extensions() -> Extensions {
    let wrong = || {
        FunctionTool::new("wrong", "Says wrongly what it reaches.", |_: NoConfig, _| async {
            Ok::<_, ToolError>(())
        })
    };
    Extensions::default().with_module("probe", move |_: NoConfig, place: &EntryContext<'_>| {
        let module = Module::from(Probe { access: place.access()? });
        Ok(module.with_tool(wrong().with_metadata("access", json!({"networks": []}))))
    })
}

async fn start(text: &str) -> Runtime {
    let app = Blueprint::from_text_with("app.yaml", text, extensions()).unwrap();
    Runtime::start(app, Arc::new(DenyAll)).await.unwrap()
}

async fn call(runtime: &Runtime, tool: &str) -> ToolResult {
    runtime.executor().call(ToolCall::new(tool, serde_json::Map::new()), &CallContext::new("s")).await
}

const APP: &str = "
modules: {probe: {access: {network: ['*.example'], filesystem: [{path: reports}]}}}
tools: {capabilities: {default_policy: grant, access: {system: [git]}}}
";

#[tokio::test]
async fn a_tool_reaches_what_its_module_and_it_itself_both_name() {
    let runtime = start(APP).await;
    let of_module = json!([[true, true, false], true, true]);
    let of_tool = json!([[true, false, false], false, false]);
    assert_eq!(call(&runtime, "probe.any").await.result, of_module);
    assert_eq!(call(&runtime, "probe.less").await.result, of_tool);
    let nested = json!([of_module, [[false, false, false], true, true]]);
    assert_eq!(call(&runtime, "probe.nested").await.result, nested, "a call is limited by its own tool");
    assert_eq!(call(&runtime, "probe.any").await.result, of_module);
    runtime.close().await;
}

#[tokio::test]
async fn an_error_names_the_setting_that_the_operator_changes() {
    let app = "modules: {http: {}, mcp: {}}
tools: {capabilities: {default_policy: grant, grant: [{module: mcp, actions: [connect]}]}}";
    let runtime = start(app).await;
    let at = "http://127.0.0.1:1/";
    for (tool, arguments, setting) in [
        ("http.get", json!({"url": "https://a:b@example.com/"}), "modules.http.config.headers"),
        ("http.get", json!({"url": at}), "modules.http.config.private_origins"),
        ("mcp.connect", json!({"server": "near", "url": at}), "modules.mcp.config.private_origins"),
    ] {
        let call = ToolCall::new(tool, arguments.as_object().unwrap().clone());
        let error = runtime.executor().call(call, &CallContext::new("s")).await.error.unwrap();
        let hint = error.hint.clone().unwrap_or_default();
        assert!(hint.contains(&format!("`{setting}`")), "{tool}: {error}");
    }
    runtime.close().await;
}

#[tokio::test]
async fn calls_at_the_same_time_are_limited_each_by_its_own_tool() {
    let runtime = start(APP).await;
    let (less, any, again) =
        tokio::join!(call(&runtime, "probe.less"), call(&runtime, "probe.any"), call(&runtime, "probe.less"));
    assert_eq!(any.result, json!([[true, true, false], true, true]));
    assert_eq!((&less.result[0], &again.result), (&json!([true, false, false]), &less.result));
    runtime.close().await;
}

#[tokio::test]
async fn a_tool_that_says_wrongly_what_it_reaches_is_not_there() {
    let runtime = start(APP).await;
    let rejected: Vec<_> = runtime.snapshot().rejected().iter().map(ToString::to_string).collect();
    assert_eq!(rejected.len(), 1);
    assert!(rejected[0].contains("metadata.access") && rejected[0].contains("networks"), "{rejected:?}");
    runtime.close().await;
    // Where a source does not look at it, the call is refused.
    let inline =
        "{type: inline, namespace: w, engine: m, tools: [{name: x, risk: low, access: {networks: []}}]}";
    let text = format!(
        "tools: {{registry: [{inline}], engines: {{m: {{type: mock}}}}, capabilities: {{default_policy: grant}}}}"
    );
    let runtime = start(&text).await;
    let error = call(&runtime, "w.x").await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Denied, "{error}");
    assert!(
        error.message.starts_with("`w.x` has an invalid `access` declaration: metadata.access"),
        "{error}"
    );
    runtime.close().await;
}

#[tokio::test]
async fn a_tool_that_declares_its_access_starts_no_other_program() {
    for (access, is_ok) in [
        (json!({"system": ["echo"]}), true),
        (json!({"network": []}), true),
        (json!({"system": ["git"]}), false),
        (json!({"systems": ["echo"]}), false),
        (json!(null), false),
    ] {
        let text = format!(
            "
tools:
  registry: [{{type: inline, namespace: w, engine: c, tools: [{{name: get, risk: low, access: {access}}}]}}]
  engines: {{c: {{type: command, argv: [echo, hello]}}}}
  capabilities: {{default_policy: grant}}
"
        );
        let runtime = start(&text).await;
        let error = call(&runtime, "w.get").await.error;
        assert_eq!(error.map(|error| error.kind), (!is_ok).then_some(ErrorKind::Denied), "{access}");
        runtime.close().await;
    }
}

#[test]
fn access_that_no_program_keeps_to_is_one_warning_for_each_place_that_says_it() {
    let warnings = |text: &str| {
        let app = Blueprint::from_text("app.yaml", text).unwrap();
        app.warnings().iter().filter(|warning| warning.contains("access")).cloned().collect::<Vec<_>>()
    };
    let text = "
modules:
  filesystem: {access: {filesystem: [{path: data}]}}
  shell: {access: {system: [git], filesystem: [{path: data}]}}
tools:
  capabilities:
    access: {network: [api.example.com], filesystem: [{path: .}], system: [git, sh]}
  registry:
    - {type: exec, path: kit}
    - {type: exec, path: other}
    - {type: inline, namespace: b, engine: sh, tools: [{name: y}]}
  engines: {sh: {type: command, argv: [sh]}}
";
    insta::assert_snapshot!(warnings(text).join("\n"), @r"
    programs of the module `shell` do not keep to `modules.shell.access.filesystem`: they reach what their user may reach; set `sandbox`
    programs of the module `shell`, of sources of `type: exec`, of engines of `type: command` do not keep to `tools.capabilities.access.network` and `tools.capabilities.access.filesystem`: they reach what their user may reach; set `sandbox`
    ");
    for held in [
        "modules: {shell: {access: {system: [git]}}}",
        "modules: {filesystem: {}}\ntools: {capabilities: {access: {filesystem: [{path: data}], network: []}}}",
        "modules: {shell: {}}",
    ] {
        assert_eq!(warnings(held), Vec::<String>::new(), "{held}");
    }
}

#[test]
fn a_sandbox_leaves_of_these_warnings_what_it_does_not_enforce() {
    // Only a program that can be a launcher opens sandboxes.
    assert!(toolcrib_io::process::run_launcher().is_none());
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("work/README", ""),
        ("skills/sort/SKILL.md", "---\ndescription: Sorts.\n---\nSort.\n"),
        ("skills/sort/toolcrib.yaml", "name: sort\ndescription: Sorts.\ntools: []\n"),
    ] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let text = |sandbox: &str| {
        let next = if sandbox.is_empty() { String::new() } else { format!(", {sandbox}") };
        format!(
            "
app: {{workspace: work}}
skills: {{{sandbox}}}
modules:
  mcp: {{config: {{{sandbox}}}, access: {{network: [\"*:443\"]}}}}
  shell: {{config: {{{sandbox}}}, access: {{network: [\"example.com:443\"]}}}}
tools:
  capabilities: {{access: {{network: [example.com], filesystem: [{{path: \"*.csv\"}}]}}}}
  registry: [{{type: mcp, name: a, command: [\"true\"]{next}}}, {{type: exec, path: kit{next}}}]
  engines: {{sh: {{type: command, argv: [sh]{next}}}}}
"
        )
    };
    let mut shown = String::new();
    for sandbox in ["", "sandbox: read-only"] {
        std::fs::write(folder.path().join("app.yaml"), text(sandbox)).unwrap();
        let app = Blueprint::open(folder.path().join("app.yaml")).unwrap();
        let warnings = app.warnings().iter().filter(|warning| warning.contains("access"));
        shown.extend(warnings.map(|warning| format!("{warning}\n")));
    }
    insta::assert_snapshot!(shown, @r"
    programs of the module `shell` do not keep to `modules.shell.access.network`: they reach what their user may reach; set `sandbox`
    programs of the module `mcp` do not keep to `modules.mcp.access.network`: they reach what their user may reach; set `sandbox`
    programs of the module `shell`, of the module `mcp`, of sources of `type: exec`, of engines of `type: command`, of MCP servers by `command`, of skills do not keep to `tools.capabilities.access.network` and `tools.capabilities.access.filesystem`: they reach what their user may reach; set `sandbox`
    for sandboxed programs of the module `shell`, the hosts of `modules.shell.access.network` are not enforced, only their ports
    for sandboxed programs of the module `shell`, of the module `mcp`, of sources of `type: exec`, of engines of `type: command`, of MCP servers by `command`, of skills, `tools.capabilities.access.network` is not enforced, since it names a host without a port; of `*.csv` in `tools.capabilities.access.filesystem`, only the folder before the first glob is enforced
    ");
}
