//! What no request can carry so that it arrives as it is: calls with such values may be refused rather than sent.

use serde_json::Value;

use super::binding::BodyArguments;
use super::bodies::kind;
use super::check::Made;
use super::decode::{is_undefined, plainly};
use super::reader::{Layout, Place, Style, essence};

/// Where a value would go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    In(Place),
    /// A field of an urlencoded body.
    Field,
    /// A part of a multipart body.
    Part,
}

impl Made<'_> {
    /// The arguments, and the properties of a body that is one, for which the call may be refused.
    pub(super) fn may_refuse(&self) -> Vec<&str> {
        let mut out: Vec<&str> = Vec::new();
        for (argument, parameter) in &self.binding.parameters {
            let slot = Slot::In(parameter.place);
            if self.arguments.get(argument).is_some_and(|value| cannot_be_sent(slot, parameter.layout, value))
            {
                out.push(argument);
            }
        }
        match &self.binding.body {
            BodyArguments::None => {}
            BodyArguments::Whole(argument) => {
                let fields = self.arguments.get(argument).and_then(Value::as_object).into_iter().flatten();
                let refused = fields.filter(|(name, value)| self.is_field_refused(name, value));
                out.extend(refused.flat_map(|(name, _)| [argument.as_str(), name.as_str()]));
            }
            BodyArguments::Fields(fields) => {
                let is_refused = |(argument, name): &&(String, String)| {
                    self.arguments.get(argument).is_some_and(|value| self.is_field_refused(name, value))
                };
                out.extend(fields.iter().filter(is_refused).map(|(argument, _)| argument.as_str()));
            }
        }
        out
    }

    fn is_field_refused(&self, name: &str, value: &Value) -> bool {
        let Some(body) = &self.operation.body else { return false };
        body.contents.iter().any(|content| {
            let slot = match essence(&content.media_type).as_str() {
                "application/x-www-form-urlencoded" => Slot::Field,
                essence if essence.starts_with("multipart/") => Slot::Part,
                _ => return false,
            };
            body.field(content, name).layout.is_some_and(|layout| cannot_be_sent(slot, layout, value))
        })
    }
}

fn cannot_be_sent(slot: Slot, layout: Layout, value: &Value) -> bool {
    let texts = texts(value);
    let any = |test: &dyn Fn(&str) -> bool| texts.iter().any(|text| test(text));
    let (style, explode, is_list) = match layout {
        Layout::Styled { style, explode, .. } => (style, explode, value.is_array() || value.is_object()),
        _ => (Style::Simple, false, false),
    };
    // What lies in a member of a styled value, no edition defines.
    if is_list && kind(value).starts_with("nested") {
        return true;
    }
    let is_separated = match (style, slot) {
        (Style::Space, _) => any(&|text| text.contains(' ')),
        (Style::Pipe, _) => any(&|text| text.contains('|')),
        (Style::Tab, _) => any(&|text| text.contains('\t')),
        (Style::Label, _) => any(&|text| text.contains('.')),
        (_, Slot::In(Place::Header)) => any(&|text| text.contains([',', '='])),
        (Style::Form, Slot::Part) => !explode && any(&|text| text.contains(',')),
        _ => false,
    };
    // Without members and with empty ones a list looks the same.
    let is_blank = is_list && any(&str::is_empty);
    (is_list && is_separated)
        || match slot {
            // A segment of dots leads elsewhere, and one without text is none.
            Slot::In(Place::Path) => {
                is_undefined(value) || is_blank || texts.concat().chars().all(|c| c == '.')
            }
            Slot::In(Place::Header) if is_blank && matches!(style, Style::Space | Style::Tab) => true,
            Slot::In(Place::Header) => {
                any(&|text| text.contains(|c: char| c.is_control()) || text.trim() != text)
            }
            Slot::In(Place::Cookie) => {
                style == Style::Cookie && any(&|text| text.contains(|c: char| !c.is_ascii_alphanumeric()))
            }
            Slot::In(Place::Query) | Slot::Field | Slot::Part => is_blank,
        }
}

/// All texts of a value, keys among them.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(map) => {
            map.iter().flat_map(|(key, value)| [vec![key.clone()], texts(value)].concat()).collect()
        }
        scalar => vec![plainly(scalar)],
    }
}
