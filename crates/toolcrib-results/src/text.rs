//! Formatting of numbers and extracts of texts for notes.

/// Returns a number with thousands separators: `12,345`.
pub(crate) fn grouped(number: usize) -> String {
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

/// Returns a count with its noun: `1 item`, `2 items`.
pub(crate) fn counted(number: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Returns the end of a text of up to a number of bytes, at a character boundary.
pub(crate) fn tail(text: &str, bytes: usize) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(bytes))..).unwrap_or_default()
}

/// Returns the number of line breaks.
pub(crate) fn line_breaks(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Returns the number of lines of a text. A break at the end starts no further line.
pub(crate) fn lines(text: &str) -> usize {
    line_breaks(text) + usize::from(!text.is_empty() && !text.ends_with('\n'))
}
