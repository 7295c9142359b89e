//! Previews of results that are too large for their reader.

pub(super) mod outline;
pub(super) mod summary;
pub(super) mod text_ends;
pub(super) mod value_preview;
