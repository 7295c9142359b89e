//! `toolcrib` with one module more: `cargo run -p reports -- schema reports` tells what an app file may say of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_cli::{EntryContext, Extensions};
use toolcrib_sdk::{ErrorCode, Module, module};

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
struct Report {
    id: i64,
    title: String,
    status: String,
}
#[derive(Serialize, JsonSchema)]
struct Found {
    report: Report,
}
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Reports {
    /// The reports that there are.
    reports: Vec<Report>,
}

/// Reads reports.
#[module(id = "reports", title = "Reports")]
impl Reports {
    /// Load one report owned by the reports module.
    #[tool(name = "get-report", title = "Get report", risk = "low", aliases = ["lire un rapport"])]
    fn get_report(&self, report_id: i64) -> Result<Found, ErrorCode> {
        let report = self.reports.iter().find(|report| report.id == report_id).cloned();
        report.map(|report| Found { report }).ok_or(ErrorCode::new("not_found"))
    }
}

fn main() -> std::process::ExitCode {
    let reports = |reports: Reports, _: &EntryContext<'_>| Ok(Module::from(reports));
    toolcrib_cli::main_with(Extensions::default().with_module("reports", reports))
}
