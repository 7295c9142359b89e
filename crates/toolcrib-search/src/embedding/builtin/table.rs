//! The format of the table: its tokens, and a row of numbers for each.
//!
//! All numbers are little-endian. In this order, without gaps:
//! - 8 bytes: `TCTABLE1`, or `TCTABLE2` if a number of a row has four bits
//! - 32 bytes: the SHA-256 of the following bytes
//! - u32: the number of tokens; u32: the number of those that begin a word, while the others continue one; u16: the
//!   dimension of a row; u16: the logarithm to base 2 of the number of slots
//! - for each token, u8: its length in bytes; then the bytes of all tokens
//! - for each slot, u16: one more than the number of a token, or 0 if the slot is free. A token is in the first slot
//!   that was free, starting from that of its hash
//! - for each token, u16: the scale of its row, the upper half of an f32
//! - for each token, its row, to be multiplied by the scale: one i8 for each number, or four bits, the lower half of a byte
//!   first. Four bits are the index of a [level](LEVELS)

use sha2::{Digest, Sha256};

/// The format of the numbers in the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// Eight bits for each number.
    EightBits,
    /// Four bits for each number. The cosine of a row with its exact numbers is 0.995 at the median.
    FourBits,
}

impl RowFormat {
    /// Returns the first bytes of a table.
    pub(super) const fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::EightBits => b"TCTABLE1",
            Self::FourBits => b"TCTABLE2",
        }
    }

    /// Returns the bytes of a row with this number of dimensions.
    const fn row_bytes(self, dimension: usize) -> usize {
        match self {
            Self::EightBits => dimension,
            Self::FourBits => dimension.div_ceil(2),
        }
    }
}

/// The values of the sixteen indices: those that approximate normally distributed numbers with the least squared error
/// (J. Max, "Quantizing for Minimum Distortion", 1960, table I for 16 levels). The numbers of a row are distributed like
/// that.
pub(super) const LEVELS: [f32; 16] = [
    -2.733, -2.069, -1.618, -1.256, -0.9424, -0.6568, -0.3881, -0.1284, 0.1284, 0.3881, 0.6568, 0.9424,
    1.256, 1.618, 2.069, 2.733,
];

/// The bits of a number in a row.
const NIBBLE: u8 = 0x0f;

/// The length of the digest in bytes.
pub(super) const DIGEST_BYTES: usize = 32;

/// The most tokens of a table. A number of two bytes counts one more, which represents the absence of a token.
pub const MAX_TABLE_ROWS: usize = u16::MAX as usize - 1;

/// The most bytes of one token.
pub const MAX_TOKEN_BYTES: usize = u8::MAX as usize;

/// The logarithm of the most slots: more than the numbers of tokens can fill.
const MAX_SLOT_BITS: u16 = 17;

/// The number of a token in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(pub u16);

impl TokenId {
    /// The id of a word that has no tokens.
    pub const UNKNOWN: Self = Self(u16::MAX);
}

/// The error of parsing or encoding a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The bytes have another signature.
    #[error("this is not a table of vectors, or it has another version")]
    Foreign,
    /// The bytes are truncated, too long, or inconsistent.
    #[error("the table of vectors is damaged at its {part}")]
    Damaged {
        /// The part of the table.
        part: &'static str,
    },
    /// The content does not fit into a table.
    #[error("a table of vectors cannot hold {what}")]
    TooMuch {
        /// The content that does not fit.
        what: String,
    },
}

/// A table of tokens and their rows, read in place.
#[derive(Clone)]
pub struct Table<'a> {
    digest: &'a [u8],
    body: &'a [u8],
    format: RowFormat,
    dimension: usize,
    /// The number of tokens that begin a word.
    words: usize,
    longest: usize,
    /// The offset of each token in `text`, and the end of the last one.
    starts: Vec<u32>,
    text: &'a [u8],
    slots: &'a [u8],
    mask: usize,
    scales: &'a [u8],
    rows: &'a [u8],
}

