//! `toolcrib serve` and `toolcrib console`.

mod reload;

use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use toolcrib_app::sections::serve::SurfaceMode;
use toolcrib_app::{App, Extensions};
use toolcrib_exec::DenyAll;
use toolcrib_port::{Approver, CallScope};
use toolcrib_runtime::Runtime;
use toolcrib_server::approval::PendingApprovals;
use toolcrib_server::operator::OperatorListener;
use toolcrib_server::{ClientApprover, Console, Replica, Server, ServerSettings};
use toolcrib_tasks::DRAIN_TIME;

use crate::app_start::start;
use crate::approver::approver;
use crate::arguments::{ConsoleArguments, Serve, SurfaceArgument};
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupts;
use crate::ui::activity::Activity;
use crate::ui::output;

/// An app to serve, and the settings of its server.
struct ServedApp<'a> {
    app: &'a Path,
    transport: Endpoint,
    surface: Option<SurfaceMode>,
    profile: Option<String>,
    user: Option<String>,
    scope: CallScope,
}

/// The connection to the clients.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Endpoint {
    /// One client over standard input and output.
    Stdio,
    /// Clients over HTTP, with a console.
    Http(SocketAddr),
    /// The console alone, on this port.
    Console(u16),
}

pub(crate) async fn run(arguments: &Serve, extensions: &Extensions) -> Result<Exit, Failure> {
    let served = ServedApp {
        app: &arguments.app,
        transport: arguments.http.map_or(Endpoint::Stdio, Endpoint::Http),
        surface: arguments.surface.map(SurfaceMode::from),
        profile: arguments.profile.clone(),
        user: arguments.identity.user.clone(),
        scope: arguments.identity.scope()?,
    };
    Box::pin(serve_app(served, extensions)).await
}

pub(crate) async fn run_console(
    arguments: &ConsoleArguments,
    extensions: &Extensions,
) -> Result<Exit, Failure> {
    let served = ServedApp {
        app: &arguments.app,
        transport: Endpoint::Console(arguments.port),
        surface: None,
        profile: None,
        user: None,
        scope: CallScope::default(),
    };
    Box::pin(serve_app(served, extensions)).await
}

async fn serve_app(served: ServedApp<'_>, extensions: &Extensions) -> Result<Exit, Failure> {
    let ServedApp { app, transport, surface, profile, user, scope } = served;
    // Who serves over HTTP may sit at a terminal. Standard input belongs to the protocol otherwise.
    let is_stdio = transport == Endpoint::Stdio;
    let operator: Arc<dyn Approver> = if is_stdio { Arc::new(DenyAll) } else { approver(false, None) };
    let pending = PendingApprovals::default();
    let console = Console::new(&pending).map_err(|error| failure(&error))?;
    // Clients that start a server in any folder do not expect it to read a file there that no setting names.
    let (mut extensions, approver) =
        (extensions.clone().with_dotenv(false), pending.approver(ClientApprover::new(operator)));
    if !is_stdio {
        extensions = extensions.with_observer(console.observer());
    }
    let read = || Ok(App::open_with(app, extensions.clone())?.with_served_profile(profile.clone()));
    let starting = Activity::start_slow(&format!("starting {}", app.display()));
    let runtime = Arc::new(start(read()?, Arc::clone(&approver)).await?);
    drop(starting);
    output::rejects(runtime.snapshot().rejected());
    let interrupts = Interrupts::watch();
    let mut settings = ServerSettings::default();
    (settings.surface, settings.user, settings.scope) = (surface, user, scope);
    let ready = async {
        settings.replica = Replica::join(&runtime).await?;
        let server = Server::new(Arc::clone(&runtime), settings)?;
        let server = server.with_console(console.clone()).with_approvals(&pending)?;
        let door = match runtime.app() {
            app if app.config.serve.approve => {
                // Over standard input and output it is the client that has started this process.
                Some(OperatorListener::open(app, &pending, is_stdio).await?)
            }
            _ => None,
        };
        Ok((server, door))
    };
    let (server, _door) = match ready.await {
        Ok(ready) => ready,
        Err(error) => {
            runtime.close().await;
            return Err(failure(&error));
        }
    };
    drop(runtime);
    let mut following = Box::pin(reload::follow(&server, read, approver));
    let served = {
        let serving = serve(transport, &server, &console, &interrupts);
        tokio::pin!(serving);
        tokio::select! {
            served = &mut serving => served,
            () = &mut following => serving.await,
        }
    };
    tell_tasks(&server.runtime());
    server.close().await;
    served.map(|()| Exit::Ok).map_err(|error| failure(&error))
}

