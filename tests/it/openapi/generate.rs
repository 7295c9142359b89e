//! Makes arguments from a schema: the same ones in each run, from a seed.

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

use super::values;

/// How deep values go before only what must be there is made.
const MAX_OPTIONAL_DEPTH: usize = 5;

/// How deep values go at all.
const MAX_DEPTH: usize = 20;

/// How many values are made before only what must be there is made.
const MAX_VALUES: usize = 200;

/// Which arguments are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// What is required, plain.
    Minimal,
    /// Everything, plain.
    Full,
    /// Everything, with characters that mean something elsewhere.
    Nasty,
    /// Some of it, with texts that cannot be sent everywhere: empty ones, dots, control characters.
    Hostile,
}

/// Numbers that look random and are the same in each run.
pub(super) struct Random(u64);

impl Random {
    /// From any text.
    pub(super) fn new(seed: &str) -> Self {
        Self(seed.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than the bound, which is not zero.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap_or(0)
    }

    pub(super) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Makes values for one schema.
pub(super) struct Generator<'a> {
    pub(super) root: &'a Value,
    pub(super) mode: Mode,
    pub(super) random: Random,
    pub(super) made: usize,
    /// Leaves out what may be left out, where all of it does not fit together.
    pub(super) spare: bool,
}

impl Generator<'_> {
    /// A value for a schema; none where there can be none, or none can be found.
    pub(super) fn value(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        self.made += 1;
        if depth > MAX_DEPTH {
            return None;
        }
        let schema = self.flat(schema, 0)?;
        if let Some(value) = schema.get("const") {
            return Some(value.clone());
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            let fits: Vec<&Value> = values.iter().filter(|value| has_type(&schema, value)).collect();
            return match (fits.as_slice(), self.mode) {
                ([], _) => None,
                ([first, ..], Mode::Minimal) => Some((*first).clone()),
                (some, _) => Some((*self.random.pick(some)).clone()),
            };
        }
        match self.kind(&schema).as_str() {
            "object" => self.object(&schema, depth),
            "array" => self.array(&schema, depth),
            "integer" => Some(self.integer(&schema)),
            "number" => Some(self.number(&schema)),
            "boolean" => Some((self.random.below(2) == 0).into()),
            "null" => Some(Value::Null),
            _ => self.text(&schema).map(Value::from),
        }
    }

