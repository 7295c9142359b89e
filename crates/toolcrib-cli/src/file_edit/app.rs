//! Additions to an app file that keep its comments, order, and layout.
//!
//! The text is edited as a lossless syntax tree. The result is parsed again and compared with the expected value, so that
//! a layout which the editor cannot handle is an error with the text to add by hand, and never a damaged file.

use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use serde_json::Value;
use toolcrib_app::{App, Blueprint, Error, Extensions, LaunchOptions};
use toolcrib_document::{Format, Limits, parse};
use yaml_edit::{Document, Mapping, Sequence};

use super::target::Target;
use super::yaml_text::{block, flow};
use crate::exit::Failure;

/// The style of a new item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollectionStyle {
    /// One line for each key.
    Block,
    /// All keys in one line.
    Flow,
}

/// An app file, and the text that it will have.
#[derive(Debug)]
pub(crate) struct AppEdit {
    target: Target,
    text: String,
}

impl AppEdit {
    /// Reads an app file.
    ///
    /// # Errors
    ///
    /// The file does not exist, cannot be read, or is not YAML.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let target = Target::read(path.to_owned())?;
        let shown = path.display();
        let Some(text) = target.text.clone() else {
            return Err(Failure::bad_input(format!(
                "{shown} does not exist; name the app file with --app, or write one with `toolcrib init`"
            )));
        };
        if Format::detect(path, text.as_bytes()) != Format::Yaml {
            return Err(Failure::bad_input(format!(
                "{shown} is not YAML; only app files in YAML can be edited"
            )));
        }
        parse(text.as_bytes(), Format::Yaml, &Limits::default())
            .map_err(|error| Failure::bad_input(format!("{shown}: {error}")))?;
        Ok(Self { target, text })
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.target.path
    }

    /// Returns the value that the file will have.
    pub(crate) fn value(&self) -> Value {
        value(&self.text).unwrap_or_default()
    }

    /// Returns the text as it is in the file.
    pub(crate) fn before(&self) -> &str {
        self.target.text.as_deref().unwrap_or_default()
    }

    /// Returns the text that the file will have.
    pub(crate) fn after(&self) -> &str {
        &self.text
    }

    /// Appends an item to the list at these keys. Keys that are absent are added.
    ///
    /// # Errors
    ///
    /// The keys lead to something else than a list, or the layout of the file cannot be edited.
    pub(crate) fn append(
        &mut self,
        keys: &[&str],
        item: &Value,
        style: CollectionStyle,
    ) -> Result<(), Failure> {
        let text = match style {
            CollectionStyle::Block => block(item),
            CollectionStyle::Flow => flow(item),
        };
        let by_hand = || {
            Failure::bad_input(format!(
                "{} has a layout that cannot be edited; add this to `{}` by hand:\n{text}",
                self.target.path.display(),
                keys.join(".")
            ))
        };
        let mut expected = value(&self.text).ok_or_else(by_hand)?;
        push(&mut expected, keys, item.clone()).ok_or_else(by_hand)?;
        let edited = appended(&self.text, keys, &text).ok_or_else(by_hand)?;
        if value(&edited) != Some(expected) {
            return Err(by_hand());
        }
        self.text = edited;
        Ok(())
    }

    /// Sets keys of the mapping at these keys, and removes others of it. Keys that are absent are added.
    ///
    /// # Errors
    ///
    /// The keys lead to something else than a mapping, or the layout of the file cannot be edited.
    pub(crate) fn set(
        &mut self,
        keys: &[&str],
        settings: &[(&str, Value)],
        removed: &[&str],
    ) -> Result<(), Failure> {
        let by_hand = || {
            let settings: Value =
                settings.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
            Failure::bad_input(format!(
                "{} has a layout that cannot be edited; set this in `{}` by hand:\n{}",
                self.target.path.display(),
                keys.join("."),
                flow(&settings)
            ))
        };
        let mut expected = value(&self.text).ok_or_else(by_hand)?;
        let section = member(&mut expected, keys).ok_or_else(by_hand)?;
        if section.is_null() {
            *section = Value::Object(serde_json::Map::new());
        }
        let section = section.as_object_mut().ok_or_else(by_hand)?;
        section.retain(|key, _| !removed.contains(&key.as_str()));
        section.extend(settings.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        let edited = with_settings(&self.text, keys, settings, removed).ok_or_else(by_hand)?;
        if value(&edited) != Some(expected) {
            return Err(by_hand());
        }
        self.text = edited;
        Ok(())
    }

    /// Checks that the new text is a valid app, without connecting to anything.
    ///
    /// # Errors
    ///
    /// Returns the errors of the app file.
    pub(crate) fn check(&self, extensions: &Extensions) -> Result<(), Error> {
        let app = App::open_with_text(&self.target.path, &self.text, extensions.clone())?;
        Blueprint::new(app, LaunchOptions::default()).map(drop)
    }

    /// Writes the new text, and returns the place of the copy of the former.
    ///
    /// # Errors
    ///
    /// The file has changed since it was read, or cannot be written.
    pub(crate) fn write(&self) -> Result<Option<PathBuf>, Failure> {
        self.target.write(Some(&self.text), true, None)
    }
}

