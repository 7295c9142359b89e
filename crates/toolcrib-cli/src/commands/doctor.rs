//! `toolcrib doctor`.

use std::env;

use serde::Serialize;
use serde_json::json;
use toolcrib_app::sections::search::{DEFAULT_MODEL, SearchTier, models_folder};
use toolcrib_app::{Extensions, SecretOrigin};
use toolcrib_port::RejectKind;
use toolcrib_runtime::Runtime;
use toolcrib_search::embedding::{BuiltinEmbedder, Embedder, Embeddings};

use crate::app_start::look_closely;
use crate::arguments::Doctor;
use crate::exit::{Exit, Failure};
use crate::ui::output;

/// The tier whose model ONNX Runtime runs.
const FASTEMBED: &str = "search tier fastembed";

/// The models of that tier and of the tier `model`.
const MODELS: &str = "search models";

/// The status of what is not there and need not be.
const OPTIONAL: &str = "optional";

/// The most fetched models that are looked at.
const MAX_MODELS: usize = 64;

/// One thing that was looked at.
#[derive(Serialize)]
struct Check {
    name: String,
    /// `ok`, `optional` for what is not there and need not be, `missing` or `failed`.
    status: &'static str,
    detail: String,
    /// The remedy.
    next: Option<String>,
}

impl Check {
    fn ok(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), status: "ok", detail: detail.into(), next: None }
    }

    fn not_ok(name: &str, status: &'static str, detail: impl Into<String>, next: impl Into<String>) -> Self {
        Self { name: name.into(), status, detail: detail.into(), next: Some(next.into()) }
    }
}

pub(crate) async fn run(arguments: &Doctor, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let mut checks = vec![
        Check::ok("toolcrib", env!("CARGO_PKG_VERSION")),
        builtin(),
        fastembed(),
        models(),
        program("npx", "needed only for MCP servers from npm; install Node.js"),
        program("uvx", "needed only for MCP servers from PyPI; install uv"),
        program("python3", "needed only for tools and MCP servers in Python; install Python 3"),
        program("docker", "needed only for MCP servers in containers; install Docker"),
    ];
    let mut exit = Exit::Ok;
    if let Some(path) = &arguments.app {
        match look_closely(path, extensions).await {
            Ok(runtime) => {
                let search = &runtime.app().config.tools.search;
                if search.tier == SearchTier::Fastembed {
                    require(&mut checks, FASTEMBED);
                }
                if search.tier.takes_model() && search.model_dir.is_none() {
                    require(&mut checks, MODELS);
                }
                exit = app(&runtime, &mut checks);
                runtime.close().await;
            }
            Err(failure) => {
                let next = format!("mend the file; `toolcrib validate {}` checks it again", path.display());
                checks.push(Check::not_ok("app", "failed", failure.message, next));
                exit = failure.exit;
            }
        }
    }
    if json {
        output::json(&json!({"ok": exit == Exit::Ok, "checks": checks}));
    } else {
        for check in &checks {
            output::say(&format!("{:8} {}: {}", check.status, check.name, check.detail));
            if let Some(next) = &check.next {
                output::say(&format!("         next: {next}"));
            }
        }
    }
    Ok(exit)
}

/// Marks as missing what is optional in general, and needed by the app.
fn require(checks: &mut [Check], name: &str) {
    for check in checks.iter_mut().filter(|check| check.name == name) {
        if check.status == OPTIONAL {
            check.status = "missing";
        }
    }
}

/// Checks the built-in embedder.
fn builtin() -> Check {
    match BuiltinEmbedder::new() {
        Ok(embedder) => Check::ok("search tier builtin", embedder.id()),
        Err(error) => Check::not_ok(
            "search tier builtin",
            "failed",
            error.to_string(),
            "tools are found by words alone",
        ),
    }
}

/// Checks for the library that the tier needs.
#[cfg(feature = "onnx")]
fn fastembed() -> Check {
    let folder = toolcrib_app::sections::search::runtime_library_folder();
    match toolcrib_search::embedding::load_library(folder.as_deref()) {
        Ok(library) => {
            Check::ok(FASTEMBED, format!("ONNX Runtime in {} ({})", library.path.display(), library.place))
        }
        Err(error) => {
            let mut next =
                "needed only for `tier: fastembed`, while `tier: model` runs most models without it"
                    .to_owned();
            if cfg!(not(target_env = "musl")) {
                let folder = folder.map(|folder| format!(", put it into {}", folder.display()));
                next += "; `pip install onnxruntime` in an active Python environment";
                next += &folder.unwrap_or_default();
                next += ", or set ORT_DYLIB_PATH to it";
            }
            Check::not_ok(FASTEMBED, OPTIONAL, error.to_string(), next)
        }
    }
}

