//! Parts of a conversation that all wire formats share.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::Value;
use serde_json::value::RawValue;
use toolcrib_model::JsonObject;

use crate::Provider;
use crate::chat::{Picture, ProviderItems, RequestOptions, RequestedCall};

/// Returns the text of a result, with what the runtime has to say behind it.
pub(super) fn result_text<'a>(content: &'a str, note: &str) -> Cow<'a, str> {
    if note.is_empty() { Cow::Borrowed(content) } else { Cow::Owned(format!("{content}\n\n{note}")) }
}

/// Returns the text that stands before a picture: results take text only, so that pictures stand behind them.
pub(super) fn picture_label(picture: &Picture) -> String {
    format!("[A picture of the result of call {}:]", picture.call_id)
}

/// Returns the arguments of a call as an object. They are checked and copied, but not taken apart, since a request has all
/// of its conversation.
pub(super) fn arguments(call: &RequestedCall) -> &RawValue {
    let arguments = serde_json::from_str(&call.arguments).ok();
    arguments
        .filter(|arguments: &&RawValue| arguments.get().starts_with('{'))
        .unwrap_or_else(|| empty_object())
}

fn empty_object() -> &'static RawValue {
    static EMPTY: LazyLock<Box<RawValue>> = LazyLock::new(|| {
        RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
    });
    &EMPTY
}

/// Returns the items that a message came with, if they are of this provider and the message still has their text and
/// their calls. `read` adds the text of an item, and returns true for a call.
pub(super) fn items_of<'a>(
    items: Option<&'a ProviderItems>,
    provider: Provider,
    content: &str,
    calls: usize,
    read: impl Fn(&Value, &mut String) -> bool,
) -> Option<&'a [Value]> {
    let items = &items.filter(|items| items.provider == provider.as_str())?.items;
    let mut text = String::new();
    let count = items.iter().filter(|item| read(item, &mut text)).count();
    (count == calls && text == content).then_some(items)
}

/// Adds the further keys of a request. Of an object that the request has already, only the keys that it lacks are added.
pub(super) fn add_extra(body: &mut JsonObject, options: &RequestOptions) {
    for (key, value) in &options.extra {
        match (body.get_mut(key), value) {
            (None, value) => {
                body.insert(key.clone(), value.clone());
            }
            (Some(Value::Object(own)), Value::Object(further)) => {
                for (key, value) in further {
                    own.entry(key.clone()).or_insert_with(|| value.clone());
                }
            }
            (Some(_), _) => {}
        }
    }
}
