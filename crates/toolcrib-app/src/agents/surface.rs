//! The surface of a client of the server.

use toolcrib_prompt::{Injection, InjectionMode, InjectionSettings, Plan, WireNames};

use super::caller_view::CallerView;
use super::scripts;
use crate::Error;
use crate::sections::runtime::ScriptMode;
use crate::sections::serve::SurfaceMode;

/// The tools of one generation that a client of the server is listed.
#[derive(Clone, Debug)]
pub struct Surface {
    /// The generation of the tools.
    pub generation: u64,
    /// The plan: tools that are listed with their schemas, and tools to be found.
    pub plan: Plan,
    /// The names of all tools that the client may use.
    pub wire_names: WireNames,
}

impl Surface {
    /// Decides the surface of a client. Without a mode, that of its profile or of the app applies.
    pub fn new(mode: Option<SurfaceMode>, view: &CallerView<'_>) -> Result<Self, Error> {
        let config = &view.parts.app.config;
        let profile = view.policy.profile_of(view.principal.session);
        let profile = profile.and_then(|name| config.profiles.get(name));
        let mode = mode.or(profile.and_then(|profile| profile.surface)).unwrap_or(config.serve.surface);
        let wire_names = view.wire_names(config.serve.short_names);
        // A person picks from what a client lists.
        let listed = || view.tools().filter(|tool| !tool.traits().unlisted);
        let mut settings = InjectionSettings::default();
        settings.tool_budget = config.runtime.tool_budget.unwrap_or(settings.tool_budget);
        let pinned = profile.and_then(|profile| profile.pin.as_ref()).map_or_else(
            || config.runtime.pinned.iter().chain(&config.serve.pin),
            |pinned| pinned.iter().chain(&[]),
        );
        settings.pinned = pinned.filter_map(|spelling| view.named(spelling)).collect();
        settings.for_client = true;
        settings.mode = match mode {
            SurfaceMode::Auto => InjectionMode::Auto,
            SurfaceMode::Direct => InjectionMode::Direct,
            SurfaceMode::Discovery => InjectionMode::Discovery,
            SurfaceMode::Mixed => InjectionMode::Mixed,
        };
        // The agent of a client may have another way to run programs, so the operator decides.
        let is_on = config.serve.scripts == ScriptMode::On;
        let run_scripts = if is_on { ScriptMode::On } else { ScriptMode::Off };
        let planned = |settings: &InjectionSettings| {
            scripts::plan(listed, run_scripts, settings, &wire_names)
                .map_err(|error| Error::Part { part: "the surface".into(), message: error.to_string() })
        };
        let mut plan = planned(&settings)?;
        if plan.mode == Injection::Compact {
            // A list of tools without schemas belongs into the system prompt, which is the client's.
            let is_pinned = !settings.pinned.is_empty();
            settings.mode = if is_pinned { InjectionMode::Mixed } else { InjectionMode::Discovery };
            plan = planned(&settings)?;
        }
        Ok(Surface { generation: view.snapshot.generation(), plan, wire_names })
    }
}
