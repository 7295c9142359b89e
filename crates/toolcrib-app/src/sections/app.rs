//! `app`: the name, the description and the workspace of an app.

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_document::Error;

use crate::AppFile;

/// `app`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AppSection {
    /// The name of the app. By default the name of the file.
    pub id: Option<String>,
    /// The purpose of the app.
    pub description: Option<String>,
    /// The folder that file tools work in, relative to the app file. By default the folder of the app file.
    pub workspace: Option<String>,
    /// The prompt of `toolcrib run` if the command line has none.
    pub prompt: Option<String>,
}

/// A folder that tools are to work in and that is not one. It may be made later where the app was not read from a file.
pub(crate) fn check(section: &AppSection, file: &AppFile, errors: &mut Vec<Error>) {
    let (Some(_), Ok(path)) = (&section.workspace, file.workspace()) else { return };
    let problem = if path.is_file() {
        "is a file; name a folder"
    } else if file.is_on_disk && !path.exists() {
        "is not there; make it, or name another folder"
    } else {
        return;
    };
    let message = format!("the workspace `{}` {problem}", path.display());
    errors.push(file.error_at("/app/workspace", message));
}
