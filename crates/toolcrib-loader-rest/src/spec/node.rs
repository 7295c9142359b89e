//! A value of a document, which knows its file.

use serde_json::Value;
use toolcrib_model::JsonObject;

/// A value, and the file that it stands in: its references are relative to that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'a> {
    pub(crate) value: &'a Value,
    pub(crate) file: usize,
}

/// What stands where nothing does.
const NOTHING: &Value = &Value::Null;

impl<'a> Node<'a> {
    /// Null, as if it stood in the same file.
    pub(crate) fn nothing(self) -> Node<'a> {
        self.at(NOTHING)
    }

    /// Another value of the same file.
    pub(crate) fn at(self, value: &'a Value) -> Node<'a> {
        Node { value, file: self.file }
    }

    pub(crate) fn get(self, key: &str) -> Option<Node<'a>> {
        self.value.get(key).map(|value| self.at(value))
    }

    /// What stands there, or null.
    pub(crate) fn get_or_nothing(self, key: &str) -> Node<'a> {
        self.get(key).unwrap_or(self.nothing())
    }

    pub(crate) fn text(self, key: &str) -> Option<&'a str> {
        self.value.get(key).and_then(Value::as_str)
    }

    /// A text that says something.
    pub(crate) fn words(self, key: &str) -> Option<&'a str> {
        self.text(key).map(str::trim).filter(|text| !text.is_empty())
    }

    pub(crate) fn flag(self, key: &str) -> Option<bool> {
        self.value.get(key).and_then(Value::as_bool)
    }

    pub(crate) fn is_set(self, key: &str) -> bool {
        self.flag(key) == Some(true)
    }

    pub(crate) fn object(self) -> Option<&'a JsonObject> {
        self.value.as_object()
    }

    /// The entries of an object; of anything else there are none.
    pub(crate) fn entries(self) -> impl Iterator<Item = (&'a str, Node<'a>)> {
        self.object().into_iter().flatten().map(move |(key, value)| (key.as_str(), self.at(value)))
    }

    /// The items of a list; of anything else there are none.
    pub(crate) fn items(self) -> impl Iterator<Item = Node<'a>> {
        self.value.as_array().into_iter().flatten().map(move |value| self.at(value))
    }

    /// A text, number or boolean as a text.
    pub(crate) fn plain(self) -> Option<String> {
        match self.value {
            Value::String(text) => Some(text.clone()),
            Value::Number(_) | Value::Bool(_) => Some(self.value.to_string()),
            _ => None,
        }
    }
}
