//! Bodies of requests, of which only what is new is encoded.

use bytes::Bytes;
use serde::Serialize;

use super::WireFormat;
use crate::chat::{ChatRequest, EncodedPrefix};
use crate::{Error, Message};

/// The bytes that are reserved for a body beyond its encoded messages, about those of a short conversation.
const BODY_BYTES: usize = 64 * 1024;

/// The elements of messages, in order.
pub(super) struct Elements<T> {
    pub(super) all: Vec<T>,
    /// The number of elements at the beginning that stay as they are when the conversation grows.
    pub(super) settled: usize,
    /// The number of messages that these are the elements of.
    pub(super) settled_messages: usize,
}

impl<T> Elements<T> {
    /// Returns elements of messages that each stay as they are.
    pub(super) fn settled(elements: Vec<T>, messages: usize) -> Self {
        Self { settled: elements.len(), all: elements, settled_messages: messages }
    }
}

/// A body of a request: an object that ends with the conversation, and with what changes from turn to turn.
pub(super) struct BodyWriter {
    bytes: Vec<u8>,
    is_empty: bool,
}

impl BodyWriter {
    /// Begins a body with the fields of `head`, and with the array of the conversation under `key`.
    pub(super) fn new(head: &impl Serialize, key: &str) -> Result<Self, Error> {
        let mut bytes = Vec::with_capacity(BODY_BYTES);
        write(&mut bytes, head)?;
        // The object continues.
        bytes.pop();
        if bytes.last().is_some_and(|last| *last != b'{') {
            bytes.push(b',');
        }
        bytes.push(b'"');
        bytes.extend_from_slice(key.as_bytes());
        bytes.extend_from_slice(b"\":[");
        Ok(Self { bytes, is_empty: true })
    }

    /// Adds an element to the array.
    pub(super) fn element(&mut self, element: &impl Serialize) -> Result<(), Error> {
        if !std::mem::take(&mut self.is_empty) {
            self.bytes.push(b',');
        }
        write(&mut self.bytes, element)
    }

    /// Adds the messages of a request. `elements` returns those of messages from a position on. The conversation keeps the
    /// elements that do not change when it grows, unless `anchor` changes, on which they depend too.
    pub(super) fn conversation<'a, T: Serialize>(
        &mut self,
        request: &ChatRequest<'a>,
        format: WireFormat,
        anchor: Option<usize>,
        elements: impl FnOnce(&'a [Message], usize) -> Elements<T>,
    ) -> Result<(), Error> {
        let own = EncodedPrefix::default();
        let mut prefix = request.encoded.unwrap_or(&own).lock();
        let encoded = prefix.of(format, anchor, request.messages.len());
        self.append(&encoded.bytes);
        let rest = request.messages.get(encoded.messages..).unwrap_or_default();
        let Elements { all, settled, settled_messages } = elements(rest, encoded.messages);
        let start = self.bytes.len();
        for (position, element) in all.iter().enumerate() {
            if position == settled {
                encoded.extend(self.bytes.get(start..).unwrap_or_default(), settled_messages);
            }
            self.element(element)?;
        }
        if settled == all.len() {
            encoded.extend(self.bytes.get(start..).unwrap_or_default(), settled_messages);
        }
        Ok(())
    }

    /// Appends encoded elements.
    fn append(&mut self, elements: &[u8]) {
        self.bytes.reserve(elements.len() + BODY_BYTES);
        if !elements.is_empty() && !std::mem::take(&mut self.is_empty) {
            self.bytes.push(b',');
        }
        self.bytes.extend_from_slice(elements);
    }

    /// Ends the body with the fields of `tail`.
    pub(super) fn finish(mut self, tail: &impl Serialize) -> Result<Bytes, Error> {
        self.bytes.push(b']');
        let start = self.bytes.len();
        write(&mut self.bytes, tail)?;
        // The fields continue the object behind the array.
        match self.bytes.get(start..) {
            Some(b"{}") => {
                self.bytes.remove(start);
            }
            _ => {
                if let Some(first) = self.bytes.get_mut(start) {
                    *first = b',';
                }
            }
        }
        Ok(self.bytes.into())
    }
}

fn write(bytes: &mut Vec<u8>, value: &impl Serialize) -> Result<(), Error> {
    serde_json::to_writer(bytes, value)
        .map_err(|error| Error::InvalidOption { key: "messages", message: error.to_string() })
}
