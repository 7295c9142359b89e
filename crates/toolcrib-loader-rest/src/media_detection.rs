//! Detection of the media type of a file that the document does not specify.

use toolcrib_io::http::essence;

use crate::media_type::UNKNOWN;

/// The most bytes of the media type in a `data:` URL.
const MAX_MEDIA_TYPE_BYTES: usize = 100;

/// The signatures of file formats: offset, bytes, and media type.
const BEGINNINGS: [(usize, &[u8], &str); 17] = [
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (4, b"ftypavif", "image/avif"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
    (8, b"WAVE", "audio/wav"),
    (0, b"fLaC", "audio/flac"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (4, b"ftyp", "video/mp4"),
    (0, b"wOF2", "font/woff2"),
];

/// Returns the media type to send content as.
///
/// Among the types and ranges that the document lists, it is the declared or detected type of the content. Otherwise it
/// is the first listed type that is not a range, or the type of unknown bytes.
pub(crate) fn of_content(listed: Option<&str>, said: Option<&str>, bytes: &[u8]) -> String {
    let listed: Vec<&str> = listed.unwrap_or_default().split(',').map(str::trim).collect();
    // A single type in the document is always used.
    if let [only] = listed.as_slice()
        && !only.is_empty()
        && !only.contains('*')
    {
        return (*only).to_owned();
    }
    let begins_like = |(skipped, beginning, _): &&(usize, &[u8], &str)| {
        bytes.get(*skipped..).is_some_and(|rest| rest.starts_with(beginning))
    };
    let seen = BEGINNINGS.iter().find(begins_like).map(|(_, _, media_type)| *media_type);
    let is_listed = |media_type: &&str| match listed.as_slice() {
        [""] => said == Some(*media_type),
        listed => listed.iter().any(|range| covers(range, media_type)),
    };
    let is_one = |media_type: &&&str| !media_type.is_empty() && !media_type.contains('*');
    let known = [said, seen].into_iter().flatten().find(is_listed);
    known.or_else(|| listed.iter().find(is_one).copied()).unwrap_or(UNKNOWN).to_owned()
}

/// Returns true if a media type equals a range or belongs to it.
fn covers(range: &str, media_type: &str) -> bool {
    let (range, media_type) = (essence(range), essence(media_type));
    match range.strip_suffix('*') {
        Some("*/") => true,
        Some(kind) if kind.ends_with('/') => media_type.starts_with(kind),
        _ => range == media_type,
    }
}

/// Returns the media type of a `data:` URL, if it can be sent.
pub(crate) fn of_data_url(text: &str) -> Option<&str> {
    let is_token = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "!#$&^_.+-".contains(c))
    };
    let media_type = text.split(';').next().unwrap_or_default();
    let (kind, subtype) = media_type.split_once('/')?;
    (media_type.len() <= MAX_MEDIA_TYPE_BYTES && is_token(kind) && is_token(subtype)).then_some(media_type)
}

#[cfg(test)]
mod tests {
    use super::{of_content, of_data_url};

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

    #[test]
    fn content_is_sent_as_what_it_is_of_what_the_document_lists() {
        for (listed, said, bytes, expected) in [
            (Some("image/*"), None, PNG, "image/png"),
            (Some("image/*"), None, b"\xff\xd8\xff\xe0".as_slice(), "image/jpeg"),
            (Some("image/*"), None, b"RIFF....WEBP", "image/webp"),
            (Some("image/*"), None, b"<svg/>", "application/octet-stream"),
            (Some("image/*"), Some("image/svg+xml"), b"<svg/>", "image/svg+xml"),
            (Some("image/*"), Some("text/html"), b"<svg/>", "application/octet-stream"),
            (Some("image/*"), None, b"%PDF-1.7", "application/octet-stream"),
            (Some("*/*"), None, b"%PDF-1.7", "application/pdf"),
            (Some("image/png, image/jpeg"), None, b"\xff\xd8\xff\xe0", "image/jpeg"),
            (Some("image/png, image/jpeg"), None, b"GIF89a", "image/png"),
            (Some("image/gif, image/*"), None, PNG, "image/png"),
            // A single type is used regardless of the content.
            (Some("image/png"), Some("image/jpeg"), b"\xff\xd8\xff\xe0", "image/png"),
            (Some("image/png; q=1"), None, b"", "image/png; q=1"),
            (None, None, PNG, "application/octet-stream"),
            (None, Some("text/csv"), b"a,b", "text/csv"),
        ] {
            assert_eq!(of_content(listed, said, bytes), expected, "{listed:?} {said:?}");
        }
    }

    #[test]
    fn a_data_url_says_a_media_type_that_can_be_sent_or_none() {
        assert_eq!(of_data_url("image/png"), Some("image/png"));
        assert_eq!(of_data_url("text/plain;charset=utf-8"), Some("text/plain"));
        for text in ["", "png", "a/", "/b", "a b/c", "a/b\r\nX: 1", "a/\u{e9}"] {
            assert_eq!(of_data_url(text), None, "{text:?}");
        }
        assert_eq!(of_data_url(&format!("a/{}", "b".repeat(200))), None);
    }
}
