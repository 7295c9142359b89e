//! The registry layer alone: `cargo run --example registry-only`.
//!
//! It loads a tool file, resolves calls by name and arguments, and observes the changes of an edited file. It depends on
//! the data model, the registry and one loader only.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;

use serde_json::json;
use toolcrib_loader_file::FileLoader;
use toolcrib_model::ToolCall;
use toolcrib_registry::ToolRegistry;

const TOOLS: &str = "
weather_api:
  - name: forecast
    description: The weather of the coming days in a city.
    parameters: {type: object, properties: {city: {type: string}}, required: [city]}
  - name: forecast
    description: The weather of the coming days at a place on the map.
    parameters:
      type: object
      properties: {latitude: {type: number}, longitude: {type: number}}
      required: [latitude, longitude]
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
    let mut changes = registry.subscribe();
    let tools = registry.refresh().await?;
    for entry in tools.iter() {
        println!("{}  {}  {}", entry.tool.name, entry.fingerprint, entry.tool.description);
    }

    // Any spelling finds the name; the arguments tell the overloads apart.
    let call: ToolCall = serde_json::from_value(
        json!({"name": "forecast", "arguments": {"latitude": 59.9, "longitude": 10.7}}),
    )?;
    let found = tools.resolve(&call, |_| true)?;
    println!("`forecast` with a latitude is: {}", found.tool.description);

    // A caller of one namespace sees no other.
    let hidden = tools.resolve(&call, |entry| entry.tool.name.namespace() == "hr_api");
    println!("to a caller of hr_api: {}", hidden.err().map(|error| error.to_string()).unwrap_or_default());

    // What was taken stays as it is; the registry has moved on.
    std::fs::write(&path, "hr_api: [{name: holidays}, {name: payslip}]")?;
    registry.refresh().await?;
    let _first = changes.recv().await?;
    let change = changes.recv().await?;
    println!("added: {:?}, removed: {:?}", change.added, change.removed);
    println!("before: {} tools, now: {}", tools.iter().len(), registry.snapshot().iter().len());
    Ok(())
}
