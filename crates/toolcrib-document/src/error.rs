//! Errors of texts, with their positions.

use std::fmt;

use toolcrib_model::text::ellipsize_chars;

use crate::limits::{MAX_ALIAS_BYTES, MAX_ALIAS_NODES, MAX_DEPTH, MAX_VALUES};

/// A place in a text, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// An error of a text. The message does not include a position; [`Error::at`] adds file, line and column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// More bytes than allowed.
    #[error("the text has {bytes} bytes, more than the allowed {max}")]
    TooLarge {
        /// The number of bytes.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// More than [`MAX_VALUES`].
    #[error("the text holds more than {MAX_VALUES} values; split it")]
    TooManyValues,
    /// Not plain UTF-8.
    #[error("{problem}; save the file as UTF-8")]
    Encoding {
        /// The problem.
        problem: String,
    },
    /// Not well-formed.
    #[error("{message}")]
    Syntax {
        /// The position.
        position: Position,
        /// The message of the parser.
        message: String,
    },
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("values are nested deeper than {MAX_DEPTH} levels")]
    TooDeep {
        /// The position at which the limit was exceeded.
        position: Position,
    },
    /// Aliases repeat more than [`MAX_ALIAS_NODES`] values.
    #[error("aliases repeat more than {MAX_ALIAS_NODES} values")]
    TooManyAliases {
        /// The alias that passed the bound.
        position: Position,
    },
    /// Anchors and aliases repeat more than [`MAX_ALIAS_BYTES`] bytes.
    #[error("anchors and aliases repeat more than {MAX_ALIAS_BYTES} bytes; write fewer or smaller ones")]
    AliasesTooLarge {
        /// The anchor or alias that passed the bound.
        position: Position,
    },
    /// A mapping has a duplicate key.
    #[error("duplicate key `{key}`")]
    DuplicateKey {
        /// The second one.
        position: Position,
        /// The key.
        key: String,
    },
    /// A key is not a text.
    #[error("the key `{key}` is not a text; put {} in quotes", quoted(key))]
    NonStringKey {
        /// The key.
        position: Position,
        /// As it was written, or what it is.
        key: String,
    },
    /// A tag other than those of the core schema.
    #[error("the tag `{tag}` is not supported; write the plain value")]
    Tag {
        /// The position.
        position: Position,
        /// The tag.
        tag: String,
    },
    /// A value that JSON cannot hold.
    #[error("`{text}` cannot be written as JSON; put it in quotes if it is a text")]
    Unrepresentable {
        /// The position.
        position: Position,
        /// The value as it was written.
        text: String,
    },
    /// More than one YAML document in one text.
    #[error("the text holds more than one document; keep one")]
    SeveralDocuments {
        /// The position of the second key.
        position: Position,
    },
    /// Well-formed, but not what was expected here.
    #[error("{message}")]
    Shape {
        /// The position, if it was found.
        position: Option<Position>,
        /// The path of keys, as `tools.registry[0].path`; empty for the whole.
        path: String,
        /// The expected form.
        message: String,
    },
}

impl Error {
    /// Returns the position of the error, if it has a single one.
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::TooLarge { .. } | Self::TooManyValues | Self::Encoding { .. } => None,
            Self::Syntax { position, .. }
            | Self::TooDeep { position }
            | Self::TooManyAliases { position }
            | Self::AliasesTooLarge { position }
            | Self::DuplicateKey { position, .. }
            | Self::NonStringKey { position, .. }
            | Self::Tag { position, .. }
            | Self::Unrepresentable { position, .. }
            | Self::SeveralDocuments { position } => Some(*position),
            Self::Shape { position, .. } => *position,
        }
    }

    /// Returns true if the text exceeds a limit, rather than being invalid.
    pub fn is_limit(&self) -> bool {
        matches!(
            self,
            Self::TooLarge { .. }
                | Self::TooManyValues
                | Self::TooDeep { .. }
                | Self::TooManyAliases { .. }
                | Self::AliasesTooLarge { .. }
        )
    }

    /// `file:line:column: message`.
    pub fn at(&self, file: impl fmt::Display) -> String {
        match self.position() {
            Some(position) => format!("{file}:{position}: {self}"),
            None => format!("{file}: {self}"),
        }
    }
}

/// The most characters of a key, a tag or a value that an error shows.
const MAX_SHOWN_CHARS: usize = 120;

/// Returns the start of a text, for an error: what is wrong with a key of megabytes can be seen at its start.
pub(crate) fn shown(text: &str) -> String {
    ellipsize_chars(text, MAX_SHOWN_CHARS).into_owned()
}

/// The key of an error about a mapping in the place of a key, as in `{{a}}`.
pub(crate) const OPEN_MAPPING: &str = "{…}";

/// The key of an error about a sequence in the place of a key.
pub(crate) const OPEN_SEQUENCE: &str = "[…]";

/// Returns what belongs in quotes, for an error about a key.
fn quoted(key: &str) -> &'static str {
    match key {
        OPEN_MAPPING => "a text that begins with `{`",
        OPEN_SEQUENCE => "a text that begins with `[`",
        _ => "it",
    }
}
