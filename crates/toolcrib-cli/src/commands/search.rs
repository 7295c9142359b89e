//! `toolcrib search`.

use serde_json::Value;
use toolcrib_app::Extensions;
use toolcrib_search::embedding::Embeddings;
use toolcrib_search::{Explain, RetrieverScore};

use crate::app_start::look;
use crate::arguments::{Search, principal};
use crate::exit::{Exit, Failure};
use crate::ui::output;

pub(crate) async fn run(arguments: &Search, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let runtime = look(&arguments.app, extensions).await?;
    let (discovery, query, limit) = (runtime.discovery(), &arguments.query, arguments.limit.into());
    let found = match &arguments.namespace {
        Some(namespace) => discovery.search_namespace(namespace, query, limit, principal()),
        None => discovery.search(query, limit, principal()),
    };
    let snapshot = runtime.snapshot();
    output::rejects(snapshot.rejected());
    if let Some(error) =
        snapshot.artifacts().get::<Embeddings>(Embeddings::KEY).and_then(|made| made.degraded())
    {
        output::tell(&format!("warning: semantic search is degraded: {error}"));
    }
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
            explain(&tool.explain);
        }
    }
    let is_weak = found.outcome == "weak";
    if let Some(reason) = found.reason {
        let outcome = if is_weak { "weak match" } else { "no match" };
        output::say(&format!("{outcome} ({reason}): {}", told_reason(reason, found.withheld)));
    } else if is_weak {
        output::say("weak match: these come nearest, but may not fit");
    }
    if !found.nearest.is_empty() {
        output::say(&format!("nearest: {}", found.nearest.join(", ")));
    }
    Ok(Exit::Ok)
}

/// Returns the reason why nothing was found, for people.
fn told_reason(reason: &str, withheld: usize) -> String {
    match reason {
        "empty_query" => "the query has no word in it".into(),
        "source_down" => "nothing that is there fits, and a source is down that may have it".into(),
        "needs_login" => "nothing that is there fits, and a source that may have it waits for a login".into(),
        "quarantined" => "a tool of that name is held back, since it is not the one that was approved".into(),
        "not_permitted" => format!("tools fit that may not be used: {withheld}"),
        _ => "nothing is like it".into(),
    }
}

/// Prints the reasons why a tool was found, a line for each retriever.
fn explain(explain: &Explain) {
    if explain.exact {
        output::say("    the query names it");
    }
    for (arm, place) in [("keyword", explain.keyword), ("meaning", explain.meaning)] {
        output::say(&format!("    {arm}: {}", place.map_or_else(|| "not found".to_owned(), told)));
    }
    output::say(&format!("    together: {:.3}", explain.fused));
    if !explain.terms.is_empty() {
        let fields: Vec<String> = explain.fields.iter().map(ToString::to_string).collect();
        output::say(&format!("    words: {} in {}", explain.terms.join(", "), fields.join(", ")));
    }
}

fn told(place: RetrieverScore) -> String {
    let rank = place.rank.map_or_else(|| "not among the best".to_owned(), |rank| format!("rank {rank}"));
    format!("{rank}, score {:.3}, counts {:.3} × {:.2}", place.score, place.share, place.weight)
}
