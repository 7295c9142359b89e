//! The files of a document: the configured file, and those that its references name.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use percent_encoding::percent_decode_str;
use serde_json::Value;
use toolcrib_document::{Format, Limits, MAX_BYTES, parse};
use toolcrib_io::files::Root;
use toolcrib_model::text::pointer_part;

use super::Node;
use super::reference::ValueLocation;
use crate::Error;

/// The most files of one document.
const MAX_FILES: usize = 1000;

/// The most bytes of all referenced files of one document: 32 MiB.
const MAX_REFERRED_BYTES: usize = 2 * MAX_BYTES;

/// The longest JSON pointer to a value with an anchor or an `$id`.
const MAX_POINTER_BYTES: usize = 4096;

/// Returns the limits of a file. Non-string keys are permitted, because YAML parses status codes as numbers.
pub(crate) fn limits() -> Limits {
    Limits::default().with_scalar_keys()
}

/// A document of one or several files.
#[derive(Debug)]
pub(crate) struct Documents {
    first: File,
    others: Vec<File>,
    /// The referenced files by their path below the folder. The value is the index of the file, or the reason why it
    /// cannot be read.
    paths: BTreeMap<String, Result<usize, String>>,
}

#[derive(Debug)]
struct File {
    /// The path below the folder of the document; empty if there is no folder.
    path: String,
    value: Value,
    names: OnceLock<DeclaredNames>,
}

/// The names that a file declares in addition to its pointers.
#[derive(Debug, Default)]
struct DeclaredNames {
    /// The pointers of `$anchor` and `$dynamicAnchor`.
    anchors: HashMap<String, String>,
    /// The pointers of `$id` and `$self`.
    addresses: HashMap<String, String>,
}

impl Documents {
    /// Creates a document of one file, whose references to other files are not followed.
    pub(crate) fn single(value: Value) -> Self {
        Self { first: File::new(String::new(), value), others: Vec::new(), paths: BTreeMap::new() }
    }

    /// Reads a document and all files of its folder that it refers to. `path` is the path of the document below the
    /// folder.
    pub(crate) fn read(folder: &Root, path: &str, value: Value) -> Self {
        let mut documents = Self {
            first: File::new(path.to_owned(), value),
            others: Vec::new(),
            paths: BTreeMap::from([(path.to_owned(), Ok(0))]),
        };
        let mut bytes_left = MAX_REFERRED_BYTES;
        let mut next = 0;
        while let Some(file) = documents.file(next) {
            for path in named_files(file) {
                if documents.paths.contains_key(&path) || documents.paths.len() >= MAX_FILES {
                    continue;
                }
                let read = read_file(folder, &path, &mut bytes_left).map(|value| {
                    documents.others.push(File::new(path.clone(), value));
                    documents.others.len()
                });
                documents.paths.insert(path, read);
            }
            next += 1;
        }
        documents
    }

    pub(crate) fn root(&self) -> Node<'_> {
        self.top(0)
    }

    pub(super) fn top(&self, file: usize) -> Node<'_> {
        Node { value: self.file(file).map_or(&Value::Null, |file| &file.value), file }
    }

    /// Returns the prefix for the names of definitions of a file, or `None` for the document itself.
    pub(crate) fn stem(&self, file: usize) -> Option<&str> {
        let path = self.others.get(file.checked_sub(1)?)?.path.as_str();
        let name = path.rsplit('/').next().unwrap_or(path);
        Some(name.split_once('.').map_or(name, |(stem, _)| stem))
    }

    /// Resolves a reference without its fragment.
    pub(super) fn find(&self, from: usize, address: &str, reference: &str) -> Result<ValueLocation, Error> {
        let top = |file| ValueLocation { file, pointer: String::new() };
        if address.is_empty() {
            return Ok(top(from));
        }
        let path = self.file(from).and_then(|file| file.path_of(address));
        let too_many = format!("a document may have {MAX_FILES} files, and this one has more");
        let failed = match path.map(|path| self.paths.get(&path)) {
            Some(Some(Ok(file))) => return Ok(top(*file)),
            Some(Some(Err(reason))) => Some(reason),
            // Every referenced file was read, within the limits.
            Some(None) if self.paths.len() >= MAX_FILES => Some(&too_many),
            Some(None) | None => None,
        };
        let named = (0..=self.others.len()).find_map(|file| {
            Some(ValueLocation { file, pointer: self.file(file)?.names().addresses.get(address)?.clone() })
        });
        match (named, failed) {
            (Some(key), _) => Ok(key),
            (None, Some(reason)) => Err(Error::unreadable(reference, reason)),
            (None, None) => Err(Error::external(reference)),
        }
    }

    /// Returns the pointer to the value with this anchor.
    pub(super) fn anchor(&self, file: usize, anchor: &str) -> Option<String> {
        self.file(file)?.names().anchors.get(anchor).cloned()
    }

    fn file(&self, file: usize) -> Option<&File> {
        match file.checked_sub(1) {
            None => Some(&self.first),
            Some(other) => self.others.get(other),
        }
    }
}

