//! Optional keys of a section that need a value if they are written.

use serde::{Deserialize, Deserializer};

/// Refuses a key without a value: `module:` with nothing behind it is a mistake, not any module.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
