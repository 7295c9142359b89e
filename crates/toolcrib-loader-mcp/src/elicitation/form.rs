//! A form for the user to fill in, and its answer for the server.

use std::collections::BTreeSet;
use std::sync::Arc;

use rmcp::model::ElicitationSchema;
use serde_json::Value;
use toolcrib_model::{JsonObject, UserQuestion};

use super::field_schema::FieldSchema;
use super::reply::{Reply, YES_AND_NO, quoted, warning};

/// The largest number of lines of a form: its fields, and the choices of multiple-choice fields.
const MAX_FORM_LINES: usize = 50;

/// A form.
#[derive(Debug)]
pub(crate) struct Form {
    message: String,
    entries: Vec<FieldSchema>,
}

impl Form {
    /// Parses the message and its schema. The error says why the form cannot be shown.
    pub(super) fn read(message: &str, schema: &ElicitationSchema) -> Result<Self, String> {
        let too_long =
            |count: usize| format!("its form has {count} lines, at most {MAX_FORM_LINES} are shown");
        if schema.properties.len() > MAX_FORM_LINES {
            return Err(too_long(schema.properties.len()));
        }
        let required: BTreeSet<&str> = schema.required.iter().flatten().map(String::as_str).collect();
        if let Some(unknown) = required.iter().find(|name| !schema.properties.contains_key(**name)) {
            let unknown = crate::text::clean(unknown, super::MAX_LABEL_CHARS);
            return Err(format!("its form requires the field `{unknown}`, and has none of that name"));
        }
        let in_order = schema.property_order.iter().flatten().map(String::as_str);
        let names: Vec<&str> = in_order.filter(|name| schema.properties.contains_key(*name)).collect();
        let entries: Result<Vec<_>, _> = names
            .into_iter()
            .filter_map(|name| Some((name, schema.properties.get(name)?)))
            .map(|(name, property)| FieldSchema::read(name, property, required.contains(name)))
            .collect();
        let form = Self { message: message.to_owned(), entries: entries? };
        let lines = form.entries.iter().map(FieldSchema::lines).sum();
        if lines > MAX_FORM_LINES {
            return Err(too_long(lines));
        }
        Ok(form)
    }

    pub(super) fn for_user(&self, session: &Arc<str>) -> UserQuestion {
        let mut texts = vec![self.message.as_str()];
        let suspect = self.entries.iter().filter(|entry| entry.may_hold_secret());
        texts.extend(suspect.flat_map(|entry| [entry.name.as_str(), entry.label.as_str()]));
        let warning = warning(&texts).map(|warning| format!("{warning}\n")).unwrap_or_default();
        let is_plain = self.entries.is_empty();
        UserQuestion {
            choices: if is_plain { YES_AND_NO.map(str::to_owned).into() } else { Vec::new() },
            fields: self.entries.iter().map(FieldSchema::field).collect(),
            ..UserQuestion::new(Arc::clone(session), format!("{warning}{}", quoted(&self.message)))
        }
    }

    /// Returns the filled-in values, with the defaults of the other fields.
    pub(super) fn reply(&self, choice: Option<&str>, fields: &JsonObject) -> Result<Reply, String> {
        if self.entries.is_empty() && choice != Some(YES_AND_NO[0]) {
            return Ok(Reply::Decline);
        }
        let mut content = JsonObject::new();
        for entry in &self.entries {
            if let Some(value) = entry.value(fields)? {
                content.insert(entry.name.clone(), value);
            }
        }
        Ok(Reply::Accept(Some(Value::Object(content))))
    }
}
