//! An upper bound for the number of values in a text, computed without parsing it.

use crate::{Error, Format, MAX_VALUES};

/// Refuses a text of more than [`MAX_VALUES`] values. What separates values is counted; a comma inside of a text counts
/// in YAML, and in JSON only where the count without a look at texts would be too high.
pub(crate) fn check(text: &str, format: Format) -> Result<(), Error> {
    let has_lines = format != Format::Json;
    let opens = |byte: u8| matches!(byte, b',' | b'[' | b'{');
    let ends = |byte: u8| byte == b'\n';
    let lines = if has_lines { count(text, ends) } else { 0 };
    if count(text, opens) + lines < MAX_VALUES {
        return Ok(());
    }
    let separates = |byte: &&u8| opens(**byte) || has_lines && ends(**byte);
    let is_fine = format != Format::Yaml
        && outside_of_texts(text).filter(separates).take(MAX_VALUES).count() < MAX_VALUES;
    if is_fine { Ok(()) } else { Err(Error::TooManyValues) }
}

/// Counts the bytes that match a predicate, in chunks whose count fits a byte, so that the compiler vectorizes the loop.
/// Every parsed text passes here.
fn count(text: &str, is_meant: impl Fn(u8) -> bool) -> usize {
    let count = |bytes: &[u8]| bytes.iter().map(|byte| u8::from(is_meant(*byte))).sum::<u8>();
    text.as_bytes().chunks(usize::from(u8::MAX)).map(|bytes| usize::from(count(bytes))).sum()
}

/// Returns the bytes of a JSON text that stand in no string.
fn outside_of_texts(text: &str) -> impl Iterator<Item = &u8> {
    let (mut is_inside, mut is_escaped) = (false, false);
    text.as_bytes().iter().filter(move |byte| {
        if !is_inside {
            is_inside = **byte == b'"';
            return !is_inside;
        }
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_inside = false,
            _ => {}
        }
        false
    })
}
