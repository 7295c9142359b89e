//! `toolcrib lint`.

use serde_json::json;
use toolcrib_app::Extensions;
use toolcrib_meta::lint::{Finding, LintReport, lint};
use toolcrib_policy::RUNTIME_NAMESPACE;
use toolcrib_runtime::Runtime;
use toolcrib_search::embedding::Embeddings;

use crate::app_start::{exit_of_rejects, look};
use crate::arguments::{Lint, principal};
use crate::exit::{Exit, Failure};
use crate::ui::output;

pub(crate) async fn run(arguments: &Lint, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let runtime = look(&arguments.app, extensions).await?;
    let snapshot = runtime.snapshot();
    let linted = linted(&runtime);
    runtime.close().await;
    let rejected = snapshot.rejected();
    if json {
        let LintReport { tools, findings, left_out } = &linted;
        output::json(&json!({
            "ok": findings.is_empty(),
            "tools": tools,
            "findings": findings,
            "left_out": left_out,
            "rejected": rejected,
        }));
    } else {
        linted.findings.iter().for_each(show);
        let left_out = match linted.left_out {
            0 => String::new(),
            count => format!("; {count} more are left out"),
        };
        let findings = match linted.findings.len() {
            1 => "1 finding".to_owned(),
            count => format!("{count} findings"),
        };
        output::say(&format!("{findings} in {} tools{left_out}", linted.tools));
        output::rejects(rejected);
    }
    Ok(match exit_of_rejects(rejected) {
        Exit::Unavailable => Exit::Unavailable,
        _ if linted.findings.is_empty() => Exit::Ok,
        _ => Exit::Failed,
    })
}

/// Returns the findings on the tools that an agent of the app may see.
fn linted(runtime: &Runtime) -> LintReport {
    let (snapshot, policy) = (runtime.snapshot(), runtime.executor().policy());
    let embeddings = snapshot.artifacts().get::<Embeddings>(Embeddings::KEY);
    if let Some(error) = embeddings.as_ref().and_then(|embeddings| embeddings.degraded()) {
        output::tell(&format!("warning: not all tools could be compared by meaning: {error}"));
    }
    // The runtime's own tools are the same in every app.
    let seen = snapshot.iter().filter(|entry| {
        entry.tool.name.namespace() != RUNTIME_NAMESPACE && policy.is_visible(&entry.tool, principal())
    });
    let vectors = embeddings.as_ref().and_then(|embeddings| embeddings.vectors());
    lint(seen.map(|entry| (entry.tool.as_ref(), entry.source.as_ref())), vectors.map(AsRef::as_ref))
}

fn show(finding: &Finding) {
    let places = finding.tools.iter().map(|place| format!("{} ({})", place.name, place.source));
    let mut named = places.collect::<Vec<_>>().join(", ");
    if finding.more > 0 {
        named = format!("{named} and {} more", finding.more);
    }
    output::say(&format!("{}: {named}\n  {}\n  next: {}", finding.kind, finding.message, finding.next));
}
