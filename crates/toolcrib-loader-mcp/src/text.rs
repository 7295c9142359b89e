//! Cleaning of texts that servers send, so that they are safe to show.

pub(crate) use toolcrib_model::text::clean_text as clean;

/// The largest number of characters of a tool's description that a model sees. The longest ones of common servers have
/// about 3,000.
pub(crate) const MAX_DESCRIPTION_CHARS: usize = 4_096;

/// The largest number of characters of a tool's title.
pub(crate) const MAX_TITLE_CHARS: usize = 256;

/// The largest number of characters of an error that a server reports. The rest of a stack trace helps no model.
pub(crate) const MAX_ERROR_CHARS: usize = 4_096;

/// The largest number of characters of a server's instructions.
pub(crate) const MAX_INSTRUCTIONS_CHARS: usize = 8_192;

/// The largest number of characters of a server's title, and of its description.
pub(crate) const MAX_ABOUT_CHARS: usize = 200;

/// The largest number of characters of a progress message.
pub(crate) const MAX_PROGRESS_CHARS: usize = 256;

/// The largest number of characters of an invalid name that an error repeats.
pub(crate) const MAX_SHOWN_NAME_CHARS: usize = 80;
