//! Limits of texts.

/// The most bytes of one text: 16 MiB, which is several times the largest public OpenAPI document.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The deepest nesting of values; deeper ones are found in attacks only, and every reader of a value recurses.
pub const MAX_DEPTH: usize = 128;

/// The most values of one text: a million, which is one for each 16 bytes of the largest. They are counted by what
/// separates them (commas, opening brackets, in YAML lines too), before anything is read: a value takes some hundred
/// bytes once it is read, and as little as two in the text.
pub const MAX_VALUES: usize = 1_000_000;

/// The most values that YAML aliases may add by repetition.
pub const MAX_ALIAS_NODES: usize = 100_000;

/// The most bytes that YAML anchors and aliases may add by repetition, texts and keys included: 16 MiB, as much as a
/// text itself may have.
pub const MAX_ALIAS_BYTES: usize = 16 * 1024 * 1024;

/// The limits of a text. The default suits files that people write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes; [`MAX_BYTES`] by default.
    pub max_bytes: usize,
    /// True to accept numbers, booleans and null as YAML keys, which are then read as written. False by default. OpenAPI
    /// documents need it for their status codes.
    pub scalar_keys: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_bytes: MAX_BYTES, scalar_keys: false }
    }
}

impl Limits {
    /// Lets YAML keys be numbers, booleans and null.
    pub fn with_scalar_keys(mut self) -> Self {
        self.scalar_keys = true;
        self
    }
}
