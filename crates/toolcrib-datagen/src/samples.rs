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

/// Returns a tool of the runtime with one required text.
fn runtime_tool(name: &str, argument: &str) -> ConversationTool {
    ConversationTool {
        name: QualifiedName::new("context_builder", name).unwrap(),
        description: format!("The tool {name} of the runtime."),
        parameters: json!({
            "type": "object",
            "properties": {argument: {"type": "string"}, "params": {"type": ["object", "null"]}},
            "required": [argument],
        }),
    }
}

/// Returns a tool with arguments in the forms that schemas of programs have: references, choices with null, lists of
/// objects, objects in objects.
fn order_tool() -> ConversationTool {
    ConversationTool {
        name: QualifiedName::new("shop", "order").unwrap(),
        description: "Orders things.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "customer": {"$ref": "#/$defs/Person"},
                "lines": {"type": "array", "items": {"type": "object", "properties": {
                    "article": {"type": "string"},
                    "count": {"type": "integer", "default": 1},
                }}},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
                "weight": {"type": ["number", "null"]},
                "speed": {"enum": ["slow", "fast"]},
                "gift": {},
            },
            "required": ["customer", "lines"],
            "$defs": {"Person": {"type": "object", "properties": {
                "name": {"type": "string"},
                "address": {"type": "object", "properties": {"city": {"type": "string"}}},
            }}},
        }),
    }
}

/// Returns a conversation of a kind without faults. Its calls use all forms of arguments.
pub(crate) fn of_kind(kind: Kind, seed: u64) -> Conversation {
    let mut random = Random::new(seed);
    let others = if seed.is_multiple_of(2) { 3 } else { 0 };
    let mut tools: Vec<ConversationTool> = (0..others).map(|number| tool(number, &mut random)).collect();
    tools.push(order_tool());
    let word = |random: &mut Random| (*random.choose(&WORDS).unwrap()).to_owned();
    // Not "fjord", which the user orders too.
    let article = (*random.choose(&WORDS[6..]).unwrap()).to_owned();
    let (name, city) = (word(&mut random), word(&mut random));
    let count = 2 + random.below(900);
    let order = |id: &str, article: &str| {
        let mut arguments = json!({
            "customer": {"name": name, "address": {"city": city}},
            "lines": [{"article": article, "count": count}],
        });
        if count.is_multiple_of(2) {
            arguments["speed"] = "fast".into();
            arguments["weight"] = count.into();
        }
        Call::new(id, "shop::order", arguments)
    };
    let asked =
        Message::user(format!("{name} from {city} orders {count} pieces of {article} and of fjord, fast."));
    let done = || Message::assistant("It is ordered.");
    let result = |id: &str| Message::result(id, json!({"order": format!("o-{seed}-{id}")}));
    let failed = |id: &str| Message::Tool { call_id: id.into(), content: "It failed.".into(), failed: true };
    let messages = match kind {
        Kind::Parallel => {
            let calls = [order("1", &article), order("2", "fjord")];
            vec![asked, Message::calls(calls), result("1"), result("2"), done()]
        }
        Kind::Nested => {
            let reused = json!({"customer": {"name": format!("o-{seed}-1")}, "lines": []});
            let second = Message::calls([Call::new("2", "shop::order", reused)]);
            vec![asked, Message::calls([order("1", &article)]), result("1"), second, result("2"), done()]
        }
        Kind::MultiTurn => return conversation(seed),
        Kind::MissingParameter | Kind::Ambiguous => {
            let question = Message::assistant("Which one?");
            let told = Message::user("Take the first one.");
            vec![asked, question, told, Message::calls([order("1", &article)]), result("1"), done()]
        }
        Kind::MissingTool | Kind::Irrelevant => vec![asked, Message::assistant("I cannot do that.")],
        Kind::Denied => vec![asked, Message::calls([order("1", &article)]), failed("1"), done()],
        Kind::ErrorRecovery => {
            let (wrong, right) = (order("1", "fjord"), order("2", &article));
            vec![asked, Message::calls([wrong]), failed("1"), Message::calls([right]), result("2"), done()]
        }
        Kind::LongResult => {
            tools.push(runtime_tool("read_result", "handle"));
            let read =
                Call::new("2", "context_builder::read_result", json!({"handle": format!("o-{seed}-1")}));
            let read = Message::calls([read]);
            vec![asked, Message::calls([order("1", &article)]), result("1"), read, result("2"), done()]
        }
        Kind::Discovery => {
            tools = vec![runtime_tool("search_tools", "query"), runtime_tool("execute_tool", "name")];
            let search = Call::new("1", "context_builder::search_tools", json!({"query": "orders"}));
            let params = order("", &article).arguments;
            let order = json!({"name": "shop.order", "params": params});
            let execute = Message::calls([Call::new("2", "context_builder::execute_tool", order)]);
            let found = Message::result("1", json!({"tools": ["shop.order"]}));
            vec![asked, Message::calls([search]), found, execute, result("2"), done()]
        }
        _ => vec![asked, Message::calls([order("1", &article)]), result("1"), done()],
    };
    Conversation { seed, tools, messages, ..Conversation::new(format!("{}_{seed}", kind.name()), kind) }
}
