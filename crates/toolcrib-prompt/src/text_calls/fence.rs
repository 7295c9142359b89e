//! Lines that open or close a code block.

use super::cursor::{Cursor, Stop};

/// The longest info string of a fence, in bytes.
const MAX_LANGUAGE_BYTES: usize = 32;

/// Reads three backticks and the word after them. Returns `None` if there is no fence here.
pub(super) fn line<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a str>, Stop> {
    let at = cursor.at();
    if !cursor.begins("```")? {
        return Ok(None);
    }
    cursor.eat("```");
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+');
    match cursor.take_while(MAX_LANGUAGE_BYTES, is_part) {
        Ok(language) => Ok(Some(language)),
        Err(Stop::Out) if cursor.is_end() => Ok(Some("")),
        Err(Stop::Out) => Err(Stop::Out),
        Err(Stop::No(_)) => {
            cursor.jump(at);
            Ok(None)
        }
    }
}
