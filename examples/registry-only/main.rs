//! The registry layer alone: `cargo run --example registry-only`.
//!
//! It loads a tool file, and resolves calls by name, in any spelling, and by arguments.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;

use serde_json::json;
use toolcrib_loader_file::FileLoader;
use toolcrib_model::ToolCall;
use toolcrib_registry::ToolRegistry;

const TOOLS: &str = "
weather_api:
  - {name: forecast, parameters: {type: object, properties: {city: {type: string}}, required: [city]}}
  - {name: forecast, parameters: {type: object, properties: {latitude: {type: number}}, required: [latitude]}}
hr_api:
  - {name: holidays, description: The remaining days of holiday of an employee.}
";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("tools.yaml");
    std::fs::write(&path, TOOLS)?;
    let registry = ToolRegistry::new();
    registry.add_loader(Arc::new(FileLoader::new(&path)));
    let tools = registry.refresh().await?;

    let call = json!({"name": "Forecast", "arguments": {"latitude": 59.9}});
    let call: ToolCall = serde_json::from_value(call)?;
    let found = tools.resolve(&call, |_| true)?;
    println!("`Forecast` with a latitude is {} with {}", found.tool.name, found.tool.parameters);
    // A caller of one namespace sees no other.
    let hidden = tools.resolve(&call, |entry| entry.tool.name.namespace() == "hr_api");
    println!("to a caller of hr_api: {}", hidden.err().map(|error| error.to_string()).unwrap_or_default());
    Ok(())
}
