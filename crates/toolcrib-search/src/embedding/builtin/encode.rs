//! The encoder of tables, for programs that create one.

use sha2::{Digest, Sha256};

use super::table::{MAGIC, MAX_TABLE_ROWS, MAX_TOKEN_BYTES, Table, TableError, hash};

/// The largest quantized number of a row.
const LARGEST: f32 = 127.0;

/// A token to be encoded.
#[derive(Clone, Debug)]
pub struct NewToken<'a> {
    /// The text, without a continuation mark.
    pub text: &'a str,
    /// True if the token continues a word.
    pub continues: bool,
    /// The row of numbers.
    pub row: &'a [f32],
}

impl Table<'_> {
    /// Encodes a table of these tokens. Tokens that begin words must precede those that continue them.
    pub fn encode(dimension: u16, tokens: &[NewToken<'_>]) -> Result<Vec<u8>, TableError> {
        let too_much = |what: String| Err(TableError::TooMuch { what });
        let Some(count) = u32::try_from(tokens.len()).ok().filter(|_| tokens.len() <= MAX_TABLE_ROWS) else {
            return too_much(format!("{} tokens", tokens.len()));
        };
        if let Some(token) = tokens.iter().find(|token| !(1..=MAX_TOKEN_BYTES).contains(&token.text.len())) {
            return too_much(format!("a token of {} bytes", token.text.len()));
        }
        if tokens.iter().any(|token| token.row.len() != usize::from(dimension)) {
            return too_much(format!("rows that do not have {dimension} numbers"));
        }
        if !tokens.is_sorted_by_key(|token| token.continues) {
            return too_much("tokens that begin words behind tokens that continue them".to_owned());
        }
        let words = tokens.iter().zip(0_u32..).filter(|(token, _)| !token.continues).count();
        // Half of the slots stay free, so that a lookup is short.
        let slot_count = (2 * tokens.len()).next_power_of_two();
        let slot_bits = u16::try_from(slot_count.trailing_zeros()).unwrap_or_default();

        let mut body = Vec::new();
        body.extend(count.to_le_bytes());
        body.extend(u32::try_from(words).unwrap_or_default().to_le_bytes());
        body.extend(dimension.to_le_bytes());
        body.extend(slot_bits.to_le_bytes());
        body.extend(tokens.iter().map(|token| u8::try_from(token.text.len()).unwrap_or_default()));
        body.extend(tokens.iter().flat_map(|token| token.text.bytes()));
        body.extend(slots(tokens, slot_count).into_iter().flat_map(u16::to_le_bytes));
        body.extend(tokens.iter().flat_map(|token| scale(token.row).to_le_bytes()));
        body.extend(tokens.iter().flat_map(|token| quantised(token.row)));

        let mut bytes = MAGIC.to_vec();
        bytes.extend(Sha256::digest(&body));
        bytes.extend(body);
        Ok(bytes)
    }
}

fn slots(tokens: &[NewToken<'_>], count: usize) -> Vec<u16> {
    let mut slots = vec![0_u16; count];
    for (token, number) in tokens.iter().zip(1_u16..) {
        let start = hash(token.text.as_bytes(), token.continues) as usize;
        let mut places = (0..count).map(|step| (start + step) & (count - 1));
        if let Some(place) = places.find(|place| slots.get(*place) == Some(&0))
            && let Some(slot) = slots.get_mut(place)
        {
            *slot = number;
        }
    }
    slots
}

/// Returns the scale of a row as the upper half of an f32, rounded up, so that the largest number fits in eight bits.
fn scale(row: &[f32]) -> u16 {
    let largest = row.iter().map(|number| number.abs()).fold(0.0, f32::max);
    let upper = (largest / LARGEST).to_bits() >> 16;
    u16::try_from(upper + 1).unwrap_or(u16::MAX)
}

fn quantised(row: &[f32]) -> impl Iterator<Item = u8> {
    let scale = f32::from_bits(u32::from(scale(row)) << 16);
    row.iter().map(move |number| {
        #[expect(clippy::cast_possible_truncation, reason = "it is clamped to what fits")]
        let number = (number / scale).round().clamp(-LARGEST, LARGEST) as i8;
        number.cast_unsigned()
    })
}
