//! `toolcrib search`.

use serde_json::Value;

use super::{look, principal};
use crate::arguments::Search;
use crate::exit::{Exit, Failure};
use crate::output;

pub(crate) async fn run(arguments: &Search, json: bool) -> Result<Exit, Failure> {
    let runtime = look(&arguments.app).await?;
    let found = runtime.discovery().search(&arguments.query, arguments.limit.into(), principal());
    output::rejects(runtime.snapshot().rejected());
    runtime.close().await;
    let found = found?;
    if json {
        let mut value = serde_json::to_value(&found).unwrap_or_default();
        if !arguments.explain {
            for result in value.get_mut("results").and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(map) = result.as_object_mut() {
                    map.insert("explain".into(), Value::Null);
                }
            }
        }
        output::json(&value);
        return Ok(Exit::Ok);
    }
    for (rank, tool) in (1..).zip(&found.results) {
        let line =
            format!("{rank:>2}. {} ({})  {}", tool.name, tool.risk, output::first_line(&tool.description));
        output::say(&line);
        if arguments.explain {
            output::say(&format!("    {}", serde_json::to_string(&tool.explain).unwrap_or_default()));
        }
    }
    if let Some(reason) = found.reason {
        output::say(&format!("no match: {reason}"));
        if !found.nearest.is_empty() {
            output::say(&format!("nearest: {}", found.nearest.join(", ")));
        }
    }
    Ok(Exit::Ok)
}
