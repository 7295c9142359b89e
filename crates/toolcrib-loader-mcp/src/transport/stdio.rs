//! Servers that are child processes of this one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use toolcrib_io::process::{Command, Sandbox, spawn};
use toolcrib_model::Secret;

use crate::McpSource;
use crate::connection::handshake::{HandshakeError, HandshakeOptions, open_session};
use crate::connection::session::{RequestError, Session};
use crate::error::{Error, chain};
use crate::transport::backpressure::Backpressure;
use crate::transport::boxed::BoxedTransport;
use crate::transport::pipes::PipeTransport;
use crate::transport::process::Process;

/// Starts the server and performs the handshake.
pub(crate) async fn open(
    source: &McpSource,
    argv: &[String],
    env: &BTreeMap<String, Secret>,
    cwd: Option<&Path>,
    sandbox: Option<Arc<Sandbox>>,
    options: HandshakeOptions,
) -> Result<Session, HandshakeError> {
    if argv.first().is_none_or(String::is_empty) {
        return Err(Error::EmptyCommand { namespace: source.namespace.clone() }.into());
    }
    let mut command = Command::new(argv).with_sandbox(sandbox);
    command.cwd = cwd.map(Path::to_owned);
    command.env = env.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect();

    let target = source.target();
    let spawned = |reason| Error::Spawn { target: target.clone(), reason };
    let mut child =
        spawn(&command, format!("mcp {}", source.namespace)).map_err(|error| spawned(chain(&error)))?;
    let (Some(stdin), Some(stdout)) = (child.take_stdin(), child.take_stdout()) else {
        return Err(spawned("its pipes are taken".into()).into());
    };
    let overlong = stdout.overlong();
    let process = Process::new(child, overlong);
    let transport = Backpressure::new(PipeTransport::new(stdout, stdin));
    open_session(options, BoxedTransport::new(transport), Some(process), Box::new(classify)).await
}

/// Classifies a failed write: its last byte, the line break, was not accepted, so the server cannot have read the
/// request.
fn classify(error: &(dyn std::error::Error + 'static)) -> RequestError {
    RequestError::NotSent(chain(error))
}
