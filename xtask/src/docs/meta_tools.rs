//! The page of the runtime's own tools.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{NOTE, ask, page};

/// The text before the tools.
const INTRODUCTION: &str = "\
These tools belong to the runtime, in the namespace `context_builder`. Models call them by their bare names. Which of them
an agent is offered depends on the app and on the [injection mode](prompt.md#the-modes).

Where models can run scripts, `search_tools` and `get_tool` have one more argument: `as` with the value `types` shows
[declarations in TypeScript](search.md#declarations-for-scripts).
";

/// An app in which all of these tools exist.
const APP: &str = "
agents:
  - {id: lead, role: coordinator, brain: {provider: recorded}}
  - {id: helper, brain: {provider: recorded}}
execution: {watchers: true, scheduler: true}
tools:
  channels: {log: {type: file, path: log.jsonl}}
  apps: {other: {path: other.yaml, description: Another app.}}
  capabilities:
    default_policy: grant
    grant: [{module: context_builder, actions: [ask_user, call_app, send_message]}]
";

/// The app that it may call.
const OTHER_APP: &str = "agents: [{id: agent, brain: {provider: recorded}}]\n";

/// The skill that it may use.
const SKILL: &str = "---\ndescription: A skill.\n---\nDo it.\n";

/// The modes whose plans together list all tools.
const MODES: [&str; 2] = ["discovery", "direct"];

/// The namespace of the tools.
const NAMESPACE: &str = "context_builder.";

/// Returns the page, from the plans of an app and the declarations of the tools in them.
pub(super) fn page(binary: &Path) -> Result<String> {
    let folder = std::env::temp_dir().join(format!("toolcrib-docs-{}", std::process::id()));
    fs::create_dir_all(folder.join("skills"))?;
    let page = page_in(binary, &folder);
    fs::remove_dir_all(&folder).with_context(|| format!("could not remove {}", folder.display()))?;
    page
}

fn page_in(binary: &Path, folder: &Path) -> Result<String> {
    for (name, text) in [("other.yaml", OTHER_APP), ("skills/one.md", SKILL)] {
        fs::write(folder.join(name), text)?;
    }
    let mut names: Vec<String> = Vec::new();
    let mut app = folder.to_owned();
    for mode in MODES {
        app = folder.join(format!("{mode}.yaml"));
        fs::write(&app, format!("runtime: {{tool_injection: {mode}}}{APP}"))?;
        let plan = ask(binary, &["plan", &app.to_string_lossy()])?;
        let tools =
            plan.get("tools").and_then(Value::as_array).context("`toolcrib plan --json` lists no tools")?;
        let own = tools.iter().filter_map(|tool| tool.get("name")?.as_str());
        for name in own.filter(|name| name.starts_with(NAMESPACE)) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    ensure!(!names.is_empty(), "the plans list none of the runtime's tools");
    let mut text = format!("# Meta-tools\n\n{NOTE}\n\n{INTRODUCTION}");
    for name in names {
        let tool = ask(binary, &["show", &app.to_string_lossy(), &name])?;
        let form = tool.pointer("/forms/0").context("`toolcrib show --json` shows no form")?;
        let action = json!({
            "name": name.trim_start_matches(NAMESPACE),
            "description": tool.get("description"),
            "risk": form.get("risk"),
            "metadata": tool.get("metadata"),
            "parameters": form.get("parameters"),
            "output_parameters": form.get("output_parameters").unwrap_or(&Value::Null),
        });
        page::tool(&mut text, "##", &action);
    }
    Ok(text)
}
