//! The promises of app files.

mod app_file;
mod approvals;
mod engines;
mod enrichments;
mod models;
mod nesting;
mod profiles;
mod reference;
mod schema;

use crate::Blueprint;

fn wrong(text: &str) -> String {
    Blueprint::from_text("app.yaml", text).unwrap_err().to_string()
}
