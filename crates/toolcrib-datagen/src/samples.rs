//! Random conversations without faults, for tests.

use serde_json::{Map, Value, json};
use toolcrib_model::QualifiedName;

use crate::conversation::{Call, Conversation, ConversationTool, Kind, Message};
use crate::seed::Random;

const WORDS: [&str; 24] = [
    "amber", "basil", "cedar", "delta", "ember", "fjord", "garnet", "harbor", "island", "jasper", "kettle",
    "lantern", "meadow", "nectar", "orchid", "pepper", "quartz", "raven", "saffron", "timber", "umbra",
    "velvet", "willow", "zephyr",
];

/// The names of arguments; the tool with number n has those from 4 n on.
const ARGUMENTS: [&str; 16] = [
    "city", "days", "price", "urgent", "tags", "owner", "limit", "ratio", "folder", "address", "level",
    "unit", "label", "room", "count", "start",
];

/// Returns a tool with up to four arguments, the first of which is required.
pub(crate) fn tool(number: usize, random: &mut Random) -> ConversationTool {
    let mut properties = Map::new();
    for name in ARGUMENTS.iter().skip(4 * (number % 4)).take(1 + random.below(4)) {
        let schema = match random.below(6) {
            0 => json!({"type": "string"}),
            1 => json!({"type": "integer"}),
            2 => json!({"type": "number"}),
            3 => json!({"type": "boolean"}),
            4 => json!({"type": "array", "items": {"type": "string"}}),
            _ => json!({"enum": ["low", "high"]}),
        };
        properties.insert((*name).to_owned(), schema);
    }
    let required: Vec<String> = properties.keys().take(1).cloned().collect();
    ConversationTool {
        name: QualifiedName::new(format!("space_{number}"), format!("act_{number}")).unwrap(),
        description: format!("Acts in space {number}."),
        parameters: json!({"type": "object", "properties": properties, "required": required}),
    }
}

/// Returns a value that a schema of [`tool`] accepts, and adds to the text what a user would say for it.
pub(crate) fn value(schema: &Value, random: &mut Random, said: &mut Vec<String>) -> Value {
    let word = |random: &mut Random| (*random.choose(&WORDS).unwrap()).to_owned();
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => {
            let text = format!("{} {}", word(random), word(random));
            said.push(text.clone());
            text.into()
        }
        Some("integer") => {
            let number = random.below(90_000);
            said.push(number.to_string());
            number.into()
        }
        Some("number") => {
            let number = f64::from(u32::try_from(random.below(100_000)).unwrap()) / 8.0;
            said.push(number.to_string());
            number.into()
        }
        Some("boolean") => random.chance(0.5).into(),
        Some("array") => {
            let words: Vec<String> = (0..=random.below(2)).map(|_| word(random)).collect();
            said.extend(words.iter().cloned());
            words.into()
        }
        _ => "low".into(),
    }
}

/// Returns a conversation with one to three turns, each with one to three calls in one message or after each other.
pub(crate) fn conversation(seed: u64) -> Conversation {
    let mut random = Random::new(seed);
    let tools: Vec<ConversationTool> =
        (0..2 + random.below(3)).map(|number| tool(number, &mut random)).collect();
    let mut messages = Vec::new();
    if random.chance(0.5) {
        messages.push(Message::System { content: "Use the tools.".to_owned() });
    }
    let mut number = 0;
    for _ in 0..=random.below(3) {
        let mut said = Vec::new();
        let mut calls: Vec<Call> = Vec::new();
        let count = 1 + random.below(2);
        for at in random.distinct(count, tools.len()) {
            let tool = &tools[at];
            let properties = tool.parameters["properties"].as_object().unwrap();
            let mut arguments = Map::new();
            for (at, (name, schema)) in properties.iter().enumerate() {
                if at == 0 || random.chance(0.5) {
                    arguments.insert(name.clone(), value(schema, &mut random, &mut said));
                }
            }
            number += 1;
            // Each value is new, so that no call repeats an earlier one.
            calls.push(Call::new(format!("call_{number}"), tool.name.to_string(), arguments.into()));
        }
        messages.push(Message::user(format!("Please act: {}.", said.join(", "))));
        let results: Vec<Message> = calls
            .iter()
            .map(|call| {
                Message::result(call.id.clone(), json!({"id": format!("r-{seed}-{}", call.id), "ok": true}))
            })
            .collect();
        if random.chance(0.5) {
            messages.push(Message::calls(calls));
            messages.extend(results);
        } else {
            for (call, result) in calls.into_iter().zip(results) {
                messages.push(Message::calls([call]));
                messages.push(result);
            }
        }
        messages.push(Message::assistant("Done."));
    }
    Conversation { seed, tools, messages, ..Conversation::new(format!("c{seed}"), Kind::MultiTurn) }
}
