//! A model that answers the prompts of data generation by rules.
#![expect(
    clippy::indexing_slicing,
    reason = "a JSON value without the key is null, and the other indices are remainders"
)]

use serde_json::{Map, Value, json};

const WORDS: [&str; 8] = ["amber", "basil", "cedar", "delta", "ember", "fjord", "garnet", "harbor"];

/// Returns the reply to a prompt of data generation: a JSON object that depends on the context at the end of the prompt
/// alone. A text without a context is no such prompt; its reply is empty.
pub fn teach(prompt: &str) -> String {
    let context = prompt.rfind("```json").and_then(|begin| prompt.get(begin + "```json".len()..));
    let context = context.and_then(|text| text.split("```").next());
    let context: Value = context.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let turn = context["turn"].as_u64().unwrap_or_default();
    let reply = match context["stage"].as_str().unwrap_or_default() {
        "persona" => json!({"persona": "A clerk who writes briefly."}),
        "scenario" => json!({"scenario": "The clerk works through a list."}),
        // The plan follows from what the second planner sees too.
        "plan" | "verify" => json!({"calls": plan(&context)}),
        "utterance" => json!({"message": utterance(&context, turn)}),
        "clarify" => {
            let omitted = context["omitted"].as_str().unwrap_or_default();
            let value = said(&context["plan"][0]["arguments"][omitted]);
            json!({"question": "Which one do you mean?", "reply": format!("I mean {value}.")})
        }
        "error_turn" => error_turn(&context),
        "answer" => json!({"answer": "This is what I found."}),
        "filter" => json!({"keep": true, "reason": "It is consistent."}),
        "preference" => json!({"answer": "I do not know."}),
        _ => return String::new(),
    };
    reply.to_string()
}

fn plan(context: &Value) -> Vec<Value> {
    let Some(tools) = context["tools"].as_array().filter(|tools| !tools.is_empty()) else {
        return Vec::new();
    };
    let item = context["item"].as_u64().unwrap_or_default();
    let number = item * 16 + context["turn"].as_u64().unwrap_or_default() * 4;
    let call = |number: u64| {
        let tool = &tools[usize::try_from(number).unwrap_or_default() % tools.len()];
        json!({"name": tool["name"], "arguments": arguments(&tool["parameters"], number)})
    };
    match context["kind"].as_str().unwrap_or_default() {
        "parallel" => vec![call(number), call(number + 1)],
        "nested" => {
            let mut second = call(number + 1);
            if let Some(value) = second["arguments"].as_object_mut().and_then(|map| map.values_mut().next()) {
                *value = json!("$1.id");
            }
            vec![call(number), second]
        }
        _ => vec![call(number)],
    }
}

/// Returns a value for each required argument.
fn arguments(schema: &Value, number: u64) -> Value {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let values = required.enumerate().map(|(at, name)| {
        let at = number + at as u64;
        let schema = &schema["properties"][name];
        let value = match (schema["enum"].get(0), schema["type"].as_str()) {
            (Some(first), _) => first.clone(),
            (_, Some("integer" | "number")) => (100 + at).into(),
            (_, Some("boolean")) => true.into(),
            (_, Some("array")) => json!([text(at)]),
            _ => text(at).into(),
        };
        (name.to_owned(), value)
    });
    Value::Object(values.collect::<Map<_, _>>())
}

fn text(number: u64) -> String {
    let word = WORDS[usize::try_from(number).unwrap_or_default() % WORDS.len()];
    format!("{word} {number}")
}

fn utterance(context: &Value, turn: u64) -> String {
    let omitted = context["omitted"].as_str();
    let calls = context["plan"].as_array().into_iter().flatten();
    let values: Vec<String> = calls
        .flat_map(|call| call["arguments"].as_object().into_iter().flatten())
        .filter(|(name, value)| Some(name.as_str()) != omitted && !said(value).starts_with('$'))
        .map(|(_, value)| said(value))
        .collect();
    if values.is_empty() {
        return format!("Please help me with request number {}.", turn + 1);
    }
    format!("Please take care of {}.", values.join(" and "))
}

/// Returns a value as a user says it.
fn said(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(said).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Returns the planned call with the first word of its texts.
fn error_turn(context: &Value) -> Value {
    let mut call = context["plan"][0].clone();
    for value in call["arguments"].as_object_mut().into_iter().flat_map(|map| map.values_mut()) {
        if let Some(word) = value.as_str().and_then(|text| text.split(' ').next()) {
            *value = word.into();
        }
    }
    json!({"call": call, "error": "There is no such entry. Give the whole text."})
}
