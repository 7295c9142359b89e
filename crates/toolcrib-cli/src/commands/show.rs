//! `toolcrib show`.

use toolcrib_meta::ToolCard;

use super::{look, principal};
use crate::arguments::Show;
use crate::exit::{Exit, Failure};
use crate::output;

pub(crate) async fn run(arguments: &Show, json: bool) -> Result<Exit, Failure> {
    let runtime = look(&arguments.app).await?;
    let card = runtime.discovery().describe(&arguments.name, principal());
    let rejected = runtime.snapshot().rejected().to_vec();
    runtime.close().await;
    let card = card.inspect_err(|_| output::rejects(&rejected))?;
    if json {
        output::json(&card);
    } else {
        print(&card);
    }
    Ok(Exit::Ok)
}

fn print(card: &ToolCard) {
    output::say(&card.name);
    if !card.description.is_empty() {
        output::say(&format!("  {}", card.description.trim().replace('\n', "\n  ")));
    }
    for form in &card.forms {
        output::say(&format!("risk: {}   policy: {}", form.risk, output::effect_word(form.policy)));
        let schema = serde_json::to_string_pretty(&form.parameters).unwrap_or_default();
        output::say(&format!("parameters:\n{schema}"));
        if let Some(schema) = &form.output_parameters {
            output::say(&format!("result:\n{}", serde_json::to_string_pretty(schema).unwrap_or_default()));
        }
        if let Some(params) = form.example_call.as_ref().and_then(|call| call.get("params")) {
            output::say(&format!("example: toolcrib call APP {} '{params}'", card.name));
        }
    }
    for (argument, suppliers) in &card.suppliers {
        output::say(&format!("`{argument}` can come from: {}", suppliers.join(", ")));
    }
}
