//! Arguments that say the right thing in the wrong type.
//!
//! Models write `"5"` for `5`, JSON text for an object, one value where a list is due, and `null` for what they leave
//! out. Where the schema says which it is, and nothing is lost, the value is turned into what was meant, and the change
//! is listed. Everything else is an error that says how to mend it: a guess that is wrong runs the wrong call.

mod coerce;
pub(crate) mod kind;
mod node;
mod number;
mod path;
mod plan;
mod source;
mod text;
mod union;
mod walk;

use serde::Serialize;
use serde_json::Value;
use toolcrib_model::JsonObject;
use toolcrib_model::text::truncate_bytes;

use crate::value_size::json_within;

pub(crate) use plan::Plan;
pub(crate) use text::read as read_text;
pub(crate) use walk::{complete, mend, wants};

/// The most changes to one call. A call that needs more is refused.
pub(crate) const MAX_REPAIRS: usize = 500;

/// The most steps of one walk through a value and its schema: parts that are looked at, and values that are copied or
/// checked against one alternative.
const MAX_REPAIR_STEPS: u64 = 30_000;

/// The most bytes of JSON that are shown of a value before or after its change.
const MAX_SHOWN_BYTES: usize = 200;

/// Arguments that the schema takes, and what was done to make them so.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Repaired {
    /// The arguments; they have passed [`CompiledSchema::validate`](crate::CompiledSchema::validate).
    pub arguments: JsonObject,
    /// The changes in the order in which they were made; none when the arguments are those that were given.
    pub repairs: Vec<Repair>,
}

/// One change to the arguments.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Repair {
    /// JSON pointer of the changed part, as it stands after the changes before this one.
    pub path: String,
    /// The kind of the change.
    pub change: Change,
    /// The previous value, if any. A long value is shown as the start of its JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    /// The new value, if any. A long value is shown as the start of its JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
}

/// A lossless change of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// `21` became `20`, the most that is taken.
    Clamped,
    /// `"42"` became `42`.
    StringToInteger,
    /// `"1.5"` became `1.5`.
    StringToNumber,
    /// `"true"` became `true`, regardless of case.
    StringToBoolean,
    /// `42` became `"42"`.
    NumberToString,
    /// `true` became `"true"`.
    BooleanToString,
    /// `1.0` became `1`.
    NumberToInteger,
    /// A text that is JSON became the list or the object that it says.
    ParsedJson,
    /// A list or an object became its JSON text.
    WrittenAsJson,
    /// One value became a list of it.
    WrappedInList,
    /// `null` for what may be left out was left out.
    NullRemoved,
    /// A text became the allowed value that differs from it in case only.
    EnumCase,
    /// A value became the allowed value that differs from it in type only.
    EnumType,
    /// A missing value got the default of the schema.
    DefaultFilled,
    /// An argument with the former name `from` has the name `to` now.
    Renamed,
    /// An argument that was given at `from` stands at `to` now.
    Moved,
}

impl Change {
    /// Returns the distance from the original value. Of two repairs with the same number of changes, the closer one wins.
    fn distance(self) -> u32 {
        match self {
            Self::NumberToInteger | Self::EnumCase => 0,
            Self::WrappedInList => 2,
            Self::NumberToString | Self::BooleanToString | Self::WrittenAsJson => 3,
            _ => 1,
        }
    }
}

impl Repair {
    fn new(path: String, change: Change, from: Option<&Value>, to: Option<&Value>) -> Self {
        Self { path, change, from: from.map(shown), to: to.map(shown) }
    }
}

/// Returns the value itself, or the start of its text.
fn shown(value: &Value) -> Value {
    let Err(start) = json_within(value, MAX_SHOWN_BYTES) else { return value.clone() };
    let text = match value {
        Value::String(text) => truncate_bytes(text, MAX_SHOWN_BYTES).into(),
        _ => String::from_utf8_lossy(&start),
    };
    format!("{}…", text.trim_end_matches(char::REPLACEMENT_CHARACTER)).into()
}
