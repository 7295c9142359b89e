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
        "search" => json!({"query": query(&context)}),
        "clarify" => clarify(&context),
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
        "ambiguous" => {
            let mut second = call(number);
            if let Some(value) = second["arguments"].as_object_mut().and_then(|map| map.values_mut().next()) {
                *value = other(value, number);
            }
            vec![call(number), second]
        }
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

/// Returns another value of the same type.
fn other(value: &Value, number: u64) -> Value {
    match value {
        Value::String(_) => text(number + 3).into(),
        Value::Number(_) => (200 + number).into(),
        Value::Bool(value) => (!value).into(),
        other => other.clone(),
    }
}

fn utterance(context: &Value, turn: u64) -> String {
    let omitted = context["omitted"].as_str();
    let alternative = context["alternative"]["arguments"].as_object();
    // What an ambiguous message says fits the other call too.
    let is_shared =
        |name: &str, value: &Value| alternative.is_none_or(|other| other.get(name) == Some(value));
    let calls = context["plan"].as_array().into_iter().flatten();
    let values: Vec<String> = calls
        .flat_map(|call| call["arguments"].as_object().into_iter().flatten())
        .filter(|(name, value)| Some(name.as_str()) != omitted && !said(value).starts_with('$'))
        .filter(|(name, value)| is_shared(name, value))
        .map(|(_, value)| said(value))
        .collect();
    if values.is_empty() {
        // No two requests are similar.
        let number = context["item"].as_u64().unwrap_or_default() * 16 + turn;
        let words: Vec<String> = (0..6).map(|at| text(number * 7 + at * at)).collect();
        return format!("What do you think of {}?", words.join(", "));
    }
    let mut tools = context["tools"].as_array().into_iter().flatten();
    let tool = tools.find(|tool| tool["name"] == context["plan"][0]["name"]);
    let task = tool.and_then(|tool| tool["description"].as_str()).unwrap_or("Please take care of this.");
    format!("{}: {}.", task.trim_end_matches('.'), values.join(" and "))
}

/// Returns the words before the values of the last message of the user.
fn query(context: &Value) -> String {
    let messages = context["conversation"].as_array().into_iter().flatten();
    let mut asked = messages.filter(|message| message["role"] == "user");
    let words = asked.next_back().and_then(|message| message["content"].as_str()?.split(':').next());
    words.unwrap_or_default().to_owned()
}

fn clarify(context: &Value) -> Value {
    let arguments = context["plan"][0]["arguments"].as_object();
    let values: Vec<String> = match context["omitted"].as_str() {
        Some(omitted) => vec![said(&context["plan"][0]["arguments"][omitted])],
        None => arguments.into_iter().flat_map(|arguments| arguments.values().map(said)).collect(),
    };
    json!({"question": "Which one do you mean?", "reply": format!("I mean {}.", values.join(" and "))})
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