/// Without the feature there is only to be said what it could use.
#[cfg(not(feature = "onnx"))]
fn fastembed() -> Check {
    let folder = toolcrib_app::sections::search::runtime_library_folder();
    let found = toolcrib_search::embedding::runtime_libraries(folder.as_deref());
    let library = found.first().map_or_else(
        || "no ONNX Runtime here either".to_owned(),
        |library| format!("there is an ONNX Runtime in {} ({})", library.path.display(), library.place),
    );
    let next = "needed only for `tier: fastembed`; build with `--features fastembed`";
    Check::not_ok(FASTEMBED, OPTIONAL, format!("not built in; {library}"), next)
}

/// Checks which models of the tier are downloaded.
fn models() -> Check {
    let next = "needed only for `tier: model` and `tier: fastembed`; `toolcrib models pull` fetches one, or set \
                `model_dir`";
    let Some(folder) = models_folder() else {
        return Check::not_ok(MODELS, OPTIONAL, "there is no folder for them", "set XDG_CACHE_HOME or HOME");
    };
    let entries = std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<String> = entries
        .take(MAX_MODELS)
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().replace("--", "/"))
        .collect();
    names.sort();
    if names.is_empty() {
        return Check::not_ok(MODELS, OPTIONAL, format!("none in {}", folder.display()), next);
    }
    Check::ok(MODELS, names.join(", "))
}

/// Checks the semantic search of the app's tools.
fn search(runtime: &Runtime) -> Option<Check> {
    const NAME: &str = "app search";
    let embeddings = runtime.snapshot().artifacts().get::<Embeddings>(Embeddings::KEY)?;
    let settings = &runtime.app().config.tools.search;
    let Some(error) = embeddings.degraded() else {
        let model = match (settings.tier, &settings.model_dir, &settings.model) {
            (tier, Some(folder), _) if tier.takes_model() => format!("the model in {folder}"),
            (tier, None, name) if tier.takes_model() => name.as_deref().unwrap_or(DEFAULT_MODEL).to_owned(),
            _ => embeddings.vectors()?.embedder().id().to_owned(),
        };
        return Some(Check::ok(NAME, format!("by words and by meaning ({model})")));
    };
    let used = embeddings.vectors().map_or("words alone", |vectors| vectors.embedder().id());
    let next = format!("see the reason; until then tools are found by {used}");
    Some(Check::not_ok(NAME, "failed", error.to_string(), next))
}

fn program(name: &str, next: &str) -> Check {
    let path = env::var_os("PATH").unwrap_or_default();
    match env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file()) {
        Some(found) => Check::ok(name, found.display().to_string()),
        None => Check::not_ok(name, OPTIONAL, "not in PATH", next),
    }
}

/// Returns true if a variable holds a key. As in a run, a variable that is empty or not Unicode does not count.
fn is_set(variable: &str) -> bool {
    env::var(variable).is_ok_and(|key| !key.is_empty())
}

fn app(runtime: &Runtime, checks: &mut Vec<Check>) -> Exit {
    let snapshot = runtime.snapshot();
    checks.push(Check::ok("app", format!("{} tools in {}", snapshot.iter().len(), runtime.app().id())));
    checks.extend(search(runtime));
    for SecretOrigin { name, provider, .. } in runtime.app().file.secret_origins() {
        let name = format!("secret {name}");
        checks.push(match provider {
            Ok(provider) => Check::ok(name, provider),
            Err(reason) => Check::not_ok(
                &name,
                "missing",
                reason,
                "set it where the message says; what needs it is off until then",
            ),
        });
    }
    for agent in &runtime.app().config.agents {
        let name = format!("agent {}", agent.id);
        let provider = agent.brain.provider;
        match provider.key_variable() {
            // A self-hosted server may not need a key.
            Some(variable)
                if agent.brain.api_key.is_none()
                    && agent.brain.base_url.as_deref().is_none_or(str::is_empty)
                    && !is_set(variable) =>
            {
                let next = match &agent.brain.recording {
                    Some(recording) => {
                        format!("set {variable} to talk to {provider}; until then {recording} is played")
                    }
                    None => format!("set {variable}"),
                };
                checks.push(Check::not_ok(&name, "missing", format!("{variable} is not set"), next));
            }
            _ => checks.push(Check::ok(name, format!("{provider} {}", agent.brain.model))),
        }
    }
    for reject in snapshot.rejected() {
        let next = match reject.kind {
            RejectKind::NeedsLogin => "log in as the reason says; the other tools work without it",
            RejectKind::Changed => {
                "see what changed, and approve it if it is right; the other tools work without it"
            }
            _ => "see the reason; the other tools work without it",
        };
        let tool = reject.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        checks.push(Check::not_ok(&reject.source, "failed", format!("{tool}{}", reject.reason), next));
    }
    crate::app_start::exit_of_rejects(snapshot.rejected())
}
