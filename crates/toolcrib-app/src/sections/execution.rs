//! `execution`: background calls, watchers and schedules.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_document::Error;

use crate::AppFile;

/// `execution`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExecutionSection {
    /// True if agents can create watchers.
    pub watchers: bool,
    /// True if agents can create schedules.
    pub scheduler: bool,
    /// The seconds after which a call of an agent continues in the background. By default never.
    pub background_after: Option<NonZeroU32>,
    /// The file that stores background calls, watchers and schedules, relative to the app file. By default a file in
    /// the state folder of the user.
    pub store: Option<String>,
    /// True if several processes run this app on the same store.
    pub shared: bool,
}

/// Checks the section beyond its types.
pub(crate) fn check(section: &ExecutionSection, has_module: bool, file: &AppFile, errors: &mut Vec<Error>) {
    if section.scheduler && has_module {
        let message =
            "the module `scheduler` and `execution.scheduler` are the same tools; name one of the two";
        errors.push(file.error_at("/modules/scheduler", message));
    }
}
