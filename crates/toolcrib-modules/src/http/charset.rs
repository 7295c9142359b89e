//! The decoding of bodies to text.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use toolcrib_io::http::media_type_parameter;

/// The number of bytes of a page that are searched for its encoding, as in browsers.
const SNIFFED_BYTES: usize = 1024;

/// A text, and the encoding that it was decoded from.
pub(super) struct DecodedText {
    pub(super) text: String,
    pub(super) encoding: &'static Encoding,
    /// True if some bytes were invalid in that encoding.
    pub(super) is_wrong: bool,
}

/// Decodes the bytes, if they are text: by their byte order mark, by the declared charset, or as UTF-8.
pub(super) fn decode_text(body: &[u8], content_type: Option<&str>, is_cut: bool) -> Option<DecodedText> {
    let declared_encoding = content_type.and_then(|value| media_type_parameter(value, "charset"));
    let declared_encoding = declared_encoding.and_then(|label| Encoding::for_label(label.as_bytes()));
    let is_utf_8 = is_utf_8(body, is_cut);
    let encoding = match Encoding::for_bom(body) {
        Some((marked, _)) => marked,
        // Valid UTF-8 is hardly ever anything else, even if the server declares another charset.
        None if is_utf_8 => UTF_8,
        None => declared_encoding?,
    };
    let decoded = decode_as(body, encoding, is_cut);
    // Text contains no NUL; binary data that resembles text mostly does.
    (!decoded.text.contains('\0')).then_some(decoded)
}

/// Decodes a page, which may declare its encoding itself. The last resort is the default of browsers.
pub(super) fn decode_page(body: &[u8], content_type: Option<&str>, is_cut: bool) -> DecodedText {
    if let Some(decoded) = decode_text(body, content_type, is_cut) {
        return decoded;
    }
    decode_as(body, declared(body).unwrap_or(WINDOWS_1252), is_cut)
}

fn decode_as(body: &[u8], encoding: &'static Encoding, is_cut: bool) -> DecodedText {
    let mut decoder = encoding.new_decoder_with_bom_removal();
    let mut text = String::with_capacity(decoder.max_utf8_buffer_length(body.len()).unwrap_or(body.len()));
    // A character that the cut split is not an error.
    let (_, _, is_wrong) = decoder.decode_to_string(body, &mut text, !is_cut);
    DecodedText { text, encoding, is_wrong }
}

fn is_utf_8(body: &[u8], is_cut: bool) -> bool {
    match std::str::from_utf8(body) {
        Ok(_) => true,
        Err(error) => is_cut && error.error_len().is_none(),
    }
}

/// Returns the encoding that a page declares near its beginning. A declared UTF-16 is UTF-8: the declaration would not
/// be readable otherwise.
fn declared(body: &[u8]) -> Option<&'static Encoding> {
    let beginning = body.get(..SNIFFED_BYTES).unwrap_or(body).to_ascii_lowercase();
    let mark = b"charset=";
    let at = beginning.windows(mark.len()).position(|window| window == mark)? + mark.len();
    let rest = beginning.get(at..)?;
    let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
    let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"-_:.".contains(byte));
    let encoding = Encoding::for_label(rest.get(..end.unwrap_or(rest.len()))?)?;
    Some(if encoding.is_ascii_compatible() { encoding } else { UTF_8 })
}

/// Returns true if a media type is JSON.
pub(super) fn is_json(essence: &str) -> bool {
    let subtype = essence.split_once('/').map_or("", |(_, subtype)| subtype);
    subtype == "json" || subtype.ends_with("+json")
}
