//! What making a table promises.

mod reading;

use std::collections::BTreeMap;

use toolcrib_search::embedding::{BuiltinEmbedder, TokenId};

use crate::projection::Projection;
use crate::teacher::{Vocabulary, parsed};
use crate::training::{Lesson, Settings, train};
use crate::vectors::{Vectors, dot, normalise};

/// How many numbers the teacher of these tests gives; the table has half of them.
const WIDTH: usize = 16;

/// Numbers without pattern, the same each time.
fn noise(place: usize) -> f32 {
    let mixed =
        u32::try_from(place).unwrap().wrapping_mul(0x9e37_79b9).rotate_left(13).wrapping_mul(0x85eb_ca6b);
    f32::from(u16::try_from(mixed >> 16).unwrap()) / 32_768.0 - 1.0
}

fn vocabulary() -> Vocabulary {
    let words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[unused0]",
        "file",
        "##s",
        "read",
        "write",
        "mail",
        "send",
        "a",
    ];
    let ids: BTreeMap<i64, String> = (0..).zip(words.map(str::to_owned)).collect();
    Vocabulary::new(&ids).unwrap()
}

/// A teacher for whom a text is the sum of its tokens, of which the first counts twice.
fn taught(count: usize) -> (Vec<Vec<TokenId>>, Vectors, Vectors) {
    let mut of_tokens = Vectors::zeros(7, WIDTH);
    for place in 0..7 {
        for (number, at) in of_tokens.get_mut(place).iter_mut().zip(0..) {
            *number = noise(place * WIDTH + at) * if at < WIDTH / 2 { 1.0 } else { 0.01 };
        }
        normalise(of_tokens.get_mut(place));
    }
    let texts: Vec<Vec<TokenId>> = (0..count)
        .map(|text| (0..3).map(|at| TokenId(u16::try_from((text * (at + 2) + at) % 7).unwrap())).collect())
        .collect();
    let mut of_texts = Vectors::zeros(count, WIDTH);
    for (place, tokens) in texts.iter().enumerate() {
        let sum = of_texts.get_mut(place);
        for (token, weight) in tokens.iter().zip([2.0, 1.0, 1.0]) {
            crate::vectors::add(sum, weight, of_tokens.get(token.0.into()));
        }
        normalise(sum);
    }
    (texts, of_texts, of_tokens)
}

fn distilled() -> (Vec<u8>, Vec<f64>) {
    let (texts, of_texts, of_tokens) = taught(64);
    let projection = Projection::of(of_texts.iter(), 8);
    assert!(projection.kept() > 0.99, "{}", projection.kept());
    let lessons: Vec<Lesson> = texts
        .into_iter()
        .zip(of_texts.iter())
        .enumerate()
        .map(|(place, (tokens, vector))| Lesson::new(tokens, vector, &projection, place % 8 == 0))
        .collect();
    let settings = Settings { dimension: 8, batch: 16, ..Settings::default() };
    let (rows, losses) = train(&lessons, &of_tokens, &projection, &settings);
    (vocabulary().table(&rows).unwrap(), losses.iter().map(|loss| loss.distance).collect())
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    assert_eq!(distilled().0, distilled().0);
}

#[test]
fn training_comes_nearer_to_the_teacher() {
    let (_, losses) = distilled();
    assert_eq!(losses.len(), 8);
    assert!(losses.last().unwrap() < losses.first().unwrap(), "{losses:?}");
}

#[test]
fn the_table_has_the_tokens_of_the_teacher_but_its_special_ones() {
    let vocabulary = vocabulary();
    let table = vocabulary.bare_table().unwrap();
    assert_eq!((table.len(), vocabulary.size), (7, 12));
    assert_eq!(vocabulary.ids(&table.tokens("Read a files!")), [2, 7, 11, 5, 6, 1, 3]);
    assert_eq!(vocabulary.each_alone().first().unwrap(), &[2, 5, 3]);
    assert!(Vocabulary::new(&BTreeMap::from([(0, "<s>".to_owned())])).is_err());
    let embedder = BuiltinEmbedder::over(parsed(distilled().0).unwrap());
    assert!((dot(&embedder.embed_one("send mail"), &embedder.embed_one("mail send")) - 1.0).abs() < 1e-6);
}

#[test]
fn a_projection_keeps_products_of_what_lies_in_it() {
    let mut vectors = Vectors::zeros(20, 6);
    for place in 0..20 {
        let (one, other) = (noise(place), noise(place + 100));
        vectors.get_mut(place).copy_from_slice(&[one, other, one + other, one - other, -one, 2.0 * other]);
        normalise(vectors.get_mut(place));
    }
    let projection = Projection::of(vectors.iter(), 2);
    assert!((projection.kept() - 1.0).abs() < 1e-6, "{}", projection.kept());
    for (one, other) in vectors.iter().zip(vectors.iter().skip(3)) {
        let (before, after) = (dot(one, other), dot(&projection.apply(one), &projection.apply(other)));
        assert!((before - after).abs() < 1e-4, "{before} {after}");
    }
}
