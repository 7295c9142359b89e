//! `toolcrib show`.

use toolcrib_app::Extensions;
use toolcrib_meta::ToolCard;
use toolcrib_policy::Decision;

use crate::app_start::{app_word, look};
use crate::arguments::{Show, principal};
use crate::exit::{Exit, Failure};
use crate::{decision_display, ui::output};

pub(crate) async fn run(arguments: &Show, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let runtime = look(&arguments.app, extensions).await?;
    let card = runtime.discovery().inspect(&arguments.name, principal());
    let (snapshot, policy) = (runtime.snapshot(), runtime.executor().policy().clone());
    let rules = runtime.app().config.tools.capabilities.clone();
    runtime.close().await;
    let card = card.inspect_err(|_| output::rejects(snapshot.rejected()))?;
    // The overloads stand in the order of the card's forms.
    let overloads = snapshot.find(&card.name, |_| true).ok();
    let entries = overloads.iter().flat_map(toolcrib_registry::Overloads::iter);
    let decided: Vec<Decision> = entries.map(|entry| policy.decide(&entry.tool, principal())).collect();
    if json {
        let mut document = serde_json::to_value(&card).unwrap_or_default();
        let rows: Vec<_> =
            decided.iter().map(|decision| decision_display::to_json(decision, &rules)).collect();
        if let Some(map) = document.as_object_mut() {
            map.insert("decisions".into(), rows.into());
        }
        output::json(&document);
    } else {
        let words = decided.iter().map(|decision| {
            format!("{}, by {}", decision_display::in_words(decision, &rules), decision.rule)
        });
        print(&card, &words.collect::<Vec<_>>());
    }
    Ok(Exit::Ok)
}

fn print(card: &ToolCard, policies: &[String]) {
    output::say(&card.name);
    if let Some(title) = card.metadata.get("title").and_then(serde_json::Value::as_str) {
        output::say(&format!("  {title}"));
    }
    if !card.description.is_empty() {
        output::say(&format!("  {}", card.description.trim().replace('\n', "\n  ")));
    }
    for (position, form) in card.forms.iter().enumerate() {
        if let Some(description) = &form.description {
            output::say(&format!("another form of it:\n  {}", description.trim().replace('\n', "\n  ")));
        }
        let policy = policies.get(position).map_or_else(|| form.policy.as_str(), String::as_str);
        output::say(&format!("risk: {}   policy: {policy}", form.risk));
        if !form.shape_of.is_empty() {
            output::say(&format!("shape of: {}", form.shape_of.join(", ")));
        }
        let schema = serde_json::to_string_pretty(&form.parameters).unwrap_or_default();
        output::say(&format!("parameters:\n{schema}"));
        if let Some(schema) = &form.output_parameters {
            output::say(&format!("result:\n{}", serde_json::to_string_pretty(schema).unwrap_or_default()));
        }
        for unchecked in &form.unchecked {
            output::say(&format!("warning: {unchecked}"));
        }
        if let Some(params) = form.example_call.as_ref().and_then(|call| call.get("params")) {
            output::say(&format!("example: toolcrib call {} {} '{params}'", app_word(), card.name));
        }
    }
    for (argument, suppliers) in &card.suppliers {
        output::say(&format!("`{argument}` can come from: {}", suppliers.join(", ")));
    }
}
