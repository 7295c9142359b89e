//! The text of a tool that is made a vector of.

use std::fmt;

use sha2::{Digest, Sha256};
use toolcrib_model::{Tool, words_of_name};

use crate::document::{Field, ToolText};
use crate::text::truncated;

/// The most bytes of one text. Models of this size read some 256 words, and leave the rest out.
pub const MAX_EMBEDDED_BYTES: usize = 2 * 1024;

/// The digest of a text and of the model that makes a vector of it: the key of the vector.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The digest of a text for the model of this [id](super::Embedder::id).
    pub fn of(model: &str, text: &str) -> Self {
        let digest = Sha256::new()
            .chain_update(model.len().to_le_bytes())
            .chain_update(model)
            .chain_update(text)
            .finalize();
        Self(digest.into())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The words of the name, the description, and what the parameters are called and for, a line each.
pub(crate) fn text_of(tool: &Tool) -> String {
    let mut fields = ToolText::default();
    fields.add(tool);
    let mut text = words_of_name(tool.name.name()).join(" ");
    for field in [Field::Description, Field::Keywords, Field::Parameters] {
        if text.len() >= MAX_EMBEDDED_BYTES {
            break;
        }
        for line in fields.get(field).lines() {
            text.push('\n');
            text.push_str(line);
        }
    }
    truncated(&text, MAX_EMBEDDED_BYTES).to_owned()
}
