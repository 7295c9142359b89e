//! `toolcrib store`.

use toolcrib_app::Extensions;
use toolcrib_tasks::store::{StoreError, StoreStatus};

use crate::app_start::open;
use crate::arguments::{Store, StoreCommand};
use crate::exit::{Exit, Failure};
use crate::ui::output::{self, say};

pub(crate) async fn run(arguments: &Store, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let (StoreCommand::Status { app } | StoreCommand::Migrate { app }) = &arguments.command;
    let app = open(app, extensions)?.app;
    let Some(location) = app.store_location()? else {
        let message = "the app has no store: name one with `store`, or set `HOME` or `XDG_STATE_HOME`";
        return Err(Failure::bad_input(format!("{}: {message}", app.file.name)));
    };
    let status = match &arguments.command {
        StoreCommand::Status { .. } => StoreStatus::of(&location).await,
        StoreCommand::Migrate { .. } => StoreStatus::migrate(&location).await,
    };
    let status = status.map_err(|error| failure(&error))?;
    if json {
        output::json(&serde_json::json!(status));
        return Ok(Exit::Ok);
    }
    say(&text(&status));
    Ok(Exit::Ok)
}

fn text(status: &StoreStatus) -> String {
    let state = match status.version {
        0 => {
            "there are no tables yet; `toolcrib store migrate`, or the first process, creates them".to_owned()
        }
        version if version < status.supported => {
            format!(
                "tables of version {version}; `toolcrib store migrate` makes them version {}",
                status.supported
            )
        }
        version => format!("tables of version {version}"),
    };
    let records = status.records.iter().map(|(kind, count)| format!("\n  {kind}: {count}"));
    format!("{}: {state}{}", status.location, records.collect::<String>())
}

fn failure(error: &StoreError) -> Failure {
    let exit = match error {
        StoreError::Unreachable { .. } | StoreError::InUse { .. } => Exit::Unavailable,
        _ => Exit::Failed,
    };
    Failure::new(exit, error.to_string())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use toolcrib_tasks::StoreLocation;

    use super::*;

    #[tokio::test]
    async fn the_state_of_a_store_is_told_before_and_after_its_tables_are_made() {
        let folder = tempfile::tempdir().unwrap();
        let path: PathBuf = folder.path().join("store.db");
        let location = StoreLocation::File(path.clone());
        let shown = |status: &StoreStatus| text(status).replace(&path.display().to_string(), "store.db");
        let before = StoreStatus::of(&location).await.unwrap();
        insta::assert_snapshot!(shown(&before), @"store.db: there are no tables yet; `toolcrib store migrate`, or the first process, creates them");
        assert!(!path.exists(), "it only looks");
        let after = StoreStatus::migrate(&location).await.unwrap();
        insta::assert_snapshot!(shown(&after), @"store.db: tables of version 2");
    }
}
