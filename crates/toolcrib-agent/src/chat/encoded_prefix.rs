//! The encoded beginning of a conversation.

use std::fmt;

use parking_lot::{Mutex, MutexGuard};

use crate::api::WireFormat;

/// The beginning of a conversation as the API has it that was asked last. A request encodes only the messages behind it.
#[derive(Default)]
pub struct EncodedPrefix(Mutex<Prefix>);

/// The encoded messages, if there are any.
#[derive(Default)]
pub(crate) struct Prefix(Option<Encoded>);

/// Encoded messages.
pub(crate) struct Encoded {
    format: WireFormat,
    /// The position of a message that the elements depend on too.
    anchor: Option<usize>,
    /// The number of messages.
    pub(crate) messages: usize,
    /// Their elements, separated by commas.
    pub(crate) bytes: Vec<u8>,
}

impl EncodedPrefix {
    /// Forgets the elements if one of them is of this message or a later one.
    pub(crate) fn forget_from(&mut self, position: usize) {
        let prefix = self.0.get_mut();
        if prefix.0.as_ref().is_some_and(|encoded| encoded.messages > position) {
            prefix.0 = None;
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Prefix> {
        self.0.lock()
    }
}

impl Prefix {
    /// Returns the elements in a format of at most this many messages.
    pub(crate) fn of(&mut self, format: WireFormat, anchor: Option<usize>, messages: usize) -> &mut Encoded {
        let is_usable = |encoded: &Encoded| {
            encoded.format == format && encoded.anchor == anchor && encoded.messages <= messages
        };
        if !self.0.as_ref().is_some_and(is_usable) {
            self.0 = None;
        }
        self.0.get_or_insert(Encoded { format, anchor, messages: 0, bytes: Vec::new() })
    }
}

impl Encoded {
    /// Adds the elements of more messages.
    pub(crate) fn extend(&mut self, elements: &[u8], messages: usize) {
        let elements =
            if self.bytes.is_empty() { elements.strip_prefix(b",").unwrap_or(elements) } else { elements };
        self.bytes.extend_from_slice(elements);
        self.messages += messages;
    }
}

/// A copy encodes its messages itself.
impl Clone for EncodedPrefix {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// It follows from the messages.
impl PartialEq for EncodedPrefix {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for EncodedPrefix {}

impl fmt::Debug for EncodedPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncodedPrefix").finish_non_exhaustive()
    }
}
