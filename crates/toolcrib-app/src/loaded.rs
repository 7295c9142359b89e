//! The checks of an app whose tools are loaded.

use toolcrib_exec::Executor;
use toolcrib_port::{Reject, RejectKind};
use toolcrib_registry::Snapshot;

use crate::sections::{apps, capabilities, channels, limits, skills};
use crate::{AppConfig, AppParts, AppUris, Error};

/// The most rejects that are named.
const MAX_NAMED: usize = 10;

impl AppParts {
    /// Returns that approved tools could not be written to the lock file, and settings that speak of no tool, which may be
    /// misspelt. The latter are left out while a source is missing, whose tools they may be about.
    pub fn warnings(&self, executor: &Executor) -> Vec<String> {
        let (config, snapshot) = (&self.app.config, executor.registry().snapshot());
        let unsaved = self.app.pins().ok().flatten().and_then(|pins| pins.problem());
        if snapshot.rejected().iter().any(|reject| reject.name.is_none()) {
            return unsaved.into_iter().collect();
        }
        let tools: Vec<_> =
            snapshot.iter().chain(snapshot.unshaped().iter()).map(|entry| entry.tool.as_ref()).collect();
        let hooks = executor.unused_hooks(&tools);
        let hooks = hooks.map(|hook| format!("the hook `{hook}` applies to no tool"));
        unsaved
            .into_iter()
            .chain(capabilities::unused(config, executor.policy(), &tools))
            .chain(hooks)
            .chain(limits::unused(&config.tools.limits, &snapshot))
            .chain(not_pinned(config, &snapshot))
            .chain(AppUris::of(snapshot.iter().map(|entry| entry.tool.as_ref())).warnings())
            .chain(channels::unused(&self.channels, &snapshot))
            .chain(skills::unused(&self.skills, &snapshot))
            .chain(apps::uncalled(config, executor.policy(), &snapshot))
            .collect()
    }

    /// Returns an error where a source did not load or a tool is a duplicate, for an app that runs with all of its tools or
    /// not at all.
    pub fn check_strictly(&self, snapshot: &Snapshot) -> Result<(), Error> {
        let is_fatal = |reject: &&Reject| reject.name.is_none() || reject.kind == RejectKind::Duplicate;
        let fatal: Vec<&Reject> = snapshot.rejected().iter().filter(is_fatal).collect();
        if fatal.is_empty() {
            return Ok(());
        }
        let mut message =
            "not all tools are there, and the app is strict (`tools.strict`, or `--strict`)".to_owned();
        for reject in fatal.iter().take(MAX_NAMED) {
            message = format!("{message}\n  {reject}");
        }
        if fatal.len() > MAX_NAMED {
            message = format!("{message}\n  and {} more", fatal.len() - MAX_NAMED);
        }
        Err(Error::Part { part: self.app.file.name.clone(), message })
    }
}

/// Returns warnings about tools that are to be pinned and are not there.
fn not_pinned(config: &AppConfig, snapshot: &Snapshot) -> impl Iterator<Item = String> {
    let lists = [("runtime.pinned", &config.runtime.pinned), ("serve.pin", &config.serve.pin)];
    let lists = lists.map(|(list, names)| (list.to_owned(), names)).into_iter();
    let of_profiles = config.profiles.iter();
    let of_profiles = of_profiles
        .filter_map(|(name, profile)| Some((format!("profiles.{name}.pin"), profile.pin.as_ref()?)));
    let pinned = lists.chain(of_profiles);
    pinned
        .flat_map(|(list, names)| names.iter().map(move |name| (list.clone(), name)))
        .filter(|(_, spelling)| snapshot.find(spelling, |_| true).is_err())
        .map(|(list, spelling)| format!("`{list}` names an unknown tool `{spelling}`"))
}
