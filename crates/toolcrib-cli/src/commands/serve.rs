//! `toolcrib serve`.

use std::sync::Arc;

use toolcrib_exec::DenyAll;

use super::start;
use crate::arguments::Serve;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupts;
use crate::output;

pub(crate) async fn run(arguments: &Serve) -> Result<Exit, Failure> {
    // Standard input belongs to the protocol, so nobody can be asked.
    let runtime = Arc::new(start(&arguments.app, Arc::new(DenyAll)).await?);
    output::rejects(runtime.snapshot().rejected());
    let interrupts = Interrupts::watch();
    let served = tokio::select! {
        served = toolcrib_server::serve_stdio(Arc::clone(&runtime)) => served,
        () = interrupts.left() => Ok(()),
    };
    runtime.close().await;
    served.map(|()| Exit::Ok).map_err(|error| Failure::new(Exit::Failed, error.to_string()))
}
