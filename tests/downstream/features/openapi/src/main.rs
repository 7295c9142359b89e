//! The tools of an OpenAPI document.

use std::error::Error;

use toolcrib::openapi::RestSource;
use toolcrib::port::ToolLoader as _;

const DOCUMENT: &str = "
openapi: 3.1.0
servers: [{url: https://pets.example/v1}]
paths:
  /pets/{petId}:
    get:
      operationId: getPet
      parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
      responses: {200: {description: A pet.}}
";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::temp_dir().join(format!("only-openapi-{}.yaml", std::process::id()));
    std::fs::write(&path, DOCUMENT)?;
    let (loader, _engine) = RestSource::new(&path.to_string_lossy(), "pets").open()?;
    let loaded = loader.load().await;
    std::fs::remove_file(&path)?;
    assert_eq!(loaded.tools[0].name.dotted(), "pets.getPet");
    Ok(())
}
