//! Bytes of an answer as text.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// How much of a page is looked through for what it says of its encoding, in bytes; browsers look as far.
const SNIFFED_BYTES: usize = 1024;

/// A text, and what it was decoded from.
pub(super) struct Decoded {
    pub(super) text: String,
    pub(super) encoding: &'static Encoding,
    /// Whether something was not in that encoding.
    pub(super) is_wrong: bool,
}

/// The bytes as a text, if they are one: by their mark, by what the server says, or as UTF-8.
pub(super) fn decoded(body: &[u8], content_type: Option<&str>, is_cut: bool) -> Option<Decoded> {
    let said = content_type.and_then(|value| parameter(value, "charset"));
    let said = said.and_then(|label| Encoding::for_label(label.as_bytes()));
    let is_utf_8 = is_utf_8(body, is_cut);
    let encoding = match Encoding::for_bom(body) {
        Some((marked, _)) => marked,
        // What is valid UTF-8 hardly is anything else, whatever its server says.
        None if is_utf_8 => UTF_8,
        None => said?,
    };
    let decoded = as_encoding(body, encoding, is_cut);
    // No text has one; binary data that looks like a text so far mostly does.
    (!decoded.text.contains('\0')).then_some(decoded)
}

/// The same of a page, which may say itself what it is in; and in the end is taken for what browsers take it for.
pub(super) fn decoded_page(body: &[u8], content_type: Option<&str>, is_cut: bool) -> Decoded {
    if let Some(decoded) = decoded(body, content_type, is_cut) {
        return decoded;
    }
    as_encoding(body, declared(body).unwrap_or(WINDOWS_1252), is_cut)
}

fn as_encoding(body: &[u8], encoding: &'static Encoding, is_cut: bool) -> Decoded {
    let mut decoder = encoding.new_decoder_with_bom_removal();
    let mut text = String::with_capacity(decoder.max_utf8_buffer_length(body.len()).unwrap_or(body.len()));
    // A character that was cut in two at the end is no error where more would have followed.
    let (_, _, is_wrong) = decoder.decode_to_string(body, &mut text, !is_cut);
    Decoded { text, encoding, is_wrong }
}

fn is_utf_8(body: &[u8], is_cut: bool) -> bool {
    match std::str::from_utf8(body) {
        Ok(_) => true,
        Err(error) => is_cut && error.error_len().is_none(),
    }
}

/// What a page says of its encoding near its beginning. There, UTF-16 cannot be meant: it could not be read.
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

/// Type and subtype in lower case, without parameters.
pub(super) fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether a media type is JSON.
pub(super) fn is_json(essence: &str) -> bool {
    let subtype = essence.split_once('/').map_or("", |(_, subtype)| subtype);
    subtype == "json" || subtype.ends_with("+json")
}

/// The value of a parameter, such as `charset`, without quotes.
fn parameter<'a>(media_type: &'a str, name: &str) -> Option<&'a str> {
    media_type.split(';').skip(1).find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"'))
    })
}
