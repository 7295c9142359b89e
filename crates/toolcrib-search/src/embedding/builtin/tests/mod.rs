//! What the built-in embedder promises.

mod multilingual;
mod table;
mod tokens;

#[cfg(feature = "fastembed")]
mod teacher;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{BuiltinEmbedder, MAX_TEXT_TOKENS, TABLE, Table};
use crate::embedding::Embedder;

fn builtin() -> BuiltinEmbedder {
    BuiltinEmbedder::new().unwrap()
}

fn similarity(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[test]
fn the_table_is_the_one_that_its_record_tells_of() {
    let record: Value = serde_json::from_str(include_str!("../../../../assets/builtin.json")).unwrap();
    let table = Table::parse(TABLE).unwrap();
    assert!(table.is_intact());
    assert_eq!(record["table"]["sha256"], format!("{:x}", Sha256::digest(TABLE)));
    assert_eq!(record["table"]["bytes"], TABLE.len());
    assert_eq!(record["table"]["tokens"], table.len());
    assert_eq!(record["table"]["dimension"], table.dimension());
    assert_eq!(record["settings"]["epochs"], 8);
    assert!(TABLE.len() <= 8_000_000, "{} bytes", TABLE.len());
}

#[test]
fn texts_that_mean_alike_point_alike() {
    let builtin = builtin();
    for (text, near, far) in [
        ("Removes a file from the disk.", "delete a document", "temperature and wind of a city"),
        ("Current conditions of a place", "what is the weather like in Paris?", "send a message to a person"),
        ("Books a flight", "reserve a plane ticket", "convert a picture to another format"),
    ] {
        let [text_vector, near, far] = [text, near, far].map(|text| builtin.embed_one(text));
        assert!(similarity(&text_vector, &near) > similarity(&text_vector, &far) + 0.1, "{text}");
        let length = similarity(&text_vector, &text_vector);
        assert!((length - 1.0).abs() < 1e-5, "{text}: {length}");
    }
}

#[test]
fn the_same_text_has_the_same_vector_whatever_stands_beside_it() {
    let builtin = builtin();
    let texts = ["Reads a file.", "Sends mail.", "Reads a file."];
    let vectors = builtin.embed(&texts).unwrap();
    assert_eq!(vectors[0], vectors[2]);
    for (text, vector) in texts.iter().zip(&vectors) {
        assert_eq!(&BuiltinEmbedder::new().unwrap().embed_one(text), vector);
    }
}

#[test]
fn what_is_not_known_has_a_vector_of_zeros_and_no_coverage() {
    let builtin = builtin();
    for text in ["", "  \n ", "\u{0}\u{200b}", "🙂🙂", "ᚱᚢ", &"x".repeat(101)] {
        assert_eq!(builtin.embed_one(text), vec![0.0; builtin.dimension()], "{text:?}");
        assert!(builtin.coverage(text) <= 0.0, "{text:?}");
    }
}

#[test]
fn coverage_is_the_share_of_what_the_english_table_knows() {
    let builtin = BuiltinEmbedder::over(Table::parse(TABLE).unwrap());
    for (text, expected) in [
        ("Please get the weather in Paris!", 1.0),
        ("I have 2 C files", 1.0),
        ("查询北京的天气", 0.0),
        ("weather 北", 0.5),
        ("Привет мир", 0.0),
        ("?!", 0.0),
        ("xqzvkj", 0.0),
        ("météo à Paris", 1.0),
    ] {
        let coverage = builtin.coverage(text);
        assert!((coverage - expected).abs() < 1e-6, "{text}: {coverage}");
    }
}

#[test]
fn a_text_of_a_megabyte_is_read_to_its_bound() {
    let builtin = builtin();
    let words = "weather ".repeat(1 << 17);
    assert_eq!(builtin.english.tokens(&words).len(), MAX_TEXT_TOKENS);
    assert_eq!(builtin.embed_one(&words), builtin.embed_one(&"weather ".repeat(MAX_TEXT_TOKENS)));
    for text in ["a".repeat(1 << 20), "é".repeat(1 << 19), " ".repeat(1 << 20), "!".repeat(1 << 20)] {
        assert!(builtin.english.tokens(&text).len() <= MAX_TEXT_TOKENS);
        assert_eq!(builtin.embed_one(&text).len(), builtin.dimension());
    }
}

#[test]
fn its_id_names_both_tables() {
    let digest = |bytes| Table::parse(bytes).unwrap().short_digest();
    assert_eq!(builtin().id(), format!("builtin:{}:{}", digest(TABLE), digest(super::MULTILINGUAL_TABLE)));
}
