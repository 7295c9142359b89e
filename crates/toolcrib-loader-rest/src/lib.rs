//! Loader of OpenAPI documents: each operation becomes a tool that is called over HTTP.
//!
//! A [`RestSource`] holds the location of the document and the settings of its calls. [`RestSource::open`] creates its
//! two halves: a [`RestLoader`], which turns the document into tools, and a [`RestEngine`], which sends their calls.
//!
//! - **Nothing is lost.** Each operation becomes either one tool, or a reject with its reason. References are resolved
//!   everywhere, in the document and in the files below its folder. Schemas are bundled with their definitions in
//!   `$defs`, so recursive ones stay recursive and finite. A reference that leaves the folder is not followed.
//! - **Arguments are flat.** Path, query, header and cookie parameters and, where that loses nothing, the properties of
//!   the body are arguments at the same level. If two of them have the same name, they become `id` and `id__query`.
//! - **A value never leaves its slot.** `../../etc/passwd?x=1#f` in a path parameter becomes one path segment of the
//!   configured server. A value that cannot be sent safely is rejected as an invalid argument.
//!
//! ```
//! use toolcrib_loader_rest::RestSource;
//! use toolcrib_port::ToolLoader;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = std::env::temp_dir().join(format!("toolcrib-loader-rest-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! # let path = directory.join("pets.yaml");
//! std::fs::write(&path, "
//! openapi: 3.0.3
//! servers: [{url: https://pets.example/v1}]
//! paths:
//!   /pets/{petId}:
//!     get:
//!       operationId: getPet
//!       parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
//!       responses: {200: {description: A pet.}}
//! ")?;
//! let (loader, _engine) = RestSource::new(&path.to_string_lossy(), "pets").open()?;
//! let loaded = loader.load().await;
//! assert_eq!(loaded.tools[0].name.dotted(), "pets.getPet");
//! assert_eq!(loaded.tools[0].parameters["properties"]["petId"]["type"], "integer");
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok(())
//! # }
//! ```
//!
//! It reads Swagger 2.0 and OpenAPI 3.0, 3.1 and 3.2. It does not validate arguments against their schema, because
//! the executor has done that before, and it does not retry.

mod selection;
mod source;

pub mod entry;

mod document_cache;
mod fetch;
mod loader;
mod spec;

mod media_type;
mod operation;
mod schema;
mod unique_names;

mod auth;
mod client;
mod engine;
mod media_detection;
mod request;
mod response;
mod upload;

mod error;

#[cfg(test)]
mod tests;

pub use auth::{Credential, CredentialKind, KeyLocation};
pub use document_cache::DocumentCache;
pub use engine::RestEngine;
pub use error::Error;
pub use loader::RestLoader;
pub use selection::OperationSelector;
pub use source::{RestSource, SpecLocation};
pub use toolcrib_oauth::client as oauth;
