//! Words and numbers in notes.

/// A number with its thousands apart: `12,345`.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 item`, `2 items`.
pub(super) fn counted(number: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// The text up to a number of bytes, at the end of a character.
pub(super) fn head(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// The last bytes of a text, from the beginning of a character.
pub(super) fn tail(text: &str, bytes: usize) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(bytes))..).unwrap_or_default()
}

/// How many line breaks there are.
pub(super) fn line_breaks(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// How many lines a text has; the break at its end begins none.
pub(super) fn lines(text: &str) -> usize {
    line_breaks(text) + usize::from(!text.is_empty() && !text.ends_with('\n'))
}
