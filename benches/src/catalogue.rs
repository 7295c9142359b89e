//! Generated tools that resemble real ones, identical in each run.

use serde_json::{Map, Value, json};

const SERVICES: [&str; 16] = [
    "billing", "calendar", "catalog", "chat", "deploy", "files", "fleet", "forms", "identity", "mail",
    "maps", "metrics", "orders", "payroll", "tickets", "weather",
];
const VERBS: [&str; 12] = [
    "create", "update", "delete", "get", "list", "search", "export", "import", "archive", "assign",
    "approve", "compare",
];
const NOUNS: [&str; 20] = [
    "invoice", "customer", "event", "report", "vehicle", "shipment", "address", "payment", "document",
    "project", "comment", "account", "product", "schedule", "template", "message", "contract", "location",
    "device", "budget",
];
const WORDS: [&str; 24] = [
    "the",
    "of",
    "for",
    "with",
    "from",
    "current",
    "selected",
    "identifier",
    "only",
    "when",
    "given",
    "otherwise",
    "all",
    "matching",
    "results",
    "are",
    "returned",
    "in",
    "order",
    "by",
    "date",
    "which",
    "must",
    "exist",
];
const UNITS: [&str; 8] = ["id", "name", "date", "count", "status", "region", "limit", "filter"];

/// The minimum number of arguments of a tool.
const MIN_PROPERTIES: usize = 3;

/// The maximum number of further arguments.
const MORE_PROPERTIES: usize = 8;

/// Returns this number of tool definitions with distinct names. Each has three to ten arguments, more often few than
/// many. One argument in twenty is an object with members, one in ten may be null, and one in a hundred has a pattern.
/// The schema of one tool in twenty refers to a part of itself. A tool takes about 900 bytes, somewhat more than in
/// public collections.
pub fn tools(count: usize) -> Vec<Value> {
    (0..count).map(tool).collect()
}

/// Returns the schema of an object with this number of properties.
pub fn schema(seed: usize, properties: usize) -> Value {
    Random::new(seed).object(properties, 0)
}

fn tool(number: usize) -> Value {
    let mut random = Random::new(number);
    let service = random.pick(&SERVICES);
    let (verb, noun) = (random.pick(&VERBS), random.pick(&NOUNS));
    let properties = MIN_PROPERTIES + random.below(MORE_PROPERTIES).min(random.below(MORE_PROPERTIES));
    let mut tool = json!({
        "name": format!("{verb}_{noun}_{number}"),
        "namespace": format!("{service}_{}", number % 12),
        "description": format!("{verb} {noun}: {}.", random.words(14)),
        "parameters": random.object(properties, 0),
    });
    if random.below(4) == 0 {
        insert(&mut tool, "/output_parameters", random.object(3, 1));
    }
    if random.below(20) == 0 {
        insert(&mut tool, "/parameters/$defs", json!({"page": random.object(2, 2)}));
        insert(&mut tool, "/parameters/properties/page", json!({"$ref": "#/$defs/page"}));
    }
    tool
}

/// Inserts a member at a JSON pointer.
fn insert(value: &mut Value, pointer: &str, member: Value) {
    if let Some((parent, key)) = pointer.rsplit_once('/')
        && let Some(Value::Object(map)) = value.pointer_mut(parent)
    {
        map.insert(key.into(), member);
    }
}

/// A generator of pseudo-random numbers, which are the same in each run.
struct Random(u64);

impl Random {
    fn new(seed: usize) -> Self {
        // Small seeds are close together; this spreads them.
        Self((seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Returns the next number of the generator "xorshift64".
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or_default() % bound.max(1)
    }

    fn pick<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts.get(self.below(texts.len())).copied().unwrap_or_default()
    }

    fn words(&mut self, count: usize) -> String {
        let words: Vec<_> = (0..count).map(|_| self.pick(&WORDS)).collect();
        words.join(" ")
    }

    fn object(&mut self, count: usize, depth: usize) -> Value {
        let mut properties = Map::new();
        while properties.len() < count {
            let name = format!("{}_{}", self.pick(&NOUNS), self.pick(&UNITS));
            let schema = self.property(depth);
            properties.insert(name, schema);
        }
        let required: Vec<_> = properties.keys().take(count / 3).cloned().collect();
        json!({"type": "object", "properties": properties, "required": required})
    }

    fn property(&mut self, depth: usize) -> Value {
        let description = self.words(9);
        match self.below(100) {
            0..45 => json!({"type": "string", "description": description}),
            45..52 => json!({"type": "string", "description": description, "minLength": 1, "maxLength": 200}),
            52..67 => json!({"type": "integer", "description": description, "minimum": 0, "maximum": 1000}),
            67..70 => json!({"type": "number", "description": description}),
            70..75 => json!({"type": "boolean", "description": description, "default": false}),
            75..79 => json!({"type": "string", "description": description, "enum": UNITS}),
            79..84 => json!({"type": "array", "description": description, "items": {"type": "string"}}),
            84 => json!({"type": "string", "description": description, "pattern": "^[a-z][a-z0-9_-]{2,40}$"}),
            85..95 => {
                let types = json!([{"type": "string"}, {"type": "null"}]);
                json!({"anyOf": types, "description": description, "default": null})
            }
            95.. if depth < 2 => {
                let members = 2 + self.below(3);
                self.object(members, depth + 1)
            }
            _ => json!({"type": "string", "format": "date-time", "description": description}),
        }
    }
}
