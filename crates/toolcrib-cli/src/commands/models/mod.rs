//! `toolcrib models`.

use std::path::{Path, PathBuf, absolute};

use serde_json::json;
use toolcrib_app::sections::search::{DEFAULT_MODEL, SearchTier, models_folder, open_model};

use crate::arguments::{ModelTier, Models, ModelsCommand};
use crate::exit::{Exit, Failure};
use crate::file_edit::AppEdit;
use crate::ui::output;

/// The section of an app file that selects the model.
const SECTION: [&str; 2] = ["tools", "search"];

/// The settings of the section that are replaced.
const KEYS: [&str; 3] = ["tier", "model", "model_dir"];

/// A chosen model.
struct ChosenModel {
    /// The tier that runs it.
    tier: &'static str,
    /// `model` or `model_dir`.
    key: &'static str,
    /// Its name or its folder.
    value: String,
}

pub(crate) async fn run(arguments: &Models, json: bool) -> Result<Exit, Failure> {
    match &arguments.command {
        ModelsCommand::Pull { name } => {
            let name = name.as_deref().unwrap_or(DEFAULT_MODEL);
            let folder = models_folder().ok_or_else(|| {
                Failure::bad_input("there is no folder for models: set XDG_CACHE_HOME or HOME")
            })?;
            let folder = inner::pull(name, &folder).await?;
            if json {
                output::json(&json!({"model": name, "folder": folder}));
            } else {
                output::say(&format!("{name} is in {}", folder.display()));
            }
        }
        ModelsCommand::List => {
            let models = inner::all()?;
            if json {
                output::json(&json!({"models": models}));
            } else {
                let rows: Vec<_> = models
                    .into_iter()
                    .map(|model| [model.name, model.repository, model.description])
                    .collect();
                output::table(&["name", "repository", "description"], &rows);
                output::tell(&format!("{DEFAULT_MODEL} is the one that is fetched unless another is named"));
            }
        }
        ModelsCommand::Use { model, app, tier } => {
            let chosen = choose(model, app, *tier)?;
            let ChosenModel { tier, key, value } = &chosen;
            let mut edit = AppEdit::open(app)?;
            edit.set(&SECTION, &[("tier", json!(tier)), (key, json!(value))], &KEYS)?;
            edit.write()?;
            if json {
                output::json(&json!({"app": app, "tier": tier, (*key): value}));
            } else {
                output::say(&format!("{}: search: {{tier: {tier}, {key}: {value}}}", app.display()));
            }
        }
    }
    Ok(Exit::Ok)
}

/// Opens a model, which shows that it works, and returns it as a choice for an app file.
fn choose(model: &str, app: &Path, tier: ModelTier) -> Result<ChosenModel, Failure> {
    let (search_tier, tier) = match tier {
        ModelTier::Model => (SearchTier::Model, "model"),
        ModelTier::Fastembed => (SearchTier::Fastembed, "fastembed"),
    };
    let folder = Some(PathBuf::from(model)).filter(|folder| folder.is_dir());
    open_model(search_tier, Some(model), folder.as_deref())
        .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    let Some(folder) = folder else {
        return Ok(ChosenModel { tier, key: "model", value: model.to_owned() });
    };
    // The app file names folders relative to its own.
    let is_beside = app.parent().is_none_or(|parent| parent.as_os_str().is_empty());
    let folder = if is_beside { Ok(folder) } else { absolute(&folder) };
    let folder = folder.map_err(|error| Failure::bad_input(format!("{model}: {error}")))?;
    Ok(ChosenModel { tier, key: "model_dir", value: folder.display().to_string() })
}

/// A model as it is listed.
#[derive(serde::Serialize)]
struct ListedModel {
    /// No two have the same, while several may be in one repository.
    name: String,
    repository: String,
    description: String,
}

#[cfg(feature = "onnx")]
mod inner {
    //! With models.

    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};

    use toolcrib_io::http::{HttpClient, HttpPolicy};
    use toolcrib_search::embedding::{DEFAULT_ENDPOINT, NamedModel, PullProgress, pull as pull_model};
    use url::Url;

    use super::ListedModel;
    use crate::exit::{Exit, Failure};
    use crate::ui::output;

    /// The environment variable that names another place for models.
    const ENDPOINT: &str = "HF_ENDPOINT";

    /// The interval at which progress is shown.
    const REFRESH: Duration = Duration::from_millis(200);

    /// The width of the bar in characters.
    const WIDTH: u64 = 30;

    pub(super) async fn pull(name: &str, folder: &Path) -> Result<PathBuf, Failure> {
        let model = NamedModel::find(name).map_err(|error| Failure::bad_input(error.to_string()))?;
        let own = std::env::var(ENDPOINT).ok().filter(|endpoint| !endpoint.is_empty());
        let endpoint = own.as_deref().unwrap_or(DEFAULT_ENDPOINT);
        let endpoint =
            Url::parse(endpoint).map_err(|error| Failure::bad_input(format!("{ENDPOINT}: {error}")))?;
        // A user who names a server may name one in a private network.
        let policy = HttpPolicy { allow_private: own.is_some(), ..HttpPolicy::default() };
        let client =
            HttpClient::new(policy).map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
        let mut shown: Option<(String, Instant)> = None;
        let progress = |pulled: PullProgress<'_>| {
            let is_new = shown.as_ref().is_none_or(|(file, _)| file != pulled.file);
            let is_due = shown.as_ref().is_none_or(|(_, at)| at.elapsed() >= REFRESH);
            if is_new || is_due || pulled.done >= pulled.total {
                output::progress(&bar(&pulled), pulled.done >= pulled.total);
                shown = Some((pulled.file.to_owned(), Instant::now()));
            }
        };
        pull_model(&client, &endpoint, &model, folder, progress)
            .await
            .map_err(|error| Failure::new(Exit::Unavailable, error.to_string()))?;
        Ok(model.folder(folder))
    }

    fn bar(pulled: &PullProgress<'_>) -> String {
        let filled = (pulled.done * WIDTH).checked_div(pulled.total).unwrap_or(WIDTH).min(WIDTH);
        let filled = usize::try_from(filled).unwrap_or_default();
        let empty = usize::try_from(WIDTH).unwrap_or_default() - filled;
        let megabytes = |bytes: u64| bytes.div_ceil(1 << 20);
        let (done, total) = (megabytes(pulled.done), megabytes(pulled.total));
        format!("[{}{}] {done}/{total} MiB  {}", "#".repeat(filled), " ".repeat(empty), pulled.file)
    }

    // The same shape as without models.
    #[expect(clippy::unnecessary_wraps, reason = "without models there is an error")]
    pub(super) fn all() -> Result<Vec<ListedModel>, Failure> {
        let row = |model: NamedModel| ListedModel {
            name: model.own_name(),
            repository: model.repository().to_owned(),
            description: model.description().to_owned(),
        };
        Ok(NamedModel::all().into_iter().map(row).collect())
    }
}

#[cfg(not(feature = "onnx"))]
mod inner {
    //! Without models.

    use std::path::{Path, PathBuf};

    use super::ListedModel;
    use crate::exit::Failure;

    #[expect(clippy::unused_async, reason = "with models it waits")]
    pub(super) async fn pull(_: &str, _: &Path) -> Result<PathBuf, Failure> {
        Err(absent())
    }

    pub(super) fn all() -> Result<Vec<ListedModel>, Failure> {
        Err(absent())
    }

    fn absent() -> Failure {
        Failure::bad_input(
            "this build runs no models: build it with `--features fastembed`; search works without, by the tier `builtin`",
        )
    }
}
