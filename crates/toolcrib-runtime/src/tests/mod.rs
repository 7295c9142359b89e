//! What the services promises.

mod access;
mod agents;
mod app_file;
#[cfg(unix)]
mod call_app;
mod channels;
mod large_results;
mod modules;
mod nesting;
#[cfg(unix)]
mod protected;
mod reference;
mod revoked;
mod rules;
mod scheduler;
mod schema;
#[cfg(unix)]
mod session_servers;
mod setup;
#[cfg(unix)]
mod skills;
mod sources;
mod tools;

use std::sync::Arc;

use toolcrib_exec::DenyAll;

use crate::{App, Runtime};

fn wrong(text: &str) -> String {
    App::from_text("app.yaml", text).unwrap_err().to_string()
}

async fn start(text: &str) -> Runtime {
    Runtime::start(App::from_text("app.yaml", text).unwrap(), Arc::new(DenyAll)).await.unwrap()
}
