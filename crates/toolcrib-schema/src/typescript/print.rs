//! The text of types.

use serde_json::Value;

use super::names::{property, quoted};
use super::types::{Object, Property, Tuple, Type, TypeId};

/// The characters of one level of indentation.
const INDENT: &str = "  ";

/// The precedence of the operator around a type, which decides on parentheses.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Precedence {
    Whole,
    Intersected,
    Item,
}

/// Writes a type. `name` returns the text of a named type, and `depth` is the number of levels of indentation around it.
pub(super) fn written(kind: &Type, depth: usize, name: &impl Fn(TypeId) -> String) -> String {
    Printer { name }.kind(kind, depth, Precedence::Whole)
}

struct Printer<'a, F> {
    name: &'a F,
}

impl<F: Fn(TypeId) -> String> Printer<'_, F> {
    fn kind(&self, kind: &Type, depth: usize, precedence: Precedence) -> String {
        match kind {
            Type::Unknown => "unknown".to_owned(),
            Type::Never => "never".to_owned(),
            Type::Null => "null".to_owned(),
            Type::Boolean => "boolean".to_owned(),
            Type::Number => "number".to_owned(),
            Type::String => "string".to_owned(),
            Type::Literal(Value::String(text)) => quoted(text),
            Type::Literal(value) => value.to_string(),
            Type::Array(items) => format!("{}[]", self.kind(items, depth, Precedence::Item)),
            Type::Tuple(tuple) => self.tuple(tuple, depth),
            Type::Object(object) => self.object(object, depth),
            Type::Union(members) => self.joined(members, " | ", depth, precedence, Precedence::Intersected),
            Type::Intersection(members) => self.joined(members, " & ", depth, precedence, Precedence::Item),
            Type::Reference(id) => (self.name)(*id),
        }
    }

    /// Writes the members of a union or an intersection, in parentheses from a precedence on.
    fn joined(
        &self,
        members: &[Type],
        separator: &str,
        depth: usize,
        precedence: Precedence,
        from: Precedence,
    ) -> String {
        let members = members.iter().map(|member| self.kind(member, depth, Precedence::Intersected));
        let text = members.collect::<Vec<_>>().join(separator);
        if precedence >= from { format!("({text})") } else { text }
    }

    fn tuple(&self, tuple: &Tuple, depth: usize) -> String {
        let items = tuple.items.iter().enumerate().map(|(at, item)| {
            let mark = if at < tuple.required { "" } else { "?" };
            format!("{}{mark}", self.kind(item, depth, Precedence::Item))
        });
        let rest = tuple.rest.iter().map(|rest| format!("...{}[]", self.kind(rest, depth, Precedence::Item)));
        format!("[{}]", items.chain(rest).collect::<Vec<_>>().join(", "))
    }

    fn object(&self, object: &Object, depth: usize) -> String {
        if object.properties.is_empty() {
            // An alias of a record cannot be recursive, so `Record` has no other types.
            return match object.rest.as_deref() {
                None => "Record<string, unknown>".to_owned(),
                Some(kind) if kind.is_plain() => {
                    format!("Record<string, {}>", self.kind(kind, depth, Precedence::Whole))
                }
                Some(kind) => format!("{{{}}}", self.rest(kind, depth)),
            };
        }
        let is_described = object.properties.iter().any(|property| !property.text.is_empty());
        let inner = if is_described { depth + 1 } else { depth };
        let properties = object.properties.iter().map(|property| self.property(property, inner));
        let parts = properties.chain(object.rest.iter().map(|kind| self.rest(kind, inner)));
        if !is_described {
            return format!("{{{}}}", parts.collect::<Vec<_>>().join("; "));
        }
        let line = |part: String| format!("\n{}{part};", INDENT.repeat(inner));
        format!("{{{}\n{}}}", parts.map(line).collect::<String>(), INDENT.repeat(depth))
    }

    fn rest(&self, kind: &Type, depth: usize) -> String {
        format!("[name: string]: {}", self.kind(kind, depth, Precedence::Whole))
    }

    fn property(&self, field: &Property, depth: usize) -> String {
        let comment = match field.text.as_str() {
            "" => String::new(),
            text => format!("/** {text} */\n{}", INDENT.repeat(depth)),
        };
        let mark = if field.is_required { "" } else { "?" };
        format!(
            "{comment}{}{mark}: {}",
            property(&field.name),
            self.kind(&field.kind, depth, Precedence::Whole)
        )
    }
}
