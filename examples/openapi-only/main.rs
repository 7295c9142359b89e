//! The OpenAPI loader alone: `cargo run --example openapi-only`.
//!
//! It turns a document into tools with flat arguments. The engine beside the loader sends their calls.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use toolcrib_loader_rest::RestSource;
use toolcrib_port::ToolLoader;

const DOCUMENT: &str = "
openapi: 3.1.0
servers: [{url: https://pets.example/v1}]
paths:
  /pets/{petId}:
    get:
      operationId: getPet
      summary: Returns a pet.
      parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
      responses: {200: {description: A pet.}}
";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("pets.yaml");
    std::fs::write(&path, DOCUMENT)?;

    let (loader, _engine) = RestSource::new(&path.to_string_lossy(), "pets").open()?;
    let loaded = loader.load().await;
    for tool in &loaded.tools {
        println!("{}: {} {}", tool.name.dotted(), tool.description, tool.parameters);
    }
    println!("{} rejected", loaded.rejected.len());
    Ok(())
}
