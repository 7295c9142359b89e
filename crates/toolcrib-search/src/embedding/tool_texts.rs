//! The texts of a tool that are embedded.

use std::fmt;

use sha2::{Digest, Sha256};
use toolcrib_model::Tool;
use toolcrib_model::text::{truncate_bytes, words_of_name};

use crate::tool_text::{Field, ToolText};

/// The most bytes of one text. Models of this size read about 256 words and ignore the rest.
pub const MAX_EMBEDDED_BYTES: usize = 2 * 1024;

/// The digest of texts and of the model that embeds them: the key of their vector.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; Self::BYTES]);

impl ContentHash {
    /// The length in bytes.
    pub(crate) const BYTES: usize = 32;

    /// Returns the digest of these texts for the model of this [id](super::Embedder::id).
    pub fn of<T: AsRef<str>>(model: &str, texts: &[T]) -> Self {
        let mut hash = Sha256::new().chain_update(model.len().to_le_bytes()).chain_update(model);
        for text in texts.iter().map(AsRef::as_ref) {
            hash.update(text.len().to_le_bytes());
            hash.update(text);
        }
        Self(hash.finalize().into())
    }

    pub(crate) fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    pub(crate) fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Returns the texts of a tool and its overloads: the name and the purpose, and the same with all other metadata. If
/// both are the same, only one is returned.
///
/// The vector of the tool is the mean of their vectors, so that its product with a query is the mean of their scores.
pub(crate) fn texts_of(overloads: &[&Tool]) -> Vec<String> {
    let mut fields = ToolText::default();
    for tool in overloads {
        fields.add(tool);
    }
    let name = overloads.first().map(|tool| words_of_name(tool.name.name()).join(" ")).unwrap_or_default();
    let short = text(&name, &fields, &[Field::Description]);
    let whole = text(&name, &fields, &[Field::Description, Field::Keywords, Field::Parameters]);
    if short == whole { vec![short] } else { vec![short, whole] }
}

/// Returns the words of the name and the pieces of these fields, one per line.
fn text(name: &str, fields: &ToolText<'_>, wanted: &[Field]) -> String {
    let mut text = name.to_owned();
    for line in wanted.iter().flat_map(|field| fields.get(*field).lines()) {
        if text.len() >= MAX_EMBEDDED_BYTES {
            break;
        }
        text.push('\n');
        text.push_str(line);
    }
    truncate_bytes(&text, MAX_EMBEDDED_BYTES).to_owned()
}
