//! What the services promises.

mod access;
mod agents;
#[cfg(unix)]
mod call_app;
mod channels;
#[cfg(unix)]
mod exec_sources;
mod large_results;
mod modules;
#[cfg(unix)]
mod protected;
mod revoked;
mod rules;
mod scheduler;
#[cfg(unix)]
mod session_servers;
mod setup;
#[cfg(unix)]
mod simulated;
#[cfg(unix)]
mod skills;
mod sources;
mod tools;

use std::sync::Arc;

use toolcrib_app::Blueprint;
use toolcrib_exec::DenyAll;

use crate::Runtime;

fn wrong(text: &str) -> String {
    Blueprint::from_text("app.yaml", text).unwrap_err().to_string()
}

async fn start(text: &str) -> Runtime {
    Runtime::start(Blueprint::from_text("app.yaml", text).unwrap(), Arc::new(DenyAll)).await.unwrap()
}