    fn kind(&mut self, schema: &Map<String, Value>) -> String {
        let has = |keys: &[&str]| keys.iter().any(|key| schema.contains_key(*key));
        let implied = || {
            if has(&["properties", "required", "minProperties"]) {
                "object"
            } else if has(&["items", "prefixItems", "minItems"]) {
                "array"
            } else if has(&["minimum", "maximum", "multipleOf", "exclusiveMinimum"]) {
                "number"
            } else {
                "string"
            }
        };
        match schema.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            Some(Value::Array(kinds)) => {
                let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
                let plain: Vec<&str> = kinds.iter().copied().filter(|kind| *kind != "null").collect();
                match (plain.as_slice(), self.mode) {
                    ([], _) => "null".to_owned(),
                    // Null is a value like any other, now and then.
                    (_, Mode::Hostile) => (*self.random.pick(&kinds)).to_owned(),
                    (some, _) => (*self.random.pick(some)).to_owned(),
                }
            }
            _ => implied().to_owned(),
        }
    }

    /// A schema without references and parts: all that has to hold, side by side.
    fn flat(&mut self, schema: &Value, hops: usize) -> Option<Map<String, Value>> {
        let map = match schema {
            Value::Object(map) => map,
            Value::Bool(false) => return None,
            _ => return Some(Map::new()),
        };
        if hops > MAX_DEPTH {
            return None;
        }
        let mut out = map.clone();
        for key in ["$ref", "allOf", "oneOf", "anyOf"] {
            out.remove(key);
        }
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            let root = self.root;
            let target = root.pointer(reference.strip_prefix('#')?)?;
            let part = self.flat(target, hops + 1)?;
            merge(&mut out, part)?;
        }
        for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            let part = self.flat(part, hops + 1)?;
            merge(&mut out, part)?;
        }
        for key in ["oneOf", "anyOf"] {
            let Some(options) = map.get(key).and_then(Value::as_array).filter(|list| !list.is_empty()) else {
                continue;
            };
            let mut start = self.random.below(options.len());
            // A null says little: it is made where nothing else can be, or now and then.
            if options[start].get("type") == Some(&"null".into()) && self.mode != Mode::Hostile {
                start += 1;
            }
            let order = (0..options.len()).map(|step| &options[(start + step) % options.len()]);
            let base = out;
            out = order.into_iter().find_map(|option| {
                let mut whole = base.clone();
                let part = self.flat(option, hops + 1)?;
                merge(&mut whole, part)?;
                Some(whole)
            })?;
        }
        Some(out)
    }

    fn is_sparing(&self, depth: usize) -> bool {
        self.spare || self.mode == Mode::Minimal || depth > MAX_OPTIONAL_DEPTH || self.made > MAX_VALUES
    }

    fn object(&mut self, schema: &Map<String, Value>, depth: usize) -> Option<Value> {
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let more = schema.get("additionalProperties").unwrap_or(&Value::Bool(true));
        let mut out = Map::new();
        for (name, property) in properties {
            if required.contains(&name.as_str()) {
                out.insert(name.clone(), self.value(property, depth + 1)?);
            } else if !self.is_sparing(depth)
                && (self.mode != Mode::Hostile || self.random.below(2) == 0)
                && let Some(value) = self.value(property, depth + 1)
            {
                out.insert(name.clone(), value);
            }
        }
        for name in required.iter().filter(|name| !properties.contains_key(**name)) {
            out.insert((*name).to_owned(), self.value(more, depth + 1)?);
        }
        let wanted = size(schema, "minProperties").unwrap_or(0);
        let extra = if properties.is_empty() && !self.is_sparing(depth) { wanted.max(2) } else { wanted };
        let most = size(schema, "maxProperties").unwrap_or(usize::MAX);
        for number in 0..extra {
            if out.len() >= extra.min(most) || more == &Value::Bool(false) {
                break;
            }
            let key = match (schema.get("propertyNames").cloned(), self.mode) {
                (Some(names), _) => self.value(&names, depth + 1)?.as_str()?.to_owned(),
                (None, Mode::Nasty | Mode::Hostile) => (*self.random.pick(&values::KEYS)).to_owned(),
                _ => format!("key{number}"),
            };
            let value = self.value(more, depth + 1)?;
            out.insert(key, value);
        }
        Some(out.into())
    }

    fn array(&mut self, schema: &Map<String, Value>, depth: usize) -> Option<Value> {
        let least = size(schema, "minItems").unwrap_or(0);
        let most = size(schema, "maxItems").unwrap_or(usize::MAX);
        let wanted = match self.mode {
            _ if self.is_sparing(depth) => least,
            Mode::Hostile => self.random.below(3),
            _ => 1 + self.random.below(3),
        };
        let first = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let rest = schema.get("items").unwrap_or(&Value::Bool(true));
        let mut out: Vec<Value> = Vec::new();
        for index in 0..wanted.max(least).min(most) {
            let Some(item) = self.value(first.get(index).unwrap_or(rest), depth + 1) else { break };
            if schema.get("uniqueItems") != Some(&Value::Bool(true)) || !out.contains(&item) {
                out.push(item);
            }
        }
        (out.len() >= least).then(|| out.into())
    }

    fn integer(&mut self, schema: &Map<String, Value>) -> Value {
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        let least =
            bound("minimum").map(f64::ceil).or(bound("exclusiveMinimum").map(|bound| bound.floor() + 1.0));
        let most =
            bound("maximum").map(f64::floor).or(bound("exclusiveMaximum").map(|bound| bound.ceil() - 1.0));
        let step = bound("multipleOf").filter(|step| *step >= 1.0).unwrap_or(1.0);
        let pool: &[f64] = match self.mode {
            Mode::Minimal => &[1.0],
            Mode::Full => &[2.0, 7.0, 40.0, 365.0],
            _ => &[0.0, -1.0, 255.0, -2_147_483_648.0, 2_147_483_647.0],
        };
        let drawn = self.random.pick(pool) * step;
        let chosen = within(drawn, least, most);
        let chosen = (chosen / step).ceil() * step;
        let chosen = if most.is_some_and(|most| chosen > most) { chosen - step } else { chosen };
        serde_json::from_str(&format!("{chosen:.0}")).map_or(json!(1), |value: Value| match value.as_f64() {
            Some(0.0) => json!(0),
            _ => value,
        })
    }

    fn number(&mut self, schema: &Map<String, Value>) -> Value {
        if schema.contains_key("multipleOf") {
            return self.integer(schema);
        }
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        let pool: &[f64] = match self.mode {
            Mode::Minimal => &[1.0],
            Mode::Full => &[1.5, 12.25, 3.0],
            _ => &[0.0, -0.125, 1e-7, 1e21, 123_456_789.5],
        };
        let least = bound("minimum").or(bound("exclusiveMinimum").map(|bound| bound + 0.5));
        let most = bound("maximum").or(bound("exclusiveMaximum").map(|bound| bound - 0.5));
        within(*self.random.pick(pool), least, most).into()
    }

    fn text(&mut self, schema: &Map<String, Value>) -> Option<String> {
        let least = size(schema, "minLength").unwrap_or(0);
        let most = size(schema, "maxLength").unwrap_or(usize::MAX);
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
            return self.matching(pattern, least, most);
        }
        let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
        if let Some(examples) = values::of_format(format) {
            return Some((*self.random.pick(examples)).to_owned());
        }
        if schema.get("contentEncoding").is_some_and(|encoding| encoding == "base64") {
            return Some((*self.random.pick(&values::BASE64)).to_owned());
        }
        let pool: &[&str] = match self.mode {
            Mode::Minimal => &["x"],
            Mode::Full => &values::PLAIN,
            Mode::Nasty => &values::NASTY,
            Mode::Hostile => &values::HOSTILE,
        };
        let mut text = (*self.random.pick(pool)).to_owned();
        while text.chars().count() < least {
            text.push('x');
        }
        Some(text.chars().take(most).collect())
    }

    /// A text that a pattern matches as a whole.
    fn matching(&mut self, pattern: &str, least: usize, most: usize) -> Option<String> {
        let body = pattern.trim_start_matches('^');
        let body = body.strip_suffix('$').filter(|rest| !rest.ends_with('\\')).unwrap_or(body);
        let body =
            braces_escaped(body).replace("\\d", "[0-9]").replace("\\w", "[A-Za-z0-9_]").replace("\\s", "[ ]");
        let strategy = proptest::string::string_regex(&body).ok()?;
        let mut seed = [0_u8; 32];
        for chunk in seed.chunks_mut(8) {
            chunk.copy_from_slice(&self.random.next().to_le_bytes());
        }
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let fits = |text: &String| (least..=most).contains(&text.chars().count());
        (0..20).find_map(|_| Some(strategy.new_tree(&mut runner).ok()?.current()).filter(fits))
    }
}

