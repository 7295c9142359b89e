//! Places in a document, and the references between them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use toolcrib_document::{Format, Limits, parse};

/// How many references may lead from one to the next.
const MAX_HOPS: usize = 50;

/// How deep the parts of a schema may lie in each other.
const MAX_PARTS: usize = 8;

/// A document, and the files that it refers to.
pub(super) struct Library {
    main: PathBuf,
    files: BTreeMap<PathBuf, Value>,
}

/// A place in a document.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    library: &'a Library,
    file: &'a Path,
    pub(super) value: &'a Value,
}

impl Library {
    /// Reads a document and, file by file, what it refers to.
    pub(super) fn open(main: &Path) -> Self {
        let mut files = BTreeMap::new();
        let mut waiting = vec![main.to_owned()];
        while let Some(path) = waiting.pop() {
            if files.contains_key(&path) {
                continue;
            }
            let Ok(bytes) = std::fs::read(&path) else { continue };
            let Ok(document) =
                parse(&bytes, Format::detect(&path, &bytes), &Limits::default().with_scalar_keys())
            else {
                continue;
            };
            outside(&document.value, &mut |reference| waiting.push(neighbour(&path, reference)));
            files.insert(path, document.value);
        }
        Self { main: main.to_owned(), files }
    }

    /// The document itself.
    pub(super) fn root(&self) -> Option<Node<'_>> {
        let value = self.files.get(&self.main)?;
        Some(Node { library: self, file: &self.main, value })
    }
}

/// Tells of each reference to another file.
fn outside(value: &Value, tell: &mut impl FnMut(&str)) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get("$ref")
                && let Some((file, _)) = reference.split_once('#').or(Some((reference.as_str(), "")))
                && !file.is_empty()
                && !file.contains("://")
            {
                tell(file);
            }
            map.values().for_each(|value| outside(value, tell));
        }
        Value::Array(list) => list.iter().for_each(|value| outside(value, tell)),
        _ => {}
    }
}

/// The path of a file that a file refers to.
fn neighbour(file: &Path, reference: &str) -> PathBuf {
    let reference = super::decode::percent(reference).unwrap_or_else(|_| reference.to_owned());
    let joined = file.parent().unwrap_or(Path::new("")).join(reference);
    let mut out = PathBuf::new();
    for component in joined.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            other => out.push(other),
        }
    }
    out
}

impl<'a> Node<'a> {
    pub(super) fn to(self, value: &'a Value) -> Self {
        Self { value, ..self }
    }

    /// What a reference here leads to in the end, or the place itself.
    pub(super) fn open(self) -> Self {
        let mut node = self;
        for _ in 0..MAX_HOPS {
            let Some(reference) = node.value.get("$ref").and_then(Value::as_str) else { break };
            match node.target(reference) {
                Some(target) => node = target,
                None => break,
            }
        }
        node
    }

    fn target(self, reference: &str) -> Option<Self> {
        let (file, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let (file, root) = if file.is_empty() {
            (self.file, self.library.files.get(self.file)?)
        } else {
            let (file, root) = self.library.files.get_key_value(&neighbour(self.file, file))?;
            (file.as_path(), root)
        };
        let fragment = super::decode::percent(fragment).ok()?;
        let value = if fragment.is_empty() || fragment.starts_with('/') {
            root.pointer(&fragment)?
        } else {
            anchored(root, &fragment)?
        };
        Some(Self { library: self.library, file, value })
    }

    /// What stands under a key, with references followed on the way there, not at the end.
    pub(super) fn get(self, key: &str) -> Option<Self> {
        let open = self.open();
        open.value.get(key).map(|value| open.to(value))
    }

    pub(super) fn text(self, key: &str) -> Option<&'a str> {
        self.get(key)?.value.as_str()
    }

    pub(super) fn flag(self, key: &str) -> Option<bool> {
        self.get(key)?.value.as_bool()
    }

    /// Whether a flag is set.
    pub(super) fn is(self, key: &str) -> bool {
        self.flag(key) == Some(true)
    }

    pub(super) fn entries(self, key: &str) -> Vec<(&'a str, Self)> {
        let Some(node) = self.get(key).map(Self::open) else { return Vec::new() };
        let entries = node.value.as_object().into_iter().flatten();
        entries.map(|(key, value)| (key.as_str(), node.to(value))).collect()
    }

    pub(super) fn items(self, key: &str) -> Vec<Self> {
        let Some(node) = self.get(key).map(Self::open) else { return Vec::new() };
        node.value.as_array().into_iter().flatten().map(|value| node.to(value)).collect()
    }

    /// The properties of a schema, those of its parts among them.
    pub(super) fn properties(self) -> BTreeMap<&'a str, Self> {
        let mut out = BTreeMap::new();
        self.gather(&mut out, 0);
        out
    }

    fn gather(self, out: &mut BTreeMap<&'a str, Self>, depth: usize) {
        if depth > MAX_PARTS {
            return;
        }
        for node in [self, self.open()] {
            if let Some(properties) = node.value.get("properties").and_then(Value::as_object) {
                out.extend(properties.iter().map(|(name, value)| (name.as_str(), node.to(value))));
            }
        }
        for key in ["allOf", "oneOf", "anyOf"] {
            self.items(key).into_iter().for_each(|part| part.gather(out, depth + 1));
        }
    }
}

/// The value of an object whose `$anchor` is this.
fn anchored<'a>(value: &'a Value, anchor: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) if map.get("$anchor").and_then(Value::as_str) == Some(anchor) => Some(value),
        Value::Object(map) => map.values().find_map(|value| anchored(value, anchor)),
        Value::Array(list) => list.iter().find_map(|value| anchored(value, anchor)),
        _ => None,
    }
}
