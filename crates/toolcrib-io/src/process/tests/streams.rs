//! The limit on lines.

use std::io::ErrorKind;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use super::super::{LineLimited, MAX_LINE_BYTES, spawn};
use super::{assert_group_ends, shell};

async fn read_all(input: &[u8], limit: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    LineLimited::new(input, limit).read_to_end(&mut bytes).await?;
    Ok(bytes)
}

#[tokio::test]
async fn a_line_of_exactly_the_limit_passes_and_one_more_byte_does_not() {
    assert_eq!(read_all(b"1234\n1234\n\n1234", 4).await.unwrap(), b"1234\n1234\n\n1234");
    for input in [&b"12345\n"[..], b"1\n12345\n1", b"1\n12345"] {
        assert_eq!(read_all(input, 4).await.unwrap_err().kind(), ErrorKind::InvalidData);
    }
}

#[tokio::test]
async fn a_line_is_counted_across_reads() {
    let (pieces, mut writer) = tokio::io::duplex(3);
    let written =
        tokio::spawn(async move { tokio::io::AsyncWriteExt::write_all(&mut writer, b"12\n123456\n").await });
    let mut reader = LineLimited::new(pieces, 5);
    let overlong = reader.overlong();
    assert!(!overlong.is_met());
    let error = reader.read_to_end(&mut Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    // Once too long, always an error: nobody takes the rest for a line of its own.
    assert_eq!(reader.read_u8().await.unwrap_err().kind(), ErrorKind::InvalidData);
    drop(reader);
    assert!(overlong.is_met());
    assert!(written.await.unwrap().is_err());
}

#[tokio::test]
async fn a_line_without_end_is_given_up_at_the_limit() {
    let mut child = spawn(&shell("exec cat /dev/zero"), "test").unwrap();
    let mut line = Vec::new();
    let mut stdout = BufReader::new(child.take_stdout().unwrap());
    let error = stdout.read_until(b'\n', &mut line).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert!(line.len() <= MAX_LINE_BYTES, "{}", line.len());
    let group = child.id();
    drop(child);
    assert_group_ends(group).await;
}
