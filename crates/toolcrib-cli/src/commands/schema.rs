//! `toolcrib schema`.

use serde_json::{Value, json};
use toolcrib_app::{Blueprint, Extensions, ModuleSchema};
use toolcrib_model::Tool;

use crate::arguments::Schema;
use crate::exit::{Exit, Failure};
use crate::ui::output;

/// The name of the app file in place of a module.
const APP: &str = "app";

pub(crate) fn run(arguments: &Schema, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    if arguments.module.as_deref() == Some(APP) {
        let schema = extensions.app_schema();
        if json {
            output::json(&schema);
        } else {
            output::say(&serde_json::to_string_pretty(&schema).unwrap_or_default());
        }
        return Ok(Exit::Ok);
    }
    let blueprint = match &arguments.app {
        Some(path) => crate::app_start::open(path, extensions)?,
        None => Blueprint::from_text_with("the command line", "", extensions.clone())?,
    };
    let Some(module) = &arguments.module else {
        list(&blueprint, json);
        return Ok(Exit::Ok);
    };
    let schema = blueprint.module_schema(module)?;
    if json {
        output::json(&document(&schema));
    } else {
        print(&schema);
    }
    Ok(Exit::Ok)
}

fn list(blueprint: &Blueprint, json: bool) {
    // A module that cannot be created without a configuration is listed without its description.
    let modules = blueprint.app.extensions.modules().map(|id| (id, blueprint.module_schema(id).ok()));
    if json {
        let module = |(id, schema): (&str, Option<ModuleSchema>)| {
            let (title, description) = schema.map(|schema| (schema.title, schema.description)).unzip();
            json!({"module": id, "title": title, "description": description})
        };
        output::json(&json!({"modules": modules.map(module).collect::<Vec<_>>()}));
    } else {
        output::say(&format!("{APP}: the app file itself"));
        for (id, schema) in modules {
            output::say(&format!("{id}: {}", schema.map_or_else(String::new, |schema| schema.description)));
        }
    }
}

fn document(schema: &ModuleSchema) -> Value {
    let action = |tool: &Tool| {
        json!({
            "name": tool.name.dotted(),
            "qualified_name": tool.name.to_string(),
            "description": tool.description,
            "risk": tool.traits().risk.as_str(),
            "parameters": tool.parameters,
            "output_parameters": tool.output_parameters,
            "metadata": tool.metadata(),
        })
    };
    json!({
        "module": schema.id,
        "title": schema.title,
        "description": schema.description,
        "config": schema.config,
        "actions": schema.actions.iter().map(action).collect::<Vec<_>>(),
    })
}

fn print(schema: &ModuleSchema) {
    let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    output::say(&format!("{}: {}", schema.id, schema.description));
    output::say(&format!("config:\n{}", pretty(&schema.config)));
    for tool in &schema.actions {
        output::say(&format!("\n{} ({} risk)", tool.name.dotted(), tool.traits().risk.as_str()));
        output::say(&format!("  {}", tool.description.trim().replace('\n', "\n  ")));
        output::say(&format!("parameters:\n{}", pretty(&tool.parameters.to_value())));
        if tool.output_parameters != json!({}) {
            output::say(&format!("result:\n{}", pretty(&tool.output_parameters.to_value())));
        }
    }
}
