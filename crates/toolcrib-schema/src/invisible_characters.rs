//! Invisible characters in schemas: bidirectional controls, zero-width characters, tags, escape sequences.
//!
//! A model reads them in titles, descriptions and examples, but a person who approves the tool does not see them. Such
//! texts are cleaned. Names of arguments and values of `enum` and `const` must be sent back verbatim and cannot be cleaned;
//! invisible characters in them are an error.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use toolcrib_model::text::{is_hidden, visible_text};
use toolcrib_model::tool::Definition;

use crate::limits::MAX_SCHEMA_DEPTH;
use crate::schema_cost::Subschemas;

/// A name or a value with hidden characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} `{}` has the invisible character U+{:04X}, and cannot be changed without changing the schema", shown(.text), first(.text))]
pub struct HiddenCharacter {
    /// The role of the text in the schema, such as "the property".
    what: &'static str,
    text: String,
}

fn shown(text: &str) -> String {
    visible_text(text).into_owned()
}

fn first(text: &str) -> u32 {
    text.chars().find(|c| is_hidden(*c)).map_or(0, u32::from)
}

/// Returns the schema without hidden characters; `None` when it has none.
///
/// Texts that describe are cleaned, examples and defaults with hidden characters are left out, and patterns get them as
/// escapes. Schemas deeper than [`MAX_SCHEMA_DEPTH`] stay as they are below that: they compile in no case.
pub fn without_hidden(schema: &Value) -> Result<Option<Value>, HiddenCharacter> {
    if has_hidden(schema) { cleaned(schema, 0).map(Some) } else { Ok(None) }
}

/// Returns a definition without hidden characters; `None` when it has none.
pub fn definition_without_hidden(definition: &Definition) -> Result<Option<Definition>, HiddenCharacter> {
    exact("the property or definition", &definition.name)?;
    let schema = without_hidden(&definition.schema)?;
    Ok(schema.map(|schema| Definition { name: definition.name.clone(), schema }))
}

/// Returns data without hidden characters in its texts; `None` when it has none.
pub fn visible_data(value: &Value) -> Option<Value> {
    has_hidden(value).then(|| text_of(value))
}

/// Returns true if any text or name has a hidden character. Not recursive, since the depth has not been checked yet.
fn has_hidden(value: &Value) -> bool {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::String(text) if is_dirty(text) => return true,
            Value::Array(items) => pending.extend(items),
            Value::Object(map) => {
                if map.keys().any(|key| is_dirty(key)) {
                    return true;
                }
                pending.extend(map.values());
            }
            _ => {}
        }
    }
    false
}

fn is_dirty(text: &str) -> bool {
    text.chars().any(is_hidden)
}

fn cleaned(schema: &Value, depth: usize) -> Result<Value, HiddenCharacter> {
    let Value::Object(map) = schema else { return Ok(text_of(schema)) };
    if depth > MAX_SCHEMA_DEPTH {
        return Ok(schema.clone());
    }
    let one = |value: &Value| cleaned(value, depth + 1);
    let list = |value: &Value| match value {
        Value::Array(items) => items.iter().map(one).collect(),
        other => one(other),
    };
    let mut out = Map::new();
    for (key, value) in map {
        let value = match key.as_str() {
            "patternProperties" => named(value, one, pattern)?,
            // A schema, or a list of names.
            "dependencies" => named(value, list, |name| exact("the property", name))?,
            "enum" | "const" => exact_values("the value", value)?,
            "required" | "dependentRequired" => exact_values("the property", value)?,
            "$anchor" | "$dynamicAnchor" | "$dynamicRef" | "$id" | "$ref" => {
                exact_values("the reference", value)?
            }
            "pattern" => match value {
                Value::String(text) => pattern(text)?.into(),
                other => text_of(other),
            },
            "default" | "example" if has_hidden(value) => continue,
            "examples" => match value {
                Value::Array(items) => {
                    Value::Array(items.iter().filter(|item| !has_hidden(item)).cloned().collect())
                }
                other => text_of(other),
            },
            _ => match Subschemas::of_keyword(key) {
                Some(Subschemas::Named) => {
                    named(value, one, |name| exact("the property or definition", name))?
                }
                Some(Subschemas::OneOrList) => list(value)?,
                Some(Subschemas::One) => one(value)?,
                None => text_of(value),
            },
        };
        out.insert(visible_text(key).into_owned(), value);
    }
    Ok(Value::Object(out))
}

/// Cleans each of several schemas that have names.
fn named(
    value: &Value,
    clean: impl Fn(&Value) -> Result<Value, HiddenCharacter>,
    rename: impl Fn(&str) -> Result<String, HiddenCharacter>,
) -> Result<Value, HiddenCharacter> {
    let Value::Object(map) = value else { return Ok(text_of(value)) };
    let cleaned = map.iter().map(|(name, schema)| Ok((rename(name)?, clean(schema)?)));
    cleaned.collect::<Result<Map<_, _>, _>>().map(Value::Object)
}

