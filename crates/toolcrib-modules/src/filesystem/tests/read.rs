//! What `read` and `ls` promise.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use toolcrib_model::ErrorKind;

use super::super::{MAX_ENTRIES, MAX_IMAGE_BYTES, MAX_RESULT_BYTES};
use super::Place;

fn numbered(lines: std::ops::RangeInclusive<u32>) -> String {
    lines.flat_map(|line| ["line ".into(), line.to_string(), "\n".into()]).collect()
}

#[tokio::test]
async fn a_file_that_fits_is_returned_as_it_is() {
    let place = Place::new();
    for text in ["", "one line", "two\nlines\n", "café\r\n\n", "\n"] {
        place.put("x.txt", text);
        assert_eq!(place.ok("read", json!({"path": "x.txt"})).await, json!(text));
        let absolute = place.inner().join("x.txt");
        assert_eq!(place.ok("read", json!({"path": absolute})).await, json!(text));
    }
}

#[tokio::test]
async fn the_lines_asked_for_are_returned_with_where_to_go_on() {
    let place = Place::new();
    place.put("x.txt", numbered(1..=10));
    let read = async |offset, limit| {
        place
            .ok("read", json!({"path": "x.txt", "offset": offset, "limit": limit}))
            .await
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(read(3, 2).await, "line 3\nline 4\n[these are the lines 3 to 4; continue with `offset` 5]");
    assert_eq!(read(9, 2).await, "line 9\nline 10\n");
    assert_eq!(read(10, 5).await, "line 10\n");
    let error = place.error("read", json!({"path": "x.txt", "offset": 11})).await;
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::InvalidArgs, "`x.txt` has 10 lines, `offset` is 11")
    );
    for arguments in [json!({"path": "x.txt", "offset": 0}), json!({"path": "x.txt", "limit": 0})] {
        assert_eq!(place.error("read", arguments).await.kind, ErrorKind::InvalidArgs);
    }
}

#[tokio::test]
async fn a_large_file_can_be_read_to_its_end_by_following_the_offsets() {
    let place = Place::new();
    let text = numbered(1..=100_000);
    place.put("x.txt", &text);
    let (mut read, mut offset) = (String::new(), 1_u64);
    loop {
        let arguments = json!({"path": "x.txt", "offset": offset, "limit": 100_000});
        let part = place.ok("read", arguments).await.as_str().unwrap().to_owned();
        assert!(part.len() < MAX_RESULT_BYTES + 200, "{}", part.len());
        let Some((lines, note)) = part.split_once("[these are") else {
            read.push_str(&part);
            break;
        };
        read.push_str(lines);
        let next = note.rsplit(' ').next().unwrap().trim_end_matches(']').parse().unwrap();
        assert!(next > offset);
        offset = next;
    }
    assert!(read == text);
}

#[tokio::test]
async fn a_line_longer_than_a_result_is_cut_between_characters() {
    let place = Place::new();
    place.put("x.txt", format!("a{}\nnext\n", "é".repeat(MAX_RESULT_BYTES)));
    let cut = place.ok("read", json!({"path": "x.txt"})).await.as_str().unwrap().to_owned();
    let (text, note) = cut.split_once('\n').unwrap();
    assert_eq!(text, format!("a{}", "é".repeat(MAX_RESULT_BYTES / 2 - 1)));
    assert_eq!(note, "[line 1 is longer than 65536 bytes and was cut; continue with `offset` 2]");
    assert_eq!(place.ok("read", json!({"path": "x.txt", "offset": 2})).await, "next\n");
}

#[tokio::test]
async fn a_binary_file_is_refused() {
    let place = Place::new();
    place.put("x.bin", [0x7f, b'E', 0, 1]);
    for arguments in [json!({"path": "x.bin"}), json!({"path": "x.bin", "encoding": "windows-1252"})] {
        let error = place.error("read", arguments).await;
        assert_eq!(error.kind, ErrorKind::ToolFailed);
        assert_eq!(error.message, "`x.bin` is a binary file of 4 bytes: it has a NUL byte in it");
    }
}

