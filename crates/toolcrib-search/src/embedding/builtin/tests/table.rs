//! The table as bytes.

use super::super::{NewToken, RowFormat, TABLE, Table, TableError, TokenId};
use super::tokens::written;

const ROWS: [[f32; 4]; 4] =
    [[1.0, -0.5, 0.25, 0.0], [0.001, 0.0, -0.002, 0.0], [0.0; 4], [-3.0, 100.0, 7.0, 0.5]];

fn small(format: RowFormat) -> Vec<u8> {
    let tokens = [("file", false), ("s", false), ("é", false), ("s", true)].into_iter().zip(&ROWS);
    let tokens: Vec<_> = tokens.map(|((text, continues), row)| NewToken { text, continues, row }).collect();
    Table::encode(4, format, &tokens).unwrap()
}

#[test]
fn what_is_written_is_read_again() {
    let bytes = small(RowFormat::EightBits);
    assert_eq!(bytes, small(RowFormat::EightBits), "the same tokens give the same bytes");
    let table = Table::parse(&bytes).unwrap();
    assert!(table.is_intact());
    assert_eq!((table.len(), table.dimension()), (4, 4));
    assert_eq!(
        written(&table, "Files s é é"),
        ["file", "##s", "s", "[UNK]", "[UNK]"],
        "accents are taken off"
    );
    for (number, row) in (0..).zip(ROWS) {
        let mut sum = vec![0.0; 4];
        table.add_row(TokenId(number), &mut sum);
        let largest = row.iter().map(|number| number.abs()).fold(0.0, f32::max);
        for (read, written) in sum.iter().zip(row) {
            assert!((read - written).abs() <= largest / 250.0, "{read} for {written}");
        }
    }
}

#[test]
fn four_bits_for_each_number_hardly_turn_a_row() {
    let mut state = 1_u32;
    let mut uniform = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(state >> 16).unwrap()) / f32::from(u16::MAX)
    };
    for dimension in [255_u16, 256] {
        // The sum of twelve equally distributed numbers is nearly normally distributed.
        let row: Vec<f32> =
            (0..dimension).map(|_| 0.37 * ((0..12).map(|_| uniform()).sum::<f32>() - 6.0)).collect();
        let token = NewToken { text: "a", continues: false, row: &row };
        let bytes = Table::encode(dimension, RowFormat::FourBits, &[token]).unwrap();
        let mut sum = vec![0.0; row.len()];
        Table::parse(&bytes).unwrap().add_row(TokenId(0), &mut sum);
        let [length, sum_length] =
            [&row, &sum].map(|row| row.iter().map(|number| number * number).sum::<f32>().sqrt());
        let cosine = row.iter().zip(&sum).map(|(one, other)| one * other).sum::<f32>() / length / sum_length;
        assert!(cosine > 0.99, "{cosine}");
        assert!((0.97..1.03).contains(&(sum_length / length)), "{sum_length} for {length}");
    }
}

#[test]
fn damaged_bytes_are_no_table() {
    for format in [RowFormat::EightBits, RowFormat::FourBits] {
        assert_damage_is_noticed(&small(format));
    }
}

fn assert_damage_is_noticed(bytes: &[u8]) {
    assert_eq!(Table::parse(b"").unwrap_err(), TableError::Foreign);
    for length in 8..bytes.len() {
        assert!(matches!(Table::parse(&bytes[..length]), Err(TableError::Damaged { .. })), "{length}");
    }
    assert_eq!(Table::parse(&[bytes, &[0]].concat()).unwrap_err(), TableError::Damaged { part: "end" });
    for place in 8..bytes.len() {
        let mut damaged = bytes.to_vec();
        damaged[place] ^= 0xff;
        // Whatever is read of it, it is bounded, and the digest tells.
        if let Ok(table) = Table::parse(&damaged) {
            assert!(!table.is_intact(), "{place}");
            assert!(table.tokens("files and a word").len() <= 16, "{place}");
            let mut sum = vec![0.0; table.dimension()];
            for token in table.tokens("files") {
                table.add_row(token, &mut sum);
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let row = [1.0; 4];
    let (long, token) = ("x".repeat(256), |text, continues| NewToken { text, continues, row: &row });
    for (dimension, tokens, expected) in [
        (4, vec![token(&long, false)], "a token of 256 bytes"),
        (4, vec![token("", false)], "a token of 0 bytes"),
        (3, vec![token("a", false)], "rows that do not have 3 numbers"),
        (
            4,
            vec![token("a", true), token("a", false)],
            "tokens that begin words behind tokens that continue them",
        ),
    ] {
        let error = Table::encode(dimension, RowFormat::EightBits, &tokens).unwrap_err();
        assert_eq!(error.to_string(), format!("a table of vectors cannot hold {expected}"));
    }
}

#[test]
fn every_token_of_the_table_is_found() {
    let table = Table::parse(TABLE).unwrap();
    for number in 0..u16::try_from(table.len()).unwrap() {
        let token = TokenId(number);
        assert_eq!(table.find(table.text_of(token), table.continues(token)), Some(token));
    }
}
