//! `toolcrib load`.

use toolcrib_app::SourceRequest;
use toolcrib_app::sections::capabilities;
use toolcrib_policy::{Capabilities, Policy};
use toolcrib_port::RejectKind;
use toolcrib_registry::ToolRegistry;

use crate::app_start::{STARTUP_PATIENCE, exit_of_rejects};
use crate::arguments::Load;
use crate::exit::{Exit, Failure};
use crate::ui::output;

pub(crate) async fn run(arguments: Load, strict: bool, json: bool) -> Result<Exit, Failure> {
    let source = arguments.source;
    let request = match (source.file, source.openapi, source.mcp) {
        (Some(path), _, _) => SourceRequest::File(path),
        (_, Some(spec), _) => SourceRequest::OpenApi(spec),
        (_, _, Some(url)) if url.starts_with("http://") || url.starts_with("https://") => {
            SourceRequest::McpUrl(url)
        }
        (_, _, Some(line)) => SourceRequest::McpCommand(words(&line)?),
        _ => return Err(Failure::bad_input("name a source: --file, --openapi or --mcp")),
    };
    let source = request.open(arguments.namespace.as_deref(), STARTUP_PATIENCE)?;
    let registry = ToolRegistry::from_loaders([source.loader]).await;
    if let Some(engine) = source.engine {
        engine.close().await;
    }
    let snapshot = registry.snapshot();
    // There is no app, so this is the policy of one that says nothing.
    let rules = Capabilities::default();
    let policy = Policy::at(&capabilities::locations(), &rules, [])
        .map_err(|error| Failure::bad_input(error.to_string()))?;
    if json {
        output::snapshot_json(&snapshot, &policy, &rules, |_| true);
    } else {
        output::snapshot_lines(&snapshot, &policy, &rules, |_| true);
    }
    let has_duplicate = snapshot.rejected().iter().any(|reject| reject.kind == RejectKind::Duplicate);
    Ok(match exit_of_rejects(snapshot.rejected()) {
        Exit::Ok if strict && has_duplicate => Exit::BadInput,
        exit => exit,
    })
}

fn words(line: &str) -> Result<Vec<String>, Failure> {
    let words =
        shell_words::split(line).map_err(|error| Failure::bad_input(format!("--mcp `{line}`: {error}")))?;
    if words.is_empty() { Err(Failure::bad_input("--mcp needs a command line or a URL")) } else { Ok(words) }
}