pub(super) fn value(text: &str) -> Option<Value> {
    parse(text.as_bytes(), Format::Yaml, &Limits::default()).ok().map(|document| document.value)
}

/// Appends an item to a list within a value; `None` if the keys lead to something else.
pub(super) fn push(value: &mut Value, keys: &[&str], item: Value) -> Option<()> {
    let list = member(value, keys)?;
    if list.is_null() {
        *list = Value::Array(Vec::new());
    }
    list.as_array_mut()?.push(item);
    Some(())
}

/// Returns the value at these keys, which is null where it was absent; `None` if the keys lead to something else.
fn member<'a>(value: &'a mut Value, keys: &[&str]) -> Option<&'a mut Value> {
    let mut at = value;
    for key in keys {
        if at.is_null() {
            *at = Value::Object(serde_json::Map::new());
        }
        at = at.as_object_mut()?.entry(*key).or_insert(Value::Null);
    }
    Some(at)
}

/// Returns the text with an item at the end of a list; `None` if the keys lead to something else.
pub(super) fn appended(text: &str, keys: &[&str], item: &str) -> Option<String> {
    let document = Document::from_str(text).ok()?;
    let (list, parents) = keys.split_last()?;
    let mapping = mapping(&document, parents)?;
    // A list that was written as `[]` gets one line for each key of its items, like one that is absent.
    if mapping.get_sequence(*list).is_none_or(|sequence| sequence.is_empty()) {
        mapping.set(*list, Sequence::new());
    }
    let item = Document::from_str(item).ok()?;
    mapping.get_sequence(*list)?.push(item.as_mapping()?);
    Some(text_of(&document))
}

/// Returns the text with these keys set in a mapping, and others removed; `None` if the keys lead to something else.
fn with_settings(text: &str, keys: &[&str], settings: &[(&str, Value)], removed: &[&str]) -> Option<String> {
    let document = Document::from_str(text).ok()?;
    let mapping = mapping(&document, keys)?;
    for key in removed.iter().filter(|key| settings.iter().all(|(set, _)| set != *key)) {
        mapping.remove(*key);
    }
    for (key, value) in settings {
        let value = Document::from_str(&format!("{key}: {}\n", flow(value))).ok()?;
        mapping.set(*key, value.as_mapping()?.get(*key)?);
    }
    Some(text_of(&document))
}

/// Returns the mapping at these keys, which is made where it is absent; `None` if the keys lead to something else.
fn mapping(document: &Document, keys: &[&str]) -> Option<Mapping> {
    let mut mapping = document.as_mapping()?;
    for key in keys {
        if mapping.get_mapping(*key).is_none() {
            mapping.set(*key, Mapping::new());
        }
        mapping = mapping.get_mapping(*key)?;
    }
    Some(mapping)
}

fn text_of(document: &Document) -> String {
    let mut text = document.to_string();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