#[tokio::test]
async fn text_is_read_in_the_encoding_that_is_named_or_marked() {
    let place = Place::new();
    let utf16 = |mark: &[u8], units: fn(u16) -> [u8; 2]| -> Vec<u8> {
        mark.iter().copied().chain("café\nthé\n".encode_utf16().flat_map(units)).collect()
    };
    place.put("latin1.txt", b"caf\xe9\n");
    place.put("marked.txt", "\u{FEFF}café\n");
    place.put("le.txt", utf16(b"\xff\xfe", u16::to_le_bytes));
    place.put("be.txt", utf16(b"\xfe\xff", u16::to_be_bytes));
    place.put("bare.txt", utf16(b"", u16::to_le_bytes));
    place.put("odd.txt", b"\xff\xfea\0\x00\xd8");
    for (arguments, expected) in [
        (json!({"path": "latin1.txt"}), "caf\u{FFFD}\n[bytes that are not UTF-8 are shown as \u{FFFD}]"),
        (json!({"path": "latin1.txt", "encoding": "latin1"}), "café\n[decoded from windows-1252]"),
        (json!({"path": "marked.txt"}), "café\n"),
        (json!({"path": "marked.txt", "encoding": "utf8"}), "café\n"),
        (json!({"path": "le.txt"}), "café\nthé\n[decoded from UTF-16LE]"),
        (json!({"path": "be.txt", "offset": 2}), "thé\n[decoded from UTF-16BE]"),
        (json!({"path": "bare.txt", "encoding": "utf-16le"}), "café\nthé\n[decoded from UTF-16LE]"),
        (
            json!({"path": "odd.txt"}),
            "a\u{FFFD}\n[decoded from UTF-16LE; bytes that are not UTF-16LE are shown as \u{FFFD}]",
        ),
    ] {
        assert_eq!(place.ok("read", arguments.clone()).await, expected, "{arguments}");
    }
    let error = place.error("read", json!({"path": "le.txt", "encoding": "klingon"})).await;
    assert_eq!(error.kind, ErrorKind::InvalidArgs);
    assert!(
        error.message.contains("`klingon`, which is not a known encoding") && error.hint.is_some(),
        "{error}"
    );
    let found = place.ok("grep", json!({"pattern": "^th.$", "path": "le.txt"})).await;
    assert_eq!(found, json!({"matches": [{"path": "le.txt", "line": 2, "text": "thé"}]}));
}

#[tokio::test]
async fn a_long_file_in_another_encoding_is_read_across_its_pieces() {
    let place = Place::new();
    let line = format!("{}\u{1F980}\n", "é".repeat(1001));
    let bytes: Vec<u8> = line.repeat(500).encode_utf16().flat_map(u16::to_le_bytes).collect();
    place.put("x.txt", bytes);
    let arguments = json!({"path": "x.txt", "encoding": "utf-16le", "offset": 481, "limit": 30});
    assert_eq!(place.ok("read", arguments).await, format!("{}[decoded from UTF-16LE]", line.repeat(20)));
}

#[tokio::test]
async fn an_image_comes_in_the_shape_that_results_have_for_one() {
    let place = Place::new();
    for (name, beginning, media_type) in [
        ("x.png", b"\x89PNG\r\n\x1a\n".as_slice(), "image/png"),
        ("x.jpg", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("x.gif", b"GIF89a", "image/gif"),
        ("x", b"RIFF\0\0\0\0WEBP", "image/webp"),
    ] {
        let mut bytes = beginning.to_vec();
        bytes.resize(300_000, 0xaa);
        place.put(name, &bytes);
        let image = place.ok("read", json!({"path": name})).await;
        assert_eq!((&image["type"], &image["mimeType"]), (&json!("image"), &json!(media_type)));
        assert_eq!(STANDARD.decode(image["data"].as_str().unwrap()).unwrap(), bytes, "{name}");
    }
    let mut bytes = b"GIF89a".to_vec();
    bytes.resize(usize::try_from(MAX_IMAGE_BYTES).unwrap() + 1, 0);
    place.put("large.gif", bytes);
    let error = place.error("read", json!({"path": "large.gif"})).await;
    assert_eq!(error.message, "`large.gif` is an image of 8388609 bytes, at most 8388608 are read");
}

#[tokio::test]
async fn what_is_missing_is_answered_with_where_to_look() {
    let place = Place::with_notes();
    let error = place.error("read", json!({"path": "notes/old/x/y.txt"})).await;
    assert_eq!(
        error.to_string(),
        "tool_failed: `notes/old/x/y.txt` does not exist (`filesystem.ls` with the path `notes/old` lists what is there)"
    );
    let error = place.error("read", json!({"path": "x.txt"})).await;
    assert_eq!(
        error.to_string(),
        "tool_failed: `x.txt` does not exist (`filesystem.ls` lists what is there)"
    );
    let error = place.error("read", json!({"path": "notes"})).await;
    assert_eq!(error.to_string(), "tool_failed: `notes` is not a file (`filesystem.ls` lists a directory)");
    let error = place.error("ls", json!({"path": "todo.txt"})).await;
    assert_eq!(error.message, "`todo.txt` is not a directory");
}

#[tokio::test]
async fn a_listing_has_names_kinds_and_sizes() {
    let place = Place::with_notes();
    assert_eq!(
        place.ok("ls", json!({})).await,
        json!({"entries": [
            {"name": "notes", "kind": "directory"},
            {"name": "todo.txt", "kind": "file", "bytes": 11},
        ]})
    );
    let notes = place.ok("ls", json!({"path": "notes/"})).await;
    assert_eq!(notes["entries"][0], json!({"name": "monday.md", "kind": "file", "bytes": 19}));
}

#[tokio::test]
async fn a_listing_is_cut_and_says_so() {
    let place = Place::new();
    for number in 0..=MAX_ENTRIES {
        place.put(&format!("{number:05}"), "");
    }
    let listing = place.ok("ls", json!({})).await;
    assert_eq!(listing["entries"].as_array().unwrap().len(), MAX_ENTRIES);
    assert_eq!(
        listing["notes"],
        json!(["1000 of 1001 entries are shown: `filesystem.find` finds the others by name"])
    );
}
