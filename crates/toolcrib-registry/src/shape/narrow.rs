//! Narrower schemas of single parameters.

use serde_json::{Value, json};
use toolcrib_model::{JsonObject, Schema};
use toolcrib_schema::CompiledSchema;

use super::ParameterShape;

/// Keywords of a parameter's schema next to which bounds do not simply combine.
const COMBINED: [&str; 5] = ["$ref", "allOf", "anyOf", "not", "oneOf"];

/// The keywords for a maximum, each with that for the minimum.
const RANGES: [(&str, &str); 3] =
    [("maximum", "minimum"), ("maxLength", "minLength"), ("maxItems", "minItems")];

/// A check of values of one parameter, with the definitions of the whole argument schema.
pub(super) struct ParameterCheck<'a> {
    schema: &'a Schema,
    name: &'a str,
}

impl<'a> ParameterCheck<'a> {
    pub(super) fn new(schema: &'a Schema, name: &'a str) -> Self {
        Self { schema, name }
    }

    /// Returns true if a schema of the parameter accepts a value.
    pub(super) fn accepts(&self, property: &Value, value: &Value) -> Result<bool, String> {
        let whole = self.schema.to_value();
        let mut keywords = JsonObject::new();
        for key in ["$schema", "$defs", "definitions"] {
            if let Some(value) = whole.get(key) {
                keywords.insert(key.to_owned(), value.clone());
            }
        }
        keywords.insert("properties".into(), json!({self.name: property}));
        let compiled = CompiledSchema::compile(&Value::Object(keywords));
        let compiled = compiled.map_err(|error| format!("the schema of `{}`: {error}", self.name))?;
        Ok(compiled.accepts(&json!({self.name: value})))
    }
}

/// Returns the schema of a parameter with the description and the bounds of a shape.
pub(super) fn narrowed(
    property: &Value,
    shape: &ParameterShape,
    check: &ParameterCheck<'_>,
    name: &str,
) -> Result<Value, String> {
    let narrowing = shape.narrowing();
    let mut keywords = match property {
        Value::Object(keywords) if narrowing.is_empty() || !is_combined(keywords) => keywords.clone(),
        Value::Object(_) => JsonObject::from_iter([("allOf".to_owned(), json!([property]))]),
        _ => JsonObject::new(),
    };
    for (keyword, value) in narrowing {
        add_bound(&mut keywords, keyword, value, name)?;
    }
    for (maximum, minimum) in RANGES {
        let bound = |key: &str| keywords.get(key).and_then(Value::as_f64);
        if let (Some(most), Some(least)) = (bound(maximum), bound(minimum))
            && most < least
        {
            return Err(format!(
                "no value of `{name}` has a `{maximum}` of {most} and a `{minimum}` of {least}"
            ));
        }
    }
    if let Some(values) = &shape.values {
        check_values(values, property, &keywords, check, name)?;
    }
    if let Some(description) = &shape.description {
        keywords.insert("description".into(), description.clone().into());
    }
    if let Some(default) = &shape.default {
        keywords.insert("default".into(), default.clone());
    }
    Ok(Value::Object(keywords))
}

fn is_combined(keywords: &JsonObject) -> bool {
    COMBINED.iter().any(|keyword| keywords.contains_key(*keyword))
}

/// Adds one bound, which may not be wider than the present one.
fn add_bound(keywords: &mut JsonObject, keyword: &str, value: Value, name: &str) -> Result<(), String> {
    let applies_to = match keyword {
        "minimum" | "maximum" => "number",
        "minLength" | "maxLength" | "pattern" => "string",
        "minItems" | "maxItems" => "array",
        _ => "",
    };
    let types: Vec<&str> = match keywords.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let fits = |one: &&str| *one == applies_to || *one == "integer" && applies_to == "number";
    if !applies_to.is_empty() && !types.is_empty() && !types.iter().any(fits) {
        return Err(format!("`{keyword}` bounds a {applies_to}, and `{name}` is a {}", types.join(" or ")));
    }
    if let (Some(own), Some(new)) = (keywords.get(keyword).and_then(Value::as_f64), value.as_f64()) {
        let is_wider = if keyword.starts_with("max") { new > own } else { new < own };
        if is_wider {
            return Err(format!("`{keyword}: {value}` of `{name}` is wider than that of the tool, {own}"));
        }
    }
    if keyword == "pattern" && keywords.contains_key(keyword) {
        keywords.insert("allOf".into(), json!([{keyword: value}]));
    } else {
        keywords.insert(keyword.to_owned(), value);
    }
    Ok(())
}

/// Checks that the tool accepts all listed values, and that the other bounds leave one.
fn check_values(
    values: &[Value],
    property: &Value,
    keywords: &JsonObject,
    check: &ParameterCheck<'_>,
    name: &str,
) -> Result<(), String> {
    let narrow = Value::Object(keywords.clone());
    let mut is_possible = false;
    for value in values {
        if !check.accepts(property, value)? {
            return Err(format!("`enum` of `{name}` has {value}, which the tool does not accept"));
        }
        is_possible |= check.accepts(&narrow, value)?;
    }
    if is_possible { Ok(()) } else { Err(format!("no value of `{name}` is possible")) }
}