/// A brace that counts nothing is itself in the dialect of schemas, and has to be escaped in ours.
fn braces_escaped(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let count = rest.find('}').filter(|_| c == '{').and_then(|end| rest.get(..=end));
        let is_count =
            |text: &&str| text.trim_matches(['{', '}']).chars().all(|c| c.is_ascii_digit() || c == ',');
        let length = if c == '\\' { 1 + rest.chars().nth(1).map_or(0, char::len_utf8) } else { c.len_utf8() };
        let taken = match count.filter(is_count) {
            Some(count) if count.len() > 2 => count.len(),
            _ => length,
        };
        if taken == 1 && (c == '{' || c == '}') {
            out.push('\\');
        }
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out
}

fn within(number: f64, least: Option<f64>, most: Option<f64>) -> f64 {
    number.max(least.unwrap_or(f64::MIN)).min(most.unwrap_or(f64::MAX))
}

fn size(schema: &Map<String, Value>, key: &str) -> Option<usize> {
    schema.get(key)?.as_u64().and_then(|number| usize::try_from(number).ok())
}

fn has_type(schema: &Map<String, Value>, value: &Value) -> bool {
    let is = |kind: &str| match kind {
        "string" => value.is_string(),
        "integer" | "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => value.is_null(),
    };
    match schema.get("type") {
        Some(Value::String(kind)) => is(kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}

/// Adds what another schema demands; none when both cannot hold.
fn merge(out: &mut Map<String, Value>, part: Map<String, Value>) -> Option<()> {
    for (key, value) in part {
        let Some(old) = out.get(&key).cloned() else {
            out.insert(key, value);
            continue;
        };
        let both = match (key.as_str(), old, value) {
            ("properties", Value::Object(mut old), Value::Object(new)) => {
                for (name, schema) in new {
                    let whole = match old.remove(&name) {
                        Some(known) if known != schema => json!({"allOf": [known, schema]}),
                        _ => schema,
                    };
                    old.insert(name, whole);
                }
                Value::Object(old)
            }
            ("required", Value::Array(mut old), Value::Array(new)) => {
                old.extend(new);
                Value::Array(old)
            }
            ("enum", Value::Array(old), Value::Array(new)) => {
                Value::Array(old.into_iter().filter(|value| new.contains(value)).collect())
            }
            ("type", old, new) => {
                let list = |kinds: Value| if let Value::Array(kinds) = kinds { kinds } else { vec![kinds] };
                let new = list(new);
                let common: Vec<Value> = list(old)
                    .into_iter()
                    .filter(|kind| {
                        new.contains(kind) || (kind == "integer" && new.contains(&"number".into()))
                    })
                    .collect();
                if common.is_empty() {
                    return None;
                }
                Value::Array(common)
            }
            ("minimum" | "minLength" | "minItems" | "minProperties", old, new) => {
                if old.as_f64() > new.as_f64() { old } else { new }
            }
            ("maximum" | "maxLength" | "maxItems" | "maxProperties", old, new) => {
                if old.as_f64() < new.as_f64() { old } else { new }
            }
            ("additionalProperties", Value::Bool(false), _) => Value::Bool(false),
            (_, _, new) => new,
        };
        out.insert(key, both);
    }
    Some(())
}
