//! `toolcrib login`.

use std::time::Duration;

use serde_json::json;
use toolcrib_app::oauth::Error as OAuthError;
use toolcrib_app::oauth::client::{Authorization, LoopbackRedirect};
use toolcrib_app::{Blueprint, Extensions};
use toolcrib_io::process::{Command, RunLimits, run as run_command};
use url::Url;

use crate::arguments::Login;
use crate::exit::{Exit, Failure};
use crate::ui::output;

/// The command that opens a URL in the user's browser.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

pub(crate) async fn run(arguments: &Login, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let (namespace, user) = (&arguments.namespace, arguments.user.as_deref());
    let blueprint = crate::app_start::open(&arguments.app, extensions)?;
    let authorization = blueprint.authorization(namespace, user)?;
    if arguments.logout {
        return log_out(&authorization, namespace, json).await;
    }
    let redirect = listen(&authorization, arguments.browser).await?;
    let redirect = redirect.with_timeout(Duration::from_secs(arguments.timeout));
    let done = authorization.login(&redirect).await.map_err(|error| failure(&error))?;
    forget_tools(&blueprint, namespace).await;
    if json {
        output::json(&json!({
            "namespace": namespace,
            "issuer": done.issuer,
            "resource": done.resource,
            "scopes": done.scopes,
            "renewed": done.is_renewed,
        }));
        return Ok(Exit::Ok);
    }
    let scopes =
        if done.scopes.is_empty() { String::new() } else { format!(" for {}", done.scopes.join(" ")) };
    let user = user.map(|user| format!(" of {user}")).unwrap_or_default();
    output::say(&format!("{namespace}{user}: logged in at {}{scopes}", done.issuer));
    if !done.is_renewed {
        output::tell("the server gives nothing to renew this login with; it ends when its token does");
    }
    Ok(Exit::Ok)
}

/// Has the tools listed again, which the server may have listed for another user.
async fn forget_tools(blueprint: &Blueprint, namespace: &str) {
    if let Err(error) = blueprint.forget_tools(namespace).await {
        output::tell(&format!(
            "warning: the tools of `{namespace}` that were listed before cannot be removed: {error}; \
             `toolcrib tools` lists them again"
        ));
    }
}

async fn log_out(authorization: &Authorization, namespace: &str, json: bool) -> Result<Exit, Failure> {
    let was_there = authorization.logout().await.map_err(|error| failure(&error))?;
    if json {
        output::json(&json!({"namespace": namespace, "logged_out": was_there}));
    } else if was_there {
        output::say(&format!("{namespace}: logged out"));
    } else {
        output::say(&format!("{namespace}: there was no login"));
    }
    Ok(Exit::Ok)
}

/// Listens for the browser: at the port that the operator has set, else at that of the last login, else at any.
async fn listen(authorization: &Authorization, opens_browser: bool) -> Result<LoopbackRedirect, Failure> {
    let fixed = authorization.fixed_redirect_port();
    let port = match fixed {
        Some(port) => Some(port),
        None => authorization.last_redirect_port().await,
    };
    let show = move |url: &Url| {
        output::tell(&format!("Open this URL in a browser on this machine, and log in:\n\n  {url}\n"));
        if opens_browser {
            tokio::spawn(open_browser(url.clone()));
        }
    };
    let failed = |why: &str| Failure::new(Exit::Failed, format!("cannot wait for the browser: {why}"));
    let redirect = LoopbackRedirect::bind(port, show).await.map_err(|error| failed(&error.to_string()))?;
    if let Some(port) = fixed
        && redirect.port() != Some(port)
    {
        return Err(failed(&format!("port {port}, the `redirect_port` of `auth`, is in use")));
    }
    Ok(redirect)
}

async fn open_browser(url: Url) {
    let opened = run_command(&Command::new([OPENER, url.as_str()]), None, &RunLimits::default()).await;
    if !opened.is_ok_and(|output| output.status.success()) {
        output::tell(&format!("`{OPENER}` opens no browser here; open the URL yourself"));
    }
}

fn failure(error: &OAuthError) -> Failure {
    let exit = if error.may_pass() { Exit::Unavailable } else { Exit::Failed };
    Failure::new(exit, error.to_string())
}