impl<'a> Table<'a> {
    /// Parses a table. It checks the structure but not the digest, which would read every byte.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, TableError> {
        let formats = [RowFormat::EightBits, RowFormat::FourBits];
        let prefix = |format: RowFormat| bytes.strip_prefix(format.magic()).map(|rest| (format, rest));
        let (format, rest) = formats.into_iter().find_map(prefix).ok_or(TableError::Foreign)?;
        let mut reader = TableReader { rest };
        let digest = reader.take(DIGEST_BYTES, "digest")?;
        let body = reader.rest;
        let count = reader.number("number of tokens", 4)?;
        let words = reader.number("number of words", 4)?;
        let dimension = reader.number("width", 2)?;
        let slot_bits = reader.number("number of slots", 2)?;
        let consistent = words <= count
            && count <= MAX_TABLE_ROWS
            && (1..=super::super::MAX_DIMENSION).contains(&dimension)
            && slot_bits <= usize::from(MAX_SLOT_BITS)
            && count < 1 << slot_bits;
        if !consistent {
            return Err(TableError::Damaged { part: "head" });
        }
        let lengths = reader.take(count, "lengths")?;
        let mut starts = Vec::with_capacity(count + 1);
        let mut end = 0_u32;
        starts.push(end);
        for length in lengths {
            end += u32::from(*length);
            starts.push(end);
        }
        let text = reader.take(end as usize, "tokens")?;
        let slots = reader.take(2 << slot_bits, "slots")?;
        let scales = reader.take(2 * count, "scales")?;
        let rows = reader.take(count * format.row_bytes(dimension), "rows")?;
        if !reader.rest.is_empty() {
            return Err(TableError::Damaged { part: "end" });
        }
        let longest = lengths.iter().copied().max().map_or(0, usize::from);
        let mask = (1 << slot_bits) - 1;
        Ok(Self { digest, body, format, dimension, words, longest, starts, text, slots, mask, scales, rows })
    }

    /// Returns the dimension of a row.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns the number of tokens.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns true if there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if the table matches its digest.
    pub fn is_intact(&self) -> bool {
        Sha256::digest(self.body).as_slice() == self.digest
    }

    /// Returns the first digits of the digest, which identify the table.
    pub fn short_digest(&self) -> String {
        let digits = self.digest.iter().take(6).fold(0_u64, |digits, byte| digits << 8 | u64::from(*byte));
        format!("{digits:012x}")
    }

    /// Returns the length of the longest token in bytes.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Returns the token with these bytes that begins a word, or that continues one.
    pub(super) fn find(&self, bytes: &[u8], continues: bool) -> Option<TokenId> {
        let first = hash(bytes, continues) as usize;
        // The number of steps is bounded by the number of slots. A table has free slots, but a damaged one may not.
        for slot in first..=first + self.mask {
            let number = u16_at(self.slots, slot & self.mask)?.checked_sub(1)?;
            if (usize::from(number) >= self.words) == continues && self.token(number) == bytes {
                return Some(TokenId(number));
            }
        }
        None
    }

    /// Returns true if a token continues a word.
    pub fn continues(&self, token: TokenId) -> bool {
        usize::from(token.0) >= self.words
    }

    /// Returns the bytes of a token without a continuation mark, or nothing if the token does not exist.
    pub fn text_of(&self, token: TokenId) -> &'a [u8] {
        self.token(token.0)
    }

    fn token(&self, number: u16) -> &'a [u8] {
        let number = usize::from(number);
        let bounds = self.starts.get(number).zip(self.starts.get(number + 1));
        bounds.and_then(|(start, end)| self.text.get(*start as usize..*end as usize)).unwrap_or_default()
    }

    /// Adds the row of a token to a sum. Does nothing if the token does not exist.
    pub(super) fn add_row(&self, token: TokenId, sum: &mut [f32]) {
        let number = usize::from(token.0);
        let width = self.format.row_bytes(self.dimension);
        let row = self.rows.get(number * width..(number + 1) * width);
        let (Some(row), Some(scale)) = (row, u16_at(self.scales, number)) else { return };
        let scale = f32::from_bits(u32::from(scale) << 16);
        match self.format {
            RowFormat::EightBits => {
                for (sum, number) in sum.iter_mut().zip(row) {
                    *sum += scale * f32::from(number.cast_signed());
                }
            }
            RowFormat::FourBits => {
                let numbers = row.iter().flat_map(|pair| [level(pair & NIBBLE), level(pair >> 4)]);
                for (sum, number) in sum.iter_mut().zip(numbers) {
                    *sum += scale * number;
                }
            }
        }
    }
}

fn level(index: u8) -> f32 {
    LEVELS.get(usize::from(index & NIBBLE)).copied().unwrap_or_default()
}

impl std::fmt::Debug for Table<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut f = f.debug_struct("Table");
        f.field("tokens", &self.len()).field("dimension", &self.dimension).finish_non_exhaustive()
    }
}

/// Returns the hash that determines the first slot of a token, for writing and reading: 32-bit FNV-1a, with its upper
/// half folded in.
pub(super) fn hash(bytes: &[u8], continues: bool) -> u32 {
    let start = 0x811c_9dc5 ^ u32::from(continues);
    let hash = bytes.iter().fold(start, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    hash ^ (hash >> 16)
}

fn u16_at(bytes: &[u8], place: usize) -> Option<u16> {
    let pair = bytes.get(2 * place..2 * place + 2)?;
    pair.try_into().ok().map(u16::from_le_bytes)
}

/// A reader of the remaining bytes.
struct TableReader<'a> {
    rest: &'a [u8],
}

impl<'a> TableReader<'a> {
    fn take(&mut self, bytes: usize, part: &'static str) -> Result<&'a [u8], TableError> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or(TableError::Damaged { part })?;
        self.rest = rest;
        Ok(taken)
    }

    fn number(&mut self, part: &'static str, bytes: usize) -> Result<usize, TableError> {
        let taken = self.take(bytes, part)?;
        Ok(taken.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }
}