/// Returns a text that has to stay as it is.
fn exact(what: &'static str, text: &str) -> Result<String, HiddenCharacter> {
    if is_dirty(text) { Err(HiddenCharacter { what, text: text.to_owned() }) } else { Ok(text.to_owned()) }
}

/// Returns a value in which each text and name has to stay as it is.
fn exact_values(what: &'static str, value: &Value) -> Result<Value, HiddenCharacter> {
    match first_dirty(value) {
        Some(text) => Err(HiddenCharacter { what, text: text.to_owned() }),
        None => Ok(value.clone()),
    }
}

fn first_dirty(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => is_dirty(text).then_some(text),
        Value::Array(items) => items.iter().find_map(first_dirty),
        Value::Object(map) => map
            .iter()
            .find_map(|(key, value)| if is_dirty(key) { Some(key.as_str()) } else { first_dirty(value) }),
        _ => None,
    }
}

/// Writes hidden characters of a regular expression as escapes, which mean the same.
fn pattern(text: &str) -> Result<String, HiddenCharacter> {
    let mut out = String::with_capacity(text.len());
    let mut is_escaped = false;
    for c in text.chars() {
        if is_hidden(c) {
            let code = u32::from(c);
            // Beyond four digits the spelling depends on the flags of the engine, and behind a backslash the meaning does.
            if code > 0xFFFF || is_escaped {
                return Err(HiddenCharacter { what: "the pattern", text: text.to_owned() });
            }
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{code:04x}");
        } else {
            out.push(c);
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    Ok(out)
}

fn text_of(value: &Value) -> Value {
    match value {
        Value::String(text) => visible_text(text).into(),
        Value::Array(items) => items.iter().map(text_of).collect(),
        Value::Object(map) => {
            map.iter().map(|(key, value)| (visible_text(key).into_owned(), text_of(value))).collect()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::without_hidden;

    const HIDDEN: &str = "\u{202e}\u{e0041}\u{200b}\u{1b}[31m";

    fn dirty(text: &str) -> String {
        format!("{text}{HIDDEN}")
    }

    #[test]
    fn a_schema_is_cleaned_everywhere_where_its_text_is_shown() {
        let schema = json!({
            "type": "object", "title": dirty("t"), "description": dirty("d"), "$comment": dirty("c"), "x-k": [dirty("k")],
            "properties": {
                "description": {"type": "string", "description": dirty("inner"), "default": dirty("x"), "example": dirty("x")},
                "list": {"items": {"anyOf": [{"title": dirty("deep")}]}, "examples": ["plain", dirty("x")]},
                "text": {"pattern": "^[^\u{7f}\u{200b}]*$", "enum": ["a", "b\t", "❤\u{fe0f}"]},
            },
            "$defs": {"D": {"not": {"title": dirty("n")}}},
        });
        let expected = json!({
            "type": "object", "title": "t", "description": "d", "$comment": "c", "x-k": ["k"],
            "properties": {
                "description": {"type": "string", "description": "inner"},
                "list": {"items": {"anyOf": [{"title": "deep"}]}, "examples": ["plain"]},
                "text": {"pattern": "^[^\\u007f\\u200b]*$", "enum": ["a", "b\t", "❤\u{fe0f}"]},
            },
            "$defs": {"D": {"not": {"title": "n"}}},
        });
        assert_eq!(without_hidden(&schema), Ok(Some(expected.clone())));
        assert_eq!(without_hidden(&expected), Ok(None), "a clean schema stays as it is");
    }

    #[test]
    fn what_has_to_be_sent_back_as_it_stands_is_an_error() {
        let cases: [(Value, &str); 7] = [
            (json!({"properties": {dirty("p"): {}}}), "the property or definition `p`"),
            (json!({"properties": {"a": {"enum": [1, {"k": dirty("e")}]}}}), "the value `e`"),
            (json!({"items": {"const": dirty("c")}}), "the value `c`"),
            (json!({"required": [dirty("r")]}), "the property `r`"),
            (json!({"dependentRequired": {"a": [dirty("r")]}}), "the property `r`"),
            (json!({"$ref": dirty("#/$defs/D")}), "the reference `#/$defs/D`"),
            (json!({"pattern": "\u{e0041}"}), "the pattern ``"),
        ];
        for (schema, what) in cases {
            let error = without_hidden(&schema).unwrap_err().to_string();
            assert!(error.starts_with(what), "{schema}: {error}");
            assert!(error.contains("has the invisible character U+"), "{error}");
        }
    }
}
