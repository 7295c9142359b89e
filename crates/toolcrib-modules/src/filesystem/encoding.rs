//! Text in the encodings that files have.

use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use toolcrib_model::ToolError;

use super::failure::invalid;

/// The longest name of an encoding that an error repeats, in characters.
const MAX_LABEL_CHARS: usize = 40;

/// Makes UTF-8 of the bytes of a file, which come in pieces.
pub(super) enum Text {
    /// It is UTF-8, or is shown as far as it is.
    AsIs,
    /// It is something else.
    Decoded {
        decoder: Decoder,
        encoding: &'static Encoding,
        /// Whether something was not in that encoding.
        is_wrong: bool,
    },
}

impl Text {
    /// Text in the encoding of this name.
    pub(super) fn named(label: &str) -> Result<Self, ToolError> {
        let encoding = Encoding::for_label(label.as_bytes()).ok_or_else(|| {
            let label: String = label.chars().take(MAX_LABEL_CHARS).collect();
            invalid(format!("`encoding` is `{label}`, which is no encoding that is known"))
                .with_hint("as in `utf-8`, `utf-16le`, `windows-1252`, `iso-8859-15`, `shift_jis`, `gbk`")
        })?;
        Ok(Self::of(encoding))
    }

    /// Text in the encoding that its first bytes tell by a mark, UTF-8 otherwise.
    pub(super) fn marked(beginning: &[u8]) -> Self {
        match Encoding::for_bom(beginning) {
            Some((encoding, _)) if encoding == UTF_16LE || encoding == UTF_16BE => Self::of(encoding),
            _ => Self::AsIs,
        }
    }

    fn of(encoding: &'static Encoding) -> Self {
        if encoding == UTF_8 {
            return Self::AsIs;
        }
        Self::Decoded { decoder: encoding.new_decoder_with_bom_removal(), encoding, is_wrong: false }
    }

    /// Gives the next piece to `take`, which says whether it takes more.
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

    /// Whether a NUL byte tells that the file is no text: in some encodings every other byte is one.
    pub(super) fn has_no_nul(&self) -> bool {
        !matches!(self, Self::Decoded { encoding, .. } if *encoding == UTF_16LE || *encoding == UTF_16BE)
    }

    /// What a reader has to know about it.
    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            Self::AsIs => Vec::new(),
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
