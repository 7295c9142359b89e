//! Making a server's words safe to show.

use toolcrib_model::{is_invisible, visible_text};

/// The most characters of a tool's description that a model sees. The longest in common servers have about 3,000.
pub const MAX_DESCRIPTION_CHARS: usize = 4_096;

/// The most characters of a tool's title.
pub const MAX_TITLE_CHARS: usize = 256;

/// The most characters of an error that a server reports. The rest of a stack trace helps no model.
pub const MAX_ERROR_CHARS: usize = 4_096;

/// The most characters of what a server says of how to use it.
pub const MAX_INSTRUCTIONS_CHARS: usize = 8_192;

/// The most characters of the title of a server, and of its description.
pub(crate) const MAX_ABOUT_CHARS: usize = 200;

/// The most characters of what a server says of its progress.
pub const MAX_PROGRESS_CHARS: usize = 256;

/// The most characters of a name of no use that is repeated.
pub(crate) const MAX_SHOWN_NAME_CHARS: usize = 80;

/// Takes out what shows nothing, moves the cursor, turns the direction of text or hides letters in tag characters, and
/// cuts the rest at `max_chars`. Line breaks and tabs stay.
pub(crate) fn clean(text: &str, max_chars: usize) -> String {
    let visible = visible_text(text);
    // Names and errors are compared and quoted, so that they do without joiners.
    let mut chars = visible.trim().chars().filter(|c| !is_invisible(*c) || matches!(c, '\n' | '\t'));
    let mut cleaned: String = chars.by_ref().take(max_chars).collect();
    if chars.next().is_some() {
        cleaned.push('…');
    }
    cleaned
}
