//! A form for the arguments of a tool, from its JSON Schema.

use maud::{Markup, html};
use serde_json::Value;
use toolcrib_model::{FieldKind, FormField, JsonObject, Schema};

use super::Fields;
use super::html::{text, text_to};
use super::reply::{field_name, value};
use super::sections::input_of;

/// The maximum number of properties with an input of their own.
const MAX_INPUTS: usize = 64;

/// The maximum number of choices of a property. One with more has a text input.
const MAX_CHOICES: usize = 100;

/// The maximum length of a description of a property, in characters.
const MAX_DESCRIPTION_CHARS: usize = 300;

/// The name of the input for all other arguments.
const OTHERS: &str = "others";

/// A form with an input for each property of a schema, and one for all other arguments as JSON.
pub(crate) struct SchemaForm<'a>(Vec<SchemaInput<'a>>);

struct SchemaInput<'a> {
    field: FormField,
    description: Option<&'a str>,
    /// True if the value is written as JSON, because it has no simple type.
    is_json: bool,
}

impl<'a> SchemaForm<'a> {
    pub(crate) fn new(schema: &'a Schema) -> Self {
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        let inputs = properties.into_iter().flatten().take(MAX_INPUTS).map(|(name, property)| {
            let kind = kind(property);
            SchemaInput {
                description: property.get("description").and_then(Value::as_str),
                is_json: kind.is_none(),
                field: FormField {
                    name: name.clone(),
                    label: name.clone(),
                    kind: kind.unwrap_or(FieldKind::Text),
                    required: required.contains(&name.as_str()),
                    default: property.get("default").cloned(),
                    bounds: JsonObject::new(),
                },
            }
        });
        Self(inputs.collect())
    }

    /// Renders the inputs. An input with a default may stay empty.
    pub(super) fn inputs(&self) -> Markup {
        html! {
            @for (number, input) in self.0.iter().enumerate() {
                @let name = field_name(number);
                div class="input" {
                    @if input.is_json {
                        label {
                            (text(&input.field.label)) " " span class="dim" { "JSON" }
                            textarea name=(name) rows="2" required[input.field.required && input.field.default.is_none()] {}
                        }
                    } @else {
                        (input_of(&name, &input.field))
                    }
                    p class="dim" {
                        @if input.field.required { "Required. " }
                        (text_to(input.description.unwrap_or_default(), MAX_DESCRIPTION_CHARS))
                    }
                }
            }
            details {
                summary { "Other arguments" }
                label { "One JSON object " textarea name=(OTHERS) rows="4" {} }
            }
        }
    }

    /// Returns the arguments of a submitted form, or an error that describes the problem with it.
    pub(crate) fn arguments(&self, fields: &Fields) -> Result<JsonObject, String> {
        let mut arguments = match fields.get(OTHERS).filter(|text| !text.trim().is_empty()) {
            None => JsonObject::new(),
            Some(text) => serde_json::from_str(text)
                .map_err(|error| format!("the other arguments: expected one JSON object, {error}"))?,
        };
        for (number, input) in self.0.iter().enumerate() {
            let name = field_name(number);
            let value = if input.is_json {
                let text = fields.get(&name).filter(|text| !text.trim().is_empty());
                let json = text.map(serde_json::from_str).transpose();
                json.map_err(|error| format!("{}: expected JSON, {error}", input.field.label))?
            } else {
                value(&input.field, fields, &name)?
            };
            if let Some(value) = value {
                arguments.insert(input.field.name.clone(), value);
            }
        }
        Ok(arguments)
    }
}

/// Returns the kind of input of a property, or `None` if its value is written as JSON.
fn kind(property: &Value) -> Option<FieldKind> {
    if let Some(choices) = choices(property) {
        return Some(FieldKind::Choice(choices));
    }
    if ["$ref", "anyOf", "oneOf", "allOf", "const"].iter().any(|keyword| property.get(keyword).is_some()) {
        return None;
    }
    let types: Vec<&str> = match property.get("type")? {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).filter(|one| *one != "null").collect(),
        _ => return None,
    };
    match types.as_slice() {
        ["string"] => Some(FieldKind::Text),
        ["integer"] => Some(FieldKind::Integer),
        ["number"] => Some(FieldKind::Number),
        ["boolean"] => Some(FieldKind::Boolean),
        ["array"] => property.get("items").and_then(choices).map(FieldKind::Choices),
        _ => None,
    }
}

fn choices(property: &Value) -> Option<Vec<String>> {
    let all = property.get("enum")?.as_array()?;
    if all.is_empty() || all.len() > MAX_CHOICES {
        return None;
    }
    all.iter().map(|one| one.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Schema {
        Schema::from(json!({
            "type": "object",
            "properties": {
                "any": {"type": "array", "items": {"enum": ["a", "b"]}},
                "deep": {"type": "object", "description": "<b>"},
                "flag": {"type": "boolean"},
                "n": {"type": ["integer", "null"]},
                "one": {"enum": ["x", "y"]},
                "text": {"type": "string", "default": "hi"},
            },
            "required": ["n"],
        }))
    }

    #[test]
    fn each_property_has_an_input_of_its_type() {
        let schema = schema();
        let html = SchemaForm::new(&schema).inputs().into_string();
        for shown in [
            "type=\"checkbox\" name=\"field-0\"",
            "<textarea name=\"field-1\"",
            "<select name=\"field-2\"",
            "type=\"number\" step=\"1\" name=\"field-3\" required",
            "<option value=\"1\">y</option>",
            "value=\"hi\"",
            "&lt;b&gt;",
        ] {
            assert!(html.contains(shown), "{shown}: {html}");
        }
    }

    #[test]
    fn a_form_becomes_arguments_or_says_what_is_wrong() {
        let schema = schema();
        let form = SchemaForm::new(&schema);
        let sent = "field-0=1&field-1=%7B%22a%22%3A1%7D&field-2=yes&field-3=4&field-4=0&field-5=&others=%7B%22more%22%3A2%7D";
        let expected = json!({"more": 2, "any": ["b"], "deep": {"a": 1}, "flag": true, "n": 4, "one": "x"});
        assert_eq!(Value::Object(form.arguments(&Fields::read(sent)).unwrap()), expected);
        for (sent, problem) in [
            ("field-3=x", "n: expected an integer"),
            ("field-1=x", "deep: expected JSON"),
            ("others=[]", "the other arguments: expected one JSON object"),
        ] {
            let error = form.arguments(&Fields::read(sent)).unwrap_err();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
