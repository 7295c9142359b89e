//! The named types of a block of declarations.

use std::collections::{HashMap, HashSet};

use super::print::written;
use super::types::{Type, TypeId};

/// The most names that are followed from one to the next.
const MAX_ALIASES: usize = 16;

/// A named type.
#[derive(Clone, Debug)]
pub(super) struct NamedType {
    /// The name, which other types may have too.
    pub(super) name: String,
    pub(super) kind: Type,
}

/// Named types, of which those that are equal get one name.
#[derive(Clone, Debug, Default)]
pub(super) struct Library {
    types: Vec<NamedType>,
}

/// The names of the types of a library.
pub(super) struct Names {
    /// The text of each type where it is used.
    texts: Vec<String>,
    /// The types to declare, each with its name.
    declared: Vec<TypeId>,
}

impl Library {
    pub(super) fn add(&mut self, named: NamedType) -> TypeId {
        self.types.push(named);
        self.types.len() - 1
    }

    pub(super) fn set(&mut self, id: TypeId, kind: Type) {
        if let Some(named) = self.types.get_mut(id) {
            named.kind = kind;
        }
    }

    /// Returns a named type.
    pub(super) fn get(&self, id: TypeId) -> &Type {
        self.types.get(id).map_or(&Type::Unknown, |named| &named.kind)
    }

    /// Adds the types of another library, and changes the references of `roots` from that one to this one.
    pub(super) fn append(&mut self, other: Self, roots: [&mut Type; 2]) {
        let offset = self.types.len();
        let mut shift = |kind: &mut Type| {
            if let Type::Reference(id) = kind {
                *id += offset;
            }
        };
        for root in roots {
            root.visit_references(false, &mut shift);
        }
        self.types.extend(other.types.into_iter().map(|mut named| {
            named.kind.visit_references(false, &mut shift);
            named
        }));
    }

    /// Replaces types that are defined by themselves, which TypeScript refuses, with `unknown`.
    pub(super) fn break_circles(&mut self) {
        for id in 0..self.types.len() {
            let (mut seen, mut left) = (HashSet::new(), vec![id]);
            while let Some(next) = left.pop() {
                let mut kind = self.get(next).clone();
                kind.visit_references(true, &mut |kind| {
                    if let Type::Reference(target) = kind
                        && seen.insert(*target)
                    {
                        left.push(*target);
                    }
                });
            }
            if seen.contains(&id) {
                self.set(id, Type::Unknown);
            }
        }
    }

    /// Returns the last of the names that a type is an alias of.
    fn resolved(&self, id: TypeId) -> TypeId {
        let mut id = id;
        for _ in 0..MAX_ALIASES {
            match self.get(id) {
                Type::Reference(next) => id = *next,
                _ => break,
            }
        }
        id
    }

    /// Names the types: equal ones alike, different ones differently.
    pub(super) fn names(&self) -> Names {
        let groups = self.groups();
        let mut names: HashMap<usize, String> = HashMap::new();
        let (mut taken, mut declared) = (HashSet::new(), Vec::new());
        let texts = (0..self.types.len()).map(|id| {
            let id = self.resolved(id);
            let kind = self.get(id);
            if kind.is_plain() {
                return written(kind, 0, &|_| String::new());
            }
            let group = groups.get(id).copied().unwrap_or_default();
            let name = names.entry(group).or_insert_with(|| {
                declared.push(id);
                let base = self.types.get(id).map_or("Type", |named| named.name.as_str());
                let numbered = (2_u32..).map(|number| format!("{base}{number}"));
                let mut free = std::iter::once(base.to_owned()).chain(numbered);
                free.find(|name| taken.insert(name.clone())).unwrap_or_default()
            });
            name.clone()
        });
        let texts = texts.collect();
        Names { texts, declared }
    }

    /// Returns the number of the group of each type: types of a group have the same name, and mean the same. It starts
    /// with all types of a name in one group, and splits groups whose types differ, until none does.
    fn groups(&self) -> Vec<usize> {
        let mut groups = numbered(self.types.iter().map(|named| named.name.clone()));
        loop {
            let count = groups.iter().max().map_or(0, |most| most + 1);
            let group = |id: TypeId| {
                let id = self.resolved(id);
                let kind = self.get(id);
                if kind.is_plain() {
                    return written(kind, 0, &|_| String::new());
                }
                format!("#{}", groups.get(id).copied().unwrap_or_default())
            };
            let split = numbered(
                self.types
                    .iter()
                    .zip(&groups)
                    .map(|(named, own)| format!("{own} {}", written(&named.kind, 0, &group))),
            );
            if split.iter().max().map_or(0, |most| most + 1) == count {
                return split;
            }
            groups = split;
        }
    }
}

/// Numbers texts, equal ones alike.
fn numbered(texts: impl Iterator<Item = String>) -> Vec<usize> {
    let mut known = HashMap::new();
    texts
        .map(|text| {
            let next = known.len();
            *known.entry(text).or_insert(next)
        })
        .collect()
}

impl Names {
    /// Returns the text of a named type where it is used.
    pub(super) fn text(&self, id: TypeId) -> String {
        self.texts.get(id).cloned().unwrap_or_default()
    }

    /// Writes the declarations of the types, a line or more each.
    pub(super) fn declarations(&self, library: &Library) -> String {
        let declare = |id: &TypeId| {
            let kind = written(library.get(*id), 0, &|id| self.text(id));
            format!("type {} = {kind};\n", self.text(*id))
        };
        self.declared.iter().map(declare).collect()
    }
}
