//! YAML text, built from the parser's events so that every bound is ours.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};
use serde_json::{Map, Value};
use toolcrib_model::text::pointer_part;

use crate::big_integers::{ExactIntegers, Node, exact_at};
use crate::error::{OPEN_MAPPING, OPEN_SEQUENCE, shown};
use crate::limits::{MAX_ALIAS_BYTES, MAX_ALIAS_NODES};
use crate::{Error, Limits, MAX_DEPTH, Position, scalar};

/// The key that copies the entries of other mappings into this one.
const MERGE_KEY: &str = "<<";

pub(crate) fn read(text: &str, limits: &Limits) -> Result<Node, Error> {
    let mut builder = Builder {
        limits,
        open: Vec::new(),
        anchors: HashMap::new(),
        alias_nodes: 0,
        copied_bytes: 0,
        root: None,
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| scan_error(&error))?;
        builder.take(event, start(span))?;
    }
    Ok(builder.root.unwrap_or_default())
}

fn scan_error(error: &ScanError) -> Error {
    let position = position(error.marker().line(), error.marker().col());
    // The parser has a separate limit for flow nesting.
    match error.info() {
        "recursion limit exceeded" => Error::TooDeep { position },
        info => Error::Syntax { position, message: format!("not valid YAML: {info}") },
    }
}

pub(crate) fn start(span: Span) -> Position {
    position(span.start.line(), span.start.col())
}

/// Converts a position: the parser counts lines from 1 and columns from 0.
fn position(line: usize, column: usize) -> Position {
    Position { line, column: column + 1 }
}

/// A mapping or sequence whose end has not been read yet.
struct OpenNode {
    content: Content,
    exact: ExactIntegers,
    anchor: usize,
}

enum Content {
    Sequence(Vec<Value>),
    Mapping { map: Map<String, Value>, merges: Vec<Node>, key: Option<Key> },
}

enum Key {
    Text(String),
    Merge,
}

