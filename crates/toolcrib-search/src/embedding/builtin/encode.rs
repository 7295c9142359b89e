//! The encoder of tables, for programs that create one.

use sha2::{Digest, Sha256};

use super::table::{LEVELS, MAX_TABLE_ROWS, MAX_TOKEN_BYTES, RowFormat, Table, TableError, hash};

/// The largest number of eight bits.
const LARGEST: f32 = 127.0;

/// The number of times that the levels of a row and its scale are fitted to each other. More do not change a row.
const FITS: u8 = 4;

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
    pub fn encode(dimension: u16, format: RowFormat, tokens: &[NewToken<'_>]) -> Result<Vec<u8>, TableError> {
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
        let scale = match format {
            RowFormat::EightBits => scale_of_bytes,
            RowFormat::FourBits => scale_of_levels,
        };
        let row = match format {
            RowFormat::EightBits => in_bytes,
            RowFormat::FourBits => in_levels,
        };
        let scales: Vec<u16> = tokens.iter().map(|token| scale(token.row)).collect();
        body.extend(scales.iter().flat_map(|scale| scale.to_le_bytes()));
        body.extend(
            tokens.iter().zip(scales).flat_map(|(token, scale)| row(token.row, from_upper_half(scale))),
        );

        let mut bytes = format.magic().to_vec();
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

/// Returns the f32 with this upper half.
fn from_upper_half(half: u16) -> f32 {
    f32::from_bits(u32::from(half) << 16)
}

/// Returns the scale of a row of bytes as the upper half of an f32, rounded up, so that the largest number fits in eight bits.
fn scale_of_bytes(row: &[f32]) -> u16 {
    let largest = row.iter().map(|number| number.abs()).fold(0.0, f32::max);
    let upper = (largest / LARGEST).to_bits() >> 16;
    u16::try_from(upper + 1).unwrap_or(u16::MAX)
}

/// Returns a row as bytes.
fn in_bytes(row: &[f32], scale: f32) -> Vec<u8> {
    let byte = |number: &f32| {
        #[expect(clippy::cast_possible_truncation, reason = "it is clamped to what fits")]
        let number = (number / scale).round().clamp(-LARGEST, LARGEST) as i8;
        number.cast_unsigned()
    };
    row.iter().map(byte).collect()
}

/// Returns the scale with which the levels approximate a row with the least squared error, as the upper half of an f32.
fn scale_of_levels(row: &[f32]) -> u16 {
    let squares = |numbers: &mut dyn Iterator<Item = f32>| numbers.map(|number| number * number).sum::<f32>();
    let mut scale = (squares(&mut row.iter().copied()) / row.iter().map(|_| 1.0).sum::<f32>()).sqrt();
    for _ in 0..FITS {
        let levels =
            || row.iter().map(|number| LEVELS.get(nearest(*number, scale)).copied().unwrap_or_default());
        let product: f32 = row.iter().zip(levels()).map(|(number, level)| number * level).sum();
        let length = squares(&mut levels());
        if length == 0.0 {
            break;
        }
        scale = product / length;
    }
    u16::try_from((scale.to_bits().saturating_add(0x8000)) >> 16).unwrap_or(u16::MAX)
}

/// Returns a row as the indices of levels, two in a byte.
fn in_levels(row: &[f32], scale: f32) -> Vec<u8> {
    let half = |number: &f32| u8::try_from(nearest(*number, scale)).unwrap_or_default();
    row.chunks(2).map(|pair| pair.first().map_or(0, half) | pair.get(1).map_or(0, half) << 4).collect()
}

/// Returns the index of the level that is nearest to a number at this scale.
fn nearest(number: f32, scale: f32) -> usize {
    let is_below = |(low, high): (&f32, &f32)| number > f32::midpoint(*low, *high) * scale;
    LEVELS.iter().zip(LEVELS.iter().skip(1)).filter(|pair| is_below(*pair)).count()
}
