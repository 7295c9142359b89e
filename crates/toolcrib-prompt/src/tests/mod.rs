//! Tests of the whole crate, one file for each concept.

mod clean;
mod declarations;
mod native;
mod offer;
mod plan;
mod prompt;
mod wire;

use serde_json::{Value, json};
use toolcrib_model::{QualifiedName, Tool};

/// The namespace of the runtime's own tools, as the runtime passes it in.
const RUNTIME: &str = "context_builder";

fn tool(namespace: &str, name: &str) -> Tool {
    Tool::new(QualifiedName::new(namespace, name).unwrap())
}

/// A tool whose one argument is a text of this name.
fn taking(namespace: &str, name: &str, argument: &str) -> Tool {
    tool(namespace, name).with_parameters(schema(argument))
}

fn schema(argument: &str) -> Value {
    json!({"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]})
}

/// The five meta-tools of the runtime, and two tools of it that are none.
fn runtime_tools() -> Vec<Tool> {
    let meta = |name, argument, step, description: &str| {
        taking(RUNTIME, name, argument)
            .with_description(description)
            .with_metadata("discovery", true)
            .with_metadata("discovery_step", step)
    };
    vec![
        meta("search_tools", "query", "discover", "Keyword search over all visible tools")
            .with_metadata("finds_tools", true),
        meta("get_tool", "name", "inspect", "Full schema, metadata, and examples for one tool"),
        meta("execute_tool", "name", "execute", "Execute a tool with parameters"),
        meta("list_categories", "unused", "discover", "List all available tool domains"),
        meta("browse_category", "category", "discover", "Browse all tools in a specific domain"),
        tool(RUNTIME, "run_parallel").with_description("Run many tools in one turn"),
        tool(RUNTIME, "ask_user").with_description("Ask the user").with_metadata("operational", true),
    ]
}

/// The tools of the documented example: `hello` with one action, `filesystem` with four.
fn example_tools() -> Vec<Tool> {
    vec![
        taking("hello", "greet", "name").with_description("Greet somebody."),
        taking("filesystem", "read", "path").with_description("Read a file."),
        taking("filesystem", "ls", "path").with_description("List a folder."),
        taking("filesystem", "find", "pattern").with_description("Find files by name."),
        taking("filesystem", "grep", "pattern").with_description("Find lines in files."),
    ]
}