struct Builder<'a> {
    limits: &'a Limits,
    open: Vec<OpenNode>,
    anchors: HashMap<usize, Node>,
    alias_nodes: usize,
    /// The number of bytes copied for anchors and aliases.
    copied_bytes: usize,
    root: Option<Node>,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, position: Position) -> Result<(), Error> {
        match event {
            Event::DocumentStart(_) if self.root.is_some() => Err(Error::SeveralDocuments { position }),
            Event::Scalar(text, style, anchor, tag) => {
                if self.key_expected() {
                    let key = self.key(&text, style, tag.as_deref(), position)?;
                    self.set_key(key, position)
                } else {
                    let value = value(&text, style, tag.as_deref(), position)?;
                    let mut exact = ExactIntegers::new();
                    if value.is_f64()
                        && let Some(digits) = scalar::integer(&text)
                    {
                        exact.insert(String::new(), digits);
                    }
                    self.put(Node { value, exact }, anchor, position)
                }
            }
            Event::SequenceStart(anchor, tag) => {
                check_tag(tag.as_deref(), "seq", position)?;
                self.push(Content::Sequence(Vec::new()), anchor, position)
            }
            Event::MappingStart(anchor, tag) => {
                check_tag(tag.as_deref(), "map", position)?;
                let content = Content::Mapping { map: Map::new(), merges: Vec::new(), key: None };
                self.push(content, anchor, position)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else { return Ok(()) };
                self.put(finish(open.content, open.exact), open.anchor, position)
            }
            Event::Alias(anchor) => self.alias(anchor, position),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn key_expected(&self) -> bool {
        matches!(self.open.last(), Some(OpenNode { content: Content::Mapping { key: None, .. }, .. }))
    }

    fn push(&mut self, content: Content, anchor: usize, position: Position) -> Result<(), Error> {
        if self.key_expected() {
            let key = if matches!(content, Content::Mapping { .. }) { OPEN_MAPPING } else { OPEN_SEQUENCE };
            return Err(Error::NonStringKey { position, key: key.into() });
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(Error::TooDeep { position });
        }
        self.open.push(OpenNode { content, exact: ExactIntegers::new(), anchor });
        Ok(())
    }

    fn key(
        &self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        position: Position,
    ) -> Result<Key, Error> {
        if style == ScalarStyle::Plain && text == MERGE_KEY {
            return Ok(Key::Merge);
        }
        let is_text =
            style != ScalarStyle::Plain || matches!(value(text, style, tag, position), Ok(Value::String(_)));
        if is_text || self.limits.scalar_keys {
            Ok(Key::Text(text.to_owned()))
        } else {
            Err(Error::NonStringKey { position, key: shown(text) })
        }
    }

    fn set_key(&mut self, new: Key, position: Position) -> Result<(), Error> {
        if let Some(OpenNode { content: Content::Mapping { map, key, .. }, .. }) = self.open.last_mut() {
            if let Key::Text(text) = &new
                && map.contains_key(text)
            {
                return Err(Error::DuplicateKey { position, key: shown(text) });
            }
            *key = Some(new);
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, position: Position) -> Result<(), Error> {
        let Some(node) = self.anchors.get(&anchor) else {
            let message = "not valid YAML: an alias stands inside the value that it names".into();
            return Err(Error::Syntax { position, message });
        };
        self.copied_bytes = charged(self.copied_bytes, node, position)?;
        if self.key_expected() {
            return match node.value.as_str() {
                Some(text) => self.set_key(Key::Text(text.to_owned()), position),
                None => Err(Error::NonStringKey { position, key: "an alias".into() }),
            };
        }
        self.alias_nodes = self.alias_nodes.saturating_add(count(&node.value));
        if self.alias_nodes > MAX_ALIAS_NODES {
            return Err(Error::TooManyAliases { position });
        }
        if self.open.len() + depth(&node.value) > MAX_DEPTH {
            return Err(Error::TooDeep { position });
        }
        let node = node.clone();
        self.put(node, 0, position)
    }

    fn put(&mut self, node: Node, anchor: usize, position: Position) -> Result<(), Error> {
        if anchor != 0 {
            self.copied_bytes = charged(self.copied_bytes, &node, position)?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.content {
            Content::Sequence(items) => {
                open.exact.extend(below(&items.len().to_string(), node.exact));
                items.push(node.value);
            }
            Content::Mapping { map, merges, key } => match key.take() {
                Some(Key::Text(key)) => {
                    open.exact.extend(below(&key, node.exact));
                    map.insert(key, node.value);
                }
                Some(Key::Merge) => merges.push(node),
                None => {}
            },
        }
        Ok(())
    }
}

/// Returns the same integers, as seen from the mapping or sequence above.
fn below(segment: &str, exact: ExactIntegers) -> impl Iterator<Item = (String, String)> {
    let segment = if exact.is_empty() { String::new() } else { pointer_part(segment) };
    exact.into_iter().map(move |(pointer, digits)| (format!("/{segment}{pointer}"), digits))
}

/// Closes a mapping or sequence. What stands in a mapping itself wins over what is merged into it.
fn finish(content: Content, mut exact: ExactIntegers) -> Node {
    let value = match content {
        Content::Sequence(items) => Value::Array(items),
        Content::Mapping { mut map, merges, .. } => {
            for merge in merges {
                // A list merges its members, the first one winning.
                let members: Vec<(String, &Value)> = match &merge.value {
                    Value::Array(items) => items
                        .iter()
                        .enumerate()
                        .map(|(position, item)| (format!("/{position}"), item))
                        .collect(),
                    other => vec![(String::new(), other)],
                };
                for (place, member) in members {
                    for (key, value) in member.as_object().into_iter().flatten() {
                        if map.contains_key(key) {
                            continue;
                        }
                        let pointer = format!("{place}/{}", pointer_part(key));
                        exact.extend(below(key, exact_at(&merge.exact, &pointer)));
                        map.insert(key.clone(), value.clone());
                    }
                }
            }
            Value::Object(map)
        }
    };
    Node { value, exact }
}

fn value(text: &str, style: ScalarStyle, tag: Option<&Tag>, position: Position) -> Result<Value, Error> {
    let unrepresentable = || Error::Unrepresentable { position, text: shown(text) };
    match tag {
        None if style == ScalarStyle::Plain => scalar::resolve(text).ok_or_else(unrepresentable),
        None => Ok(Value::String(text.to_owned())),
        Some(tag) if tag.is_yaml_core_schema() => match tag.suffix.as_str() {
            "str" => Ok(Value::String(text.to_owned())),
            "int" | "float" | "bool" | "null" => match scalar::resolve(text) {
                Some(Value::String(_)) | None => Err(unrepresentable()),
                Some(value) => Ok(value),
            },
            _ => Err(unsupported(tag, position)),
        },
        // `!` alone says that the scalar is a text.
        Some(tag) if tag.handle.is_empty() && tag.suffix == "!" => Ok(Value::String(text.to_owned())),
        Some(tag) => Err(unsupported(tag, position)),
    }
}

fn check_tag(tag: Option<&Tag>, allowed: &str, position: Position) -> Result<(), Error> {
    match tag {
        Some(tag) if !(tag.is_yaml_core_schema() && tag.suffix == allowed) => Err(unsupported(tag, position)),
        _ => Ok(()),
    }
}

fn unsupported(tag: &Tag, position: Position) -> Error {
    Error::Tag { position, tag: shown(&format!("{}{}", tag.handle, tag.suffix)) }
}

/// Returns the copied bytes with those of one more copy, unless they are too many.
fn charged(copied: usize, node: &Node, position: Position) -> Result<usize, Error> {
    let exact: usize = node.exact.iter().map(|(pointer, digits)| pointer.len() + digits.len()).sum();
    let copied = copied.saturating_add(bytes(&node.value)).saturating_add(exact);
    if copied > MAX_ALIAS_BYTES { Err(Error::AliasesTooLarge { position }) } else { Ok(copied) }
}

/// Returns the approximate size of a copy in bytes.
fn bytes(value: &Value) -> usize {
    let inner = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + bytes(value)).sum(),
        _ => 0,
    };
    size_of::<Value>() + inner
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
