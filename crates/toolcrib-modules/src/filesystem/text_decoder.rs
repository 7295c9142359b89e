//! The decoding of files to text.

use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use toolcrib_model::ToolError;

use super::errors::invalid;

/// The maximum length of the name of an encoding that an error repeats, in characters.
const MAX_LABEL_CHARS: usize = 40;

/// A streaming decoder of the bytes of a file to UTF-8.
pub(super) enum TextDecoder {
    /// UTF-8, or bytes that are passed through.
    PassThrough,
    /// Another encoding.
    Decoded {
        decoder: Decoder,
        encoding: &'static Encoding,
        /// True if some bytes were invalid in that encoding.
        is_wrong: bool,
    },
}

impl TextDecoder {
    /// Returns a decoder of the encoding with this name.
    pub(super) fn named(label: &str) -> Result<Self, ToolError> {
        let encoding = Encoding::for_label(label.as_bytes()).ok_or_else(|| {
            let label: String = label.chars().take(MAX_LABEL_CHARS).collect();
            invalid(format!("`encoding` is `{label}`, which is not a known encoding"))
                .with_hint("as in `utf-8`, `utf-16le`, `windows-1252`, `iso-8859-15`, `shift_jis`, `gbk`")
        })?;
        Ok(Self::of(encoding))
    }

    /// Returns a decoder of the encoding of the byte order mark, or of UTF-8.
    pub(super) fn marked(beginning: &[u8]) -> Self {
        match Encoding::for_bom(beginning) {
            Some((encoding, _)) if encoding == UTF_16LE || encoding == UTF_16BE => Self::of(encoding),
            _ => Self::PassThrough,
        }
    }

    fn of(encoding: &'static Encoding) -> Self {
        if encoding == UTF_8 {
            return Self::PassThrough;
        }
        Self::Decoded { decoder: encoding.new_decoder_with_bom_removal(), encoding, is_wrong: false }
    }

    /// Passes the decoded next piece to `take`, which returns false to stop.
    pub(super) fn feed(&mut self, mut bytes: &[u8], is_last: bool, take: &mut dyn FnMut(&[u8]) -> bool) {
        let Self::Decoded { decoder, is_wrong, .. } = self else {
            take(bytes);
            return;
        };
        loop {
            let room = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(bytes.len());
            let mut text = String::with_capacity(room);
            let (result, read, had_errors) = decoder.decode_to_string(bytes, &mut text, is_last);
            *is_wrong |= had_errors;
            bytes = bytes.get(read..).unwrap_or_default();
            if !take(text.as_bytes()) || result == CoderResult::InputEmpty {
                return;
            }
        }
    }

    /// Returns true if a NUL byte shows that a file is binary. In UTF-16 every other byte can be one.
    pub(super) fn has_no_nul(&self) -> bool {
        !matches!(self, Self::Decoded { encoding, .. } if *encoding == UTF_16LE || *encoding == UTF_16BE)
    }

    /// Returns the remarks for the reader.
    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            Self::PassThrough => Vec::new(),
            Self::Decoded { encoding, is_wrong, .. } => {
                let mut notes = vec![format!("decoded from {}", encoding.name())];
                if *is_wrong {
                    notes.push(format!("bytes that are not {} are shown as \u{FFFD}", encoding.name()));
                }
                notes
            }
        }
    }
}