async fn serve(
    transport: Endpoint,
    server: &Server,
    console: &Console,
    interrupts: &Interrupts,
) -> Result<(), toolcrib_server::Error> {
    let listening = match transport {
        Endpoint::Stdio => {
            // A program that starts this one reads what it needs from the protocol.
            if io::stdin().is_terminal() {
                output::tell(&at_terminal(&server.runtime()));
            }
            return tokio::select! {
                served = server.serve_stdio() => served,
                () = interrupts.left() => Ok(()),
            };
        }
        Endpoint::Http(address) => {
            let listening = server.listen(address).await?;
            output::tell(&over_http(&server.runtime(), listening.is_open(), listening.address()));
            listening
        }
        Endpoint::Console(port) => server.listen_console(port).await?,
    };
    if listening.has_console() {
        let (address, key) = (listening.address(), console.operator_key());
        output::tell(&format!("the console, with the operator's key:\n  http://{address}/?key={key}"));
    }
    let leave = async {
        interrupts.left().await;
        if let Some(notice) = server.shutdown_notice() {
            output::tell(&format!("{notice}; press Ctrl-C again to end at once"));
        }
    };
    listening.serve(leave).await
}

/// Says which tasks the end waits for, and how long.
fn tell_tasks(runtime: &Runtime) {
    let tasks = runtime.tasks().in_progress();
    if let Some((first, others)) = tasks.split_first() {
        let more = if others.is_empty() { String::new() } else { format!(", and {} more", others.len()) };
        let seconds = DRAIN_TIME.as_secs();
        output::tell(&format!(
            "waiting up to {seconds} s for {first}{more}; press Ctrl-C again to end at once"
        ));
    }
}

/// Returns the text that says what is served over HTTP, to whom, and where.
fn over_http(runtime: &Runtime, is_open: bool, address: SocketAddr) -> String {
    let tools = runtime.snapshot().iter().count();
    let clients = if is_open { "everyone on this machine" } else { "everyone with a token" };
    format!(
        "serving `{}` ({tools} tools) to {clients} until Ctrl-C, at http://{address}/mcp",
        runtime.app().id()
    )
}

/// Returns the text for a user who starts this at a terminal, where it waits for a client.
fn at_terminal(runtime: &Runtime) -> String {
    let tools = runtime.snapshot().iter().count();
    format!(
        "serving `{}` ({tools} tools) over standard input and output, for an MCP client that starts this command itself; \
         `--http 8080` serves over HTTP instead; Ctrl-C or Ctrl-D ends it",
        runtime.app().id()
    )
}

fn failure(error: &toolcrib_server::Error) -> Failure {
    use toolcrib_server::Error;
    let exit = match error {
        Error::Open { .. } | Error::App(_) | Error::Runtime(_) => Exit::BadInput,
        Error::Bind { .. } => Exit::Unavailable,
        _ => Exit::Failed,
    };
    Failure::new(exit, error.to_string())
}

impl From<SurfaceArgument> for SurfaceMode {
    fn from(argument: SurfaceArgument) -> Self {
        match argument {
            SurfaceArgument::Auto => Self::Auto,
            SurfaceArgument::Direct => Self::Direct,
            SurfaceArgument::Discovery => Self::Discovery,
            SurfaceArgument::Mixed => Self::Mixed,
        }
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_app::Blueprint;

    use super::*;

    #[tokio::test]
    async fn who_serves_at_a_terminal_is_told_what_is_served_over_what_and_how_it_ends() {
        let app = Blueprint::from_text("app.yaml", "app: {id: greeter}\nmodules: {hello: {}}\n").unwrap();
        let runtime = Runtime::start(app, Arc::new(DenyAll)).await.unwrap();
        let said = at_terminal(&runtime);
        let (before, after) = said.split_once(" tools) ").unwrap();
        assert!(before.starts_with("serving `greeter` ("), "{said}");
        insta::assert_snapshot!(after, @"over standard input and output, for an MCP client that starts this command itself; `--http 8080` serves over HTTP instead; Ctrl-C or Ctrl-D ends it");
        let said = over_http(&runtime, true, SocketAddr::from(([127, 0, 0, 1], 8080)));
        let (_, after) = said.split_once(" tools) ").unwrap();
        insta::assert_snapshot!(after, @"to everyone on this machine until Ctrl-C, at http://127.0.0.1:8080/mcp");
        runtime.close().await;
    }
}
