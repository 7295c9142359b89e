//! The apps that an app calls.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_agent::RunLimits;
use toolcrib_document::Error as DocumentError;
use toolcrib_model::text::pointer_part;

use crate::findings::Findings;
use crate::sections::apps::{CalledAppConfig, MAX_APP_DEPTH, MAX_APPS};
use crate::sections::runtime::{RuntimeSection, run_limits};
use crate::sections::values::check_name;
use crate::{App, Error};

/// Reads the apps that an app names, and builds them by `build`, which reads those that they name. Nothing is started.
pub(crate) fn read<B>(
    app: &App,
    found: &mut Findings,
    build: impl Fn(App) -> Result<B, Error>,
) -> BTreeMap<String, B> {
    let entries = &app.config.tools.apps;
    let mut apps = BTreeMap::new();
    if entries.len() > MAX_APPS {
        let message = format!("there are {} apps, and at most {MAX_APPS} can be called", entries.len());
        found.errors.push(app.file.error_at("/tools/apps", message));
        return apps;
    }
    for ((name, entry), path) in entries.iter().zip(app.resolved.called_apps.values()) {
        if let Some(called) = found.built(one(app, (name, entry), path, &build)) {
            apps.insert(name.clone(), called);
        }
    }
    apps
}

fn one<B>(
    app: &App,
    (name, entry): (&str, &CalledAppConfig),
    path: &Result<PathBuf, DocumentError>,
    build: impl Fn(App) -> Result<B, Error>,
) -> Result<B, DocumentError> {
    let place = format!("/tools/apps/{}", pointer_part(name));
    check_name("an app", name).map_err(|message| app.file.error_at(&place, message))?;
    let place = format!("{place}/path");
    let wrong = |message: String| app.file.readable(app.file.error_at(&place, message), &place);
    let path = path.clone()?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut above: Vec<PathBuf> = app.above.to_vec();
    if app.file.is_on_disk {
        above.push(real(Path::new(&app.file.name)));
    }
    if above.contains(&real(&path)) {
        return Err(wrong(format!(
            "the app `{name}` is this one, or one that calls it: it would call itself"
        )));
    }
    if app.above.len() >= MAX_APP_DEPTH {
        return Err(wrong(format!(
            "{MAX_APP_DEPTH} apps call one another before this one already, and no more are called"
        )));
    }
    let unusable = |error: &Error| wrong(format!("the app `{name}` cannot be called: {}", first_line(error)));
    let shared = (Arc::clone(&app.extensions), above.into(), app.protected.clone());
    let mut called = App::open_below(&path, shared).map_err(|error| unusable(&error))?;
    limit(&mut Arc::make_mut(&mut called.config).runtime, entry, &app.config.runtime);
    let has_agent = !called.config.agents.is_empty();
    let built = build(called).map_err(|error| unusable(&error))?;
    if !has_agent {
        return Err(wrong(format!(
            "the app `{name}` cannot be called: it has no agent; add one to its `agents`"
        )));
    }
    Ok(built)
}

fn first_line(error: &Error) -> String {
    let text = error.to_string();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    match lines.count() {
        0 => first.to_owned(),
        more => format!("{first}, and {more} more"),
    }
}

/// Limits an app to what its own file, its entry and its caller let it do; those that it calls are held to that too. A
/// call from a run is held to what is left of that, by its budget.
fn limit(runtime: &mut RuntimeSection, entry: &CalledAppConfig, caller: &RuntimeSection) {
    let (own, outer) = (run_limits(runtime), run_limits(caller));
    let cost = |limits: RunLimits| u64_as_amount(limits.max_cost);
    let least =
        |own: u64, outer: u64, entry: Option<u64>| own.min(outer).min(entry.unwrap_or(u64::MAX)).max(1);
    let turns = entry.max_turns.map(|turns| turns.get().into());
    let seconds = entry.max_seconds.map(|seconds| seconds.get().into());
    let tokens = entry.max_tokens.map(NonZeroU64::get);
    let most = entry.max_cost.unwrap_or(f64::INFINITY);
    let to_u32 = |value: u64| NonZeroU32::new(u32::try_from(value).unwrap_or(u32::MAX));
    runtime.max_turns = to_u32(least(own.max_turns.into(), outer.max_turns.into(), turns));
    runtime.max_calls = NonZeroU32::new(own.max_calls.min(outer.max_calls).max(1));
    runtime.max_tokens = NonZeroU64::new(least(own.max_tokens, outer.max_tokens, tokens));
    runtime.max_seconds = to_u32(least(own.max_duration.as_secs(), outer.max_duration.as_secs(), seconds));
    runtime.max_cost = Some(cost(own).min(cost(outer)).min(most));
}

/// Millionths as an amount of money.
#[expect(clippy::cast_precision_loss, reason = "exact up to nine thousand million")]
fn u64_as_amount(millionths: u64) -> f64 {
    millionths as f64 / 1e6
}
