//! The types of TypeScript that declarations of tools need.

use serde_json::Value;

/// The most members of a union. A longer one is `unknown`.
const MAX_MEMBERS: usize = 64;

/// The most alternatives of an intersection of unions, all combinations counted. Those beyond are not distinguished,
/// because a compiler has to write them out.
const MAX_COMBINATIONS: usize = 1_000;

/// The number of a named type in a [`Library`](super::library::Library).
pub(super) type TypeId = usize;

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    /// All values.
    Unknown,
    /// No value.
    Never,
    Null,
    Boolean,
    Number,
    String,
    /// One string, number or boolean.
    Literal(Value),
    Array(Box<Type>),
    Tuple(Tuple),
    Object(Object),
    Union(Vec<Type>),
    Intersection(Vec<Type>),
    /// A named type.
    Reference(TypeId),
}

/// The type of a list whose first items have types of their own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tuple {
    pub(super) items: Vec<Type>,
    /// The number of items that must be there.
    pub(super) required: usize,
    /// The type of all further items, if there may be any.
    pub(super) rest: Option<Box<Type>>,
}

/// The type of an object. Further properties are allowed, as TypeScript does it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Object {
    pub(super) properties: Vec<Property>,
    /// The type of the properties that are not named, if it is declared.
    pub(super) rest: Option<Box<Type>>,
}

impl Object {
    /// Returns true if all objects are of the type.
    pub(super) fn is_any(&self) -> bool {
        self.properties.is_empty() && self.rest.as_deref().is_none_or(|kind| *kind == Type::Unknown)
    }
}

/// A property of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) kind: Type,
    pub(super) is_required: bool,
    /// The description; may be empty.
    pub(super) text: String,
}

impl Type {
    /// Returns the type of all objects.
    pub(super) fn any_object() -> Self {
        Self::Object(Object { properties: Vec::new(), rest: Some(Box::new(Self::Unknown)) })
    }

    /// Returns the type of all lists.
    pub(super) fn any_array() -> Self {
        Self::Array(Box::new(Self::Unknown))
    }

    fn is_any_object(&self) -> bool {
        matches!(self, Self::Object(object) if object.is_any())
    }

    /// Returns true if the type needs no name: it is as short as one.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self::Unknown | Self::Never | Self::Null | Self::Boolean | Self::Number | Self::String)
    }

    /// Returns the type of the values that one of these types has.
    pub(super) fn union(types: impl IntoIterator<Item = Self>) -> Self {
        let mut members: Vec<Self> = Vec::new();
        for kind in types {
            let inner = match kind {
                Self::Union(inner) => inner,
                other => vec![other],
            };
            for kind in inner.into_iter().filter(|kind| *kind != Self::Never) {
                if !members.contains(&kind) {
                    members.push(kind);
                }
            }
        }
        let kinds = [Self::String, Self::Number, Self::Boolean].map(|kind| members.contains(&kind));
        members.retain(|kind| !is_literal_of(kind, kinds));
        if members.len() > MAX_MEMBERS || members.contains(&Self::Unknown) {
            return Self::Unknown;
        }
        match members.len() {
            0 => Self::Never,
            1 => members.remove(0),
            _ => Self::Union(members),
        }
    }

    /// Returns the type of the values that all of these types have.
    pub(super) fn intersection(types: impl IntoIterator<Item = Self>) -> Self {
        let mut members: Vec<Self> = Vec::new();
        let mut combinations = 1;
        for kind in types {
            let inner = match kind {
                Self::Intersection(inner) => inner,
                other => vec![other],
            };
            for kind in inner {
                match kind {
                    Self::Unknown => {}
                    Self::Never => return Self::Never,
                    Self::Object(object) => intersect_object(&mut members, object),
                    kind if members.contains(&kind) => {}
                    Self::Union(union) => {
                        combinations *= union.len();
                        if combinations <= MAX_COMBINATIONS {
                            members.push(Self::Union(union));
                        } else {
                            combinations /= union.len();
                        }
                    }
                    kind => members.push(kind),
                }
            }
        }
        // A named type of an object says more than that it is one.
        if members.iter().any(|kind| matches!(kind, Self::Reference(_))) {
            members.retain(|kind| !kind.is_any_object());
        }
        match members.len() {
            0 => Self::Unknown,
            1 => members.remove(0),
            _ => Self::Intersection(members),
        }
    }

    /// Calls a function for each named type within this one, or only for those of the same value.
    pub(super) fn visit_references(&mut self, is_same_value: bool, visit: &mut impl FnMut(&mut Self)) {
        match self {
            Self::Reference(_) => visit(self),
            Self::Union(members) | Self::Intersection(members) => {
                for member in members {
                    member.visit_references(is_same_value, visit);
                }
            }
            _ if is_same_value => {}
            Self::Array(items) => items.visit_references(is_same_value, visit),
            Self::Tuple(Tuple { items, rest, .. }) => {
                let parts = items.iter_mut().chain(rest.as_deref_mut());
                parts.for_each(|part| part.visit_references(is_same_value, visit));
            }
            Self::Object(Object { properties, rest }) => {
                let parts = properties.iter_mut().map(|property| &mut property.kind);
                let parts = parts.chain(rest.as_deref_mut());
                parts.for_each(|part| part.visit_references(is_same_value, visit));
            }
            _ => {}
        }
    }
}

/// Returns true for a literal of a type that is in the union as a whole: string, number, boolean.
fn is_literal_of(kind: &Type, [has_string, has_number, has_boolean]: [bool; 3]) -> bool {
    match kind {
        Type::Literal(Value::String(_)) => has_string,
        Type::Literal(Value::Number(_)) => has_number,
        Type::Literal(Value::Bool(_)) => has_boolean,
        _ => false,
    }
}

/// Adds an object to an intersection, merged with the one that is there.
fn intersect_object(members: &mut Vec<Type>, object: Object) {
    let known = members.iter_mut().find_map(|member| match member {
        Type::Object(known) => Some(known),
        _ => None,
    });
    match known {
        Some(_) if object.is_any() => return,
        Some(known) if known.is_any() => {
            *known = object;
            return;
        }
        _ => {}
    }
    let Some(known) = known.filter(|known| known.rest.is_none() && object.rest.is_none()) else {
        members.push(Type::Object(object));
        return;
    };
    for property in object.properties {
        let Some(same) = known.properties.iter_mut().find(|same| same.name == property.name) else {
            known.properties.push(property);
            continue;
        };
        let kind = std::mem::replace(&mut same.kind, Type::Unknown);
        same.kind = Type::intersection([kind, property.kind]);
        same.is_required |= property.is_required;
        if same.text.is_empty() {
            same.text = property.text;
        }
    }
}
