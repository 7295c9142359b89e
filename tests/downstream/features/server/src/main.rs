//! An app file as an MCP server over HTTP.

use std::error::Error;
use std::sync::Arc;

use toolcrib::app::Blueprint;
use toolcrib::exec::DenyAll;
use toolcrib::runtime::Runtime;
use toolcrib::server::{ClientApprover, Server, ServerSettings};

const APP: &str = "modules: {hello: {}}\ntools: {capabilities: {default_policy: approve}}\n";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let approver = ClientApprover::new(Arc::new(DenyAll));
    let runtime = Arc::new(Runtime::start(Blueprint::from_text("app.yaml", APP)?, approver).await?);
    assert!(runtime.snapshot().iter().any(|entry| entry.tool.name.dotted() == "hello.say_hello"));
    let server = Server::new(Arc::clone(&runtime), ServerSettings::default())?;
    let listening = server.listen("127.0.0.1:0".parse()?).await?;
    listening.serve(async {}).await?;
    server.close().await;
    Ok(())
}
