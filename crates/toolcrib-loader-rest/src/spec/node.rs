//! A value of a document with its file.

use serde_json::Value;
use toolcrib_model::JsonObject;

/// A value and the file that contains it. Its references are relative to that file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'a> {
    pub(crate) value: &'a Value,
    pub(crate) file: usize,
}

/// The value of an absent key.
const NOTHING: &Value = &Value::Null;

impl<'a> Node<'a> {
    /// Returns null as a value of the same file.
    pub(crate) fn nothing(self) -> Node<'a> {
        self.at(NOTHING)
    }

    /// Returns another value of the same file.
    pub(crate) fn at(self, value: &'a Value) -> Node<'a> {
        Node { value, file: self.file }
    }

    pub(crate) fn get(self, key: &str) -> Option<Node<'a>> {
        self.value.get(key).map(|value| self.at(value))
    }

    /// Returns the value of a key, or null.
    pub(crate) fn get_or_nothing(self, key: &str) -> Node<'a> {
        self.get(key).unwrap_or(self.nothing())
    }

    pub(crate) fn text(self, key: &str) -> Option<&'a str> {
        self.value.get(key).and_then(Value::as_str)
    }

    /// Returns the string value of a key, if it is not blank.
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

    /// Returns the entries of an object, or nothing for any other value.
    pub(crate) fn entries(self) -> impl Iterator<Item = (&'a str, Node<'a>)> {
        self.object().into_iter().flatten().map(move |(key, value)| (key.as_str(), self.at(value)))
    }

    /// Returns the items of a list, or nothing for any other value.
    pub(crate) fn items(self) -> impl Iterator<Item = Node<'a>> {
        self.value.as_array().into_iter().flatten().map(move |value| self.at(value))
    }

    /// Returns a string, number or boolean as a string.
    pub(crate) fn plain(self) -> Option<String> {
        match self.value {
            Value::String(text) => Some(text.clone()),
            Value::Number(_) | Value::Bool(_) => Some(self.value.to_string()),
            _ => None,
        }
    }
}
