//! `toolcrib generate check`.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde_json::json;
use toolcrib_datagen::reader::check_lines;

use crate::exit::{Exit, Failure};
use crate::ui::output;

/// The maximum number of findings that are listed; all of them are counted.
const MAX_LISTED: usize = 1_000;

pub(super) fn run(path: &Path, json: bool) -> Result<Exit, Failure> {
    let unreadable = |error: std::io::Error| Failure::bad_input(format!("{}: {error}", path.display()));
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(Failure::bad_input(format!("{}: expected a file", path.display())));
    }
    let input = BufReader::new(File::open(path).map_err(unreadable)?);
    let mut listed = Vec::new();
    let report = check_lines(input, |line, findings| {
        let remaining = MAX_LISTED - listed.len();
        listed.extend(findings.iter().take(remaining).map(|finding| (line, finding.clone())));
    })
    .map_err(unreadable)?;
    let total: u64 = report.findings.values().sum();
    if json {
        let listed = listed.iter().map(|(line, finding)| json!({"line": line, "finding": finding}));
        output::json(&json!({"report": report, "findings": listed.collect::<Vec<_>>()}));
    } else {
        for (line, finding) in &listed {
            output::say(&format!("line {line}: {finding}"));
        }
        if total > listed.len() as u64 {
            output::say(&format!("{} more findings are not listed", total - listed.len() as u64));
        }
        for (reason, count) in &report.findings {
            output::say(&format!("{reason}: {count}"));
        }
        output::say(&format!("{} of {} conversations have no finding", report.clean, report.conversations));
    }
    Ok(if total == 0 { Exit::Ok } else { Exit::Failed })
}
