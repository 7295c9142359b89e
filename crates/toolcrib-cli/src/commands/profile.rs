//! `toolcrib profile`.

use std::path::Path;

use serde_json::json;
use toolcrib_app::Extensions;
use toolcrib_app::sections::profiles::unknown_profile;
use toolcrib_app::sections::serve::{LOCAL_CLIENT, sessions_in_profile};
use toolcrib_policy::Overrides;
use toolcrib_runtime::Runtime;

use super::overrides::require_store;
use crate::app_start::look;
use crate::arguments::ProfileCommand;
use crate::exit::{Exit, Failure};
use crate::ui::output::{self, say, tell};

pub(crate) async fn run(
    command: &ProfileCommand,
    extensions: &Extensions,
    json: bool,
) -> Result<Exit, Failure> {
    match command {
        ProfileCommand::List { app } => list(app, extensions, json).await,
        ProfileCommand::Use { app, name, .. } => select(app, name.as_deref(), extensions, json).await,
    }
}

/// A profile, as it is listed.
struct ListedProfile {
    name: String,
    description: Option<String>,
    tools: usize,
    is_selected: bool,
}

async fn list(app: &Path, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let runtime = look(app, extensions).await?;
    let (profiles, overrides) = (listed(&runtime), runtime.executor().policy().overrides());
    runtime.close().await;
    if json {
        let rows = profiles.iter().map(|profile| {
            json!({
                "name": profile.name,
                "description": profile.description,
                "tools": profile.tools,
                "is_selected": profile.is_selected,
            })
        });
        output::json(&json!({"profiles": rows.collect::<Vec<_>>(), "overrides": *overrides}));
        return Ok(Exit::Ok);
    }
    if profiles.is_empty() {
        tell("the app has no `profiles`");
    }
    for line in lines(&profiles, &overrides) {
        say(&line);
    }
    Ok(Exit::Ok)
}

/// Returns the profiles of an app, each with the number of the tools that a client may use there.
fn listed(runtime: &Runtime) -> Vec<ListedProfile> {
    let (snapshot, policy) = (runtime.snapshot(), runtime.executor().policy());
    let selected = policy.overrides().profile.clone();
    let listed = |(name, profile): (&String, &toolcrib_app::sections::profiles::ProfileConfig)| {
        let session = format!("{}-", sessions_in_profile(LOCAL_CLIENT, name));
        let tools = snapshot.iter().filter(|entry| !entry.tool.name.is_of_runtime());
        ListedProfile {
            name: name.clone(),
            description: profile.description.clone(),
            tools: tools.filter(|entry| policy.is_visible(&entry.tool, session.as_str())).count(),
            is_selected: selected.as_deref() == Some(name),
        }
    };
    runtime.app().config.profiles.iter().map(listed).collect()
}

fn lines(profiles: &[ListedProfile], overrides: &Overrides) -> Vec<String> {
    let width = profiles.iter().map(|profile| profile.name.len()).max().unwrap_or_default();
    let mut lines: Vec<String> = profiles
        .iter()
        .map(|ListedProfile { name, description, tools, is_selected }| {
            let mark = if *is_selected { '*' } else { ' ' };
            let count = if *tools == 1 { "1 tool".to_owned() } else { format!("{tools} tools") };
            let description = description.as_ref().map(|text| format!("  {text}")).unwrap_or_default();
            format!("{mark} {name:width$}  {count}{description}")
        })
        .collect();
    if let Some(selected) = &overrides.profile
        && !profiles.iter().any(|profile| profile.is_selected)
    {
        lines.push(format!(
            "* {selected}  does not exist, so that clients without another profile may use no tool; `toolcrib profile use` \
             selects another"
        ));
    }
    lines.extend(overrides.targets.iter().map(|(target, is_enabled)| {
        let state = if *is_enabled { "enabled" } else { "disabled" };
        format!("override: {target} is {state}")
    }));
    lines
}

async fn select(
    app: &Path,
    name: Option<&str>,
    extensions: &Extensions,
    json: bool,
) -> Result<Exit, Failure> {
    let runtime = look(app, extensions).await?;
    let selected = selected(&runtime, name).await;
    runtime.close().await;
    selected?;
    if json {
        output::json(&json!({"profile": name}));
        return Ok(Exit::Ok);
    }
    let clients = "clients that no other profile limits; servers that run follow within a second";
    match name {
        Some(name) => say(&format!("the profile `{name}` limits {clients}")),
        None => say(&format!("no profile limits {clients}")),
    }
    Ok(Exit::Ok)
}

async fn selected(runtime: &Runtime, name: Option<&str>) -> Result<(), Failure> {
    require_store(runtime)?;
    if let Some(message) = name.and_then(|name| unknown_profile(name, &runtime.app().config.profiles)) {
        return Err(Failure::bad_input(message));
    }
    Ok(runtime.overrides().use_profile(name).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_and_overrides_are_listed_with_the_selected_one() {
        let profile = |name: &str, tools: usize, is_selected: bool| ListedProfile {
            name: name.to_owned(),
            description: is_selected.then(|| "Reads code.".to_owned()),
            tools,
            is_selected,
        };
        let profiles = [profile("all", 1, false), profile("review", 12, true)];
        let targets = [("tool:git.push", false), ("source:shop.yaml", true)];
        let targets = targets.map(|(target, is_enabled)| (target.parse().unwrap(), is_enabled)).into();
        let overrides = Overrides { profile: Some("review".to_owned()), targets };
        insta::assert_snapshot!(lines(&profiles, &overrides).join("\n"), @r"
          all     1 tool
        * review  12 tools  Reads code.
        override: tool `git.push` is disabled
        override: source `shop.yaml` is enabled
        ");
        let gone = Overrides { profile: Some("gone".to_owned()), ..Overrides::default() };
        insta::assert_snapshot!(lines(&profiles[..1], &gone).join("\n"), @r"
          all  1 tool
        * gone  does not exist, so that clients without another profile may use no tool; `toolcrib profile use` selects another
        ");
    }
}
