//! Moments as people and models read them: to the second.

use jiff::Timestamp;
use serde::Serializer;

/// Serializes a moment without the fraction of its second.
pub(crate) fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{at:.0}"))
}

/// The same for a moment that may be absent.
pub(crate) mod optional {
    use jiff::Timestamp;
    use serde::Serializer;

    #[expect(clippy::ref_option, reason = "this is how serde calls it")]
    pub(crate) fn serialize<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => super::serialize(at, serializer),
            None => serializer.serialize_none(),
        }
    }
}
