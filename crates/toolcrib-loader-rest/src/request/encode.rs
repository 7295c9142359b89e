//! Percent-encoding (RFC 3986): a value never leaves the slot it is written into.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but the unreserved characters of RFC 3986.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// RFC 3986's reserved characters that cannot end a value in a query stay: all but `#`, `&`, `+`, `=` and the
/// brackets.
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

/// What may stand in a path or query stays, and `%`, because the author of a document wrote the escapes.
const LITERAL: &AsciiSet = &RESERVED_VALUE.remove(b'&').remove(b'+').remove(b'=').remove(b'%');

/// Encodes a value: everything but letters, digits and `-._~`.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, VALUE).to_string()
}

/// Encodes a value of a parameter with `allowReserved`.
pub(crate) fn encode_reserved(text: &str) -> String {
    utf8_percent_encode(text, RESERVED_VALUE).to_string()
}

/// Encodes what the author of a document wrote between the slots.
pub(crate) fn encode_literal(text: &str) -> String {
    utf8_percent_encode(text, LITERAL).to_string()
}
