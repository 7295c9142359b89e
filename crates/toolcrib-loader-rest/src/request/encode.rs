//! Percent-encoding (RFC 3986): a value never leaves the slot it is written into.

use std::fmt::Write as _;

/// Characters with a meaning in URLs that cannot end a value in a query: RFC 3986's reserved ones, without `#`, `&`,
/// `+`, `=` and the brackets.
const HARMLESS_RESERVED: &str = ":/?@!$'()*,;";

/// Characters that may stand in a path or query as they are, and `%`, because the author of a document wrote the
/// escapes.
const LITERAL: &str = ":@!$&'()*+,;=/?%";

/// Encodes a value: everything but letters, digits and `-._~`.
pub(crate) fn encode(text: &str) -> String {
    encode_except(text, "")
}

/// Encodes a value of a parameter with `allowReserved`.
pub(crate) fn encode_reserved(text: &str) -> String {
    encode_except(text, HARMLESS_RESERVED)
}

/// Encodes what the author of a document wrote between the slots.
pub(crate) fn encode_literal(text: &str) -> String {
    encode_except(text, LITERAL)
}

fn encode_except(text: &str, kept: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let c = char::from(byte);
        if c.is_ascii_alphanumeric() || "-._~".contains(c) || (c.is_ascii() && kept.contains(c)) {
            out.push(c);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
