//! Percent-encoding (RFC 3986), which confines a value to its slot.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but the unreserved characters of RFC 3986.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The characters that are encoded in a value with `allowReserved`. They include the reserved characters that could end
/// the value: `#`, `&`, `+`, `=` and the brackets.
const RESERVED_VALUE: &AsciiSet = &VALUE
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';');

/// Everything but the characters that are valid in a path or query. `%` is not encoded either, because the author of a
/// document wrote the escapes.
const LITERAL: &AsciiSet = &RESERVED_VALUE.remove(b'&').remove(b'+').remove(b'=').remove(b'%');

/// Encodes a value: everything but letters, digits and `-._~`.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, VALUE).to_string()
}

/// Encodes a value of a parameter with `allowReserved`.
pub(crate) fn encode_reserved(text: &str) -> String {
    utf8_percent_encode(text, RESERVED_VALUE).to_string()
}

/// Encodes the literal text of a document between the slots.
pub(crate) fn encode_literal(text: &str) -> String {
    utf8_percent_encode(text, LITERAL).to_string()
}