impl File {
    fn new(path: String, value: Value) -> Self {
        Self { path, value, names: OnceLock::new() }
    }

    /// Resolves a relative address against this file. Returns the path below the folder, or `None` if it is outside.
    fn path_of(&self, address: &str) -> Option<String> {
        if self.path.is_empty() || has_scheme(address) || address.starts_with(['/', '?']) {
            return None;
        }
        let decoded = percent_decode_str(address).decode_utf8_lossy();
        let mut steps: Vec<&str> = self.path.split('/').collect();
        steps.pop();
        for step in decoded.split('/') {
            match step {
                "" | "." => {}
                ".." => {
                    steps.pop()?;
                }
                step => steps.push(step),
            }
        }
        Some(steps.join("/"))
    }

    fn names(&self) -> &DeclaredNames {
        self.names.get_or_init(|| {
            let mut names = DeclaredNames::default();
            names.gather(&self.value, &mut String::new());
            names
        })
    }
}

impl DeclaredNames {
    /// Adds the names in a value. The parser has bounded its depth.
    fn gather(&mut self, value: &Value, pointer: &mut String) {
        if pointer.len() > MAX_POINTER_BYTES {
            return;
        }
        let length = pointer.len();
        match value {
            Value::Object(map) => {
                let text = |key| map.get(key).and_then(Value::as_str);
                for anchor in [text("$anchor"), text("$dynamicAnchor")].into_iter().flatten() {
                    self.anchors.entry(anchor.to_owned()).or_insert_with(|| pointer.clone());
                }
                for address in [text("$id"), text("$self")].into_iter().flatten() {
                    let address = address.trim_end_matches('#').to_owned();
                    self.addresses.entry(address).or_insert_with(|| pointer.clone());
                }
                for (key, value) in map.iter().filter(|(_, value)| is_composite(value)) {
                    pointer.push('/');
                    pointer.push_str(&pointer_part(key));
                    self.gather(value, pointer);
                    pointer.truncate(length);
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate().filter(|(_, value)| is_composite(value)) {
                    pointer.push('/');
                    pointer.push_str(&index.to_string());
                    self.gather(value, pointer);
                    pointer.truncate(length);
                }
            }
            _ => {}
        }
    }
}

fn is_composite(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

/// Returns the files that the references of a file name, in order.
fn named_files(file: &File) -> Vec<String> {
    let mut paths = Vec::new();
    let mut pending = vec![&file.value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(reference)) = map.get("$ref")
                    && !reference.starts_with('#')
                {
                    let address =
                        reference.split_once('#').map_or(reference.as_str(), |(address, _)| address);
                    paths.extend(file.path_of(address));
                }
                pending.extend(map.values().rev().filter(|value| is_composite(value)));
            }
            Value::Array(items) => pending.extend(items.iter().rev().filter(|value| is_composite(value))),
            _ => {}
        }
    }
    paths
}

fn read_file(folder: &Root, path: &str, bytes_left: &mut usize) -> Result<Value, String> {
    let limit = MAX_BYTES.min(*bytes_left);
    let slice = folder.read(path, 0, limit).map_err(|error| error.to_string())?;
    if slice.truncated {
        *bytes_left = 0;
        return Err(format!(
            "`{path}` is too large: a file may have {MAX_BYTES} bytes, and all of a document {MAX_REFERRED_BYTES}"
        ));
    }
    *bytes_left -= slice.bytes.len();
    let format = Format::detect(path.as_ref(), &slice.bytes);
    parse(&slice.bytes, format, &limits()).map(|document| document.value).map_err(|error| error.at(path))
}

/// Returns true if an address begins with a scheme such as `https:`.
fn has_scheme(address: &str) -> bool {
    address.split_once(':').is_some_and(|(scheme, _)| {
        // A single letter is a drive.
        scheme.len() > 1
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    })
}
