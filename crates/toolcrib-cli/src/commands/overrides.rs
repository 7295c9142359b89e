//! `toolcrib enable` and `toolcrib disable`.

use serde_json::json;
use toolcrib_app::{Extensions, override_failure};
use toolcrib_policy::OverrideTarget;
use toolcrib_runtime::Runtime;
use toolcrib_tasks::OverrideError;

use crate::app_start::look;
use crate::arguments::OverrideArguments;
use crate::exit::{Exit, Failure};
use crate::ui::output;

/// Enables or disables a target.
pub(crate) async fn change(
    arguments: &OverrideArguments,
    enables: bool,
    extensions: &Extensions,
    json: bool,
) -> Result<Exit, Failure> {
    let runtime = look(&arguments.app, extensions).await?;
    let changed = match require_store(&runtime) {
        Ok(()) if enables => runtime.overrides().enable(&arguments.target).await.map_err(Failure::from),
        Ok(()) => runtime.overrides().disable(&arguments.target).await.map_err(Failure::from),
        Err(failure) => Err(failure),
    };
    runtime.close().await;
    Ok(say(&changed?, enables, json))
}

fn say(target: &OverrideTarget, is_enabled: bool, json: bool) -> Exit {
    if json {
        output::json(&json!({"target": target, "enabled": is_enabled}));
    } else {
        let state = if is_enabled { "enabled" } else { "disabled" };
        output::say(&format!("{target} is {state}; processes that run the app follow within a second"));
    }
    Exit::Ok
}

impl From<OverrideError> for Failure {
    fn from(error: OverrideError) -> Self {
        Self::bad_input(override_failure(&error))
    }
}

/// Checks that the app has a store, which other processes read.
pub(super) fn require_store(runtime: &Runtime) -> Result<(), Failure> {
    let app = runtime.app();
    if app.store_location()?.is_some() {
        return Ok(());
    }
    let message = "the app has no store: name one with `store`, or set `HOME` or `XDG_STATE_HOME`";
    Err(Failure::bad_input(format!("{}: {message}", app.file.name)))
}
