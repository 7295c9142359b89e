//! The resolution of `$ref`.

use percent_encoding::percent_decode_str;
use serde_json::Value;
use toolcrib_model::text::kind_of;

use super::{Node, Spec};
use crate::Error;

/// The most references in a chain.
const MAX_REFERENCE_HOPS: usize = 32;

/// The identity of a value: its file, and its JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ValueLocation {
    pub(crate) file: usize,
    pub(crate) pointer: String,
}

impl<'a> Spec<'a> {
    /// Returns the value itself, or the target of its `$ref`.
    pub(crate) fn resolve(&self, node: Node<'a>) -> Result<Node<'a>, Error> {
        self.resolve_within(node, &mut { MAX_REFERENCE_HOPS })
    }

    fn resolve_within(&self, mut node: Node<'a>, hops: &mut usize) -> Result<Node<'a>, Error> {
        while let Some(reference) = node.value.get("$ref") {
            let Value::String(reference) = reference else {
                return Err(Error::malformed(format!(
                    "a `$ref` must be a string, not {}",
                    kind_of(reference)
                )));
            };
            *hops = hops.checked_sub(1).ok_or_else(|| Error::circular(reference))?;
            node = self.target_within(node.file, reference, hops)?.1;
        }
        Ok(node)
    }

    /// Returns the target of one reference and its location.
    pub(crate) fn target(&self, from: usize, reference: &str) -> Result<(ValueLocation, Node<'a>), Error> {
        self.target_within(from, reference, &mut { MAX_REFERENCE_HOPS })
    }

    fn target_within(
        &self,
        from: usize,
        reference: &str,
        hops: &mut usize,
    ) -> Result<(ValueLocation, Node<'a>), Error> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = percent_decode_str(fragment).decode_utf8_lossy();
        let top = match self.documents.find(from, address, reference)? {
            // A schema with an `$id` is a separate document.
            ValueLocation { file, pointer } if pointer.is_empty() => ValueLocation { file, pointer },
            inner if fragment.is_empty() || fragment.starts_with('/') => inner,
            ValueLocation { file, .. } => ValueLocation { file, pointer: String::new() },
        };
        let pointer = if fragment.is_empty() || fragment.starts_with('/') {
            format!("{}{fragment}", top.pointer)
        } else {
            let anchored = self.documents.anchor(top.file, &fragment);
            anchored.ok_or_else(|| Error::dangling(reference))?
        };
        let file = self.documents.top(top.file);
        match file.value.pointer(&pointer) {
            Some(value) => Ok((ValueLocation { file: top.file, pointer }, file.at(value))),
            None => self.walk(file, &pointer, reference, hops),
        }
    }

    /// Follows a pointer that passes through references, which is common although not permitted.
    fn walk(
        &self,
        top: Node<'a>,
        pointer: &str,
        reference: &str,
        hops: &mut usize,
    ) -> Result<(ValueLocation, Node<'a>), Error> {
        let dangling = || Error::dangling(reference);
        let mut node = top;
        let mut key = ValueLocation { file: top.file, pointer: String::new() };
        for token in pointer.split('/').skip(1) {
            let step = format!("/{token}");
            while node.value.pointer(&step).is_none() {
                let next = node.text("$ref").ok_or_else(dangling)?;
                *hops = hops.checked_sub(1).ok_or_else(|| Error::circular(reference))?;
                (key, node) = self.target_within(node.file, next, hops)?;
            }
            node = node.value.pointer(&step).map(|value| node.at(value)).ok_or_else(dangling)?;
            key.pointer.push_str(&step);
        }
        Ok((key, node))
    }
}
