//! How well the rows do on texts that they were not trained with.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::pairs::{Pair, Pairs};
use super::training::{Lesson, sum_of};
use crate::random::Random;
use crate::vectors::{Vectors, dot};

/// Of how many English texts of several words one is held out, with its translations.
const HELD_OUT_EVERY: u8 = 32;

/// The most translations that are searched with.
const MAX_SEARCHED: usize = 6_000;

/// Tells whether each English text is held out, which depends on its content alone.
pub(crate) fn choose(english: &[String]) -> Vec<bool> {
    let is_held_out = |text: &String| {
        let digest: [u8; 32] = Sha256::digest(text).into();
        text.contains(' ') && digest[0].is_multiple_of(HELD_OUT_EVERY)
    };
    english.iter().map(is_held_out).collect()
}

/// Returns how many held-out translations are nearest to their own English text among all that are held out.
pub(crate) fn agreement(
    pairs: &Pairs,
    lessons: &[Lesson],
    is_held_out: &[bool],
    (rows, targets): (&Vectors, &Vectors),
    seed: u64,
) -> Value {
    let is_held_out = |number: usize| is_held_out.get(number).copied().unwrap_or_default();
    let english: Vec<usize> = (0..targets.len()).filter(|number| is_held_out(*number)).collect();
    let all: Vec<(&Pair, &Lesson)> =
        pairs.all.iter().zip(lessons).filter(|(pair, _)| is_held_out(pair.english)).collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    Random::new(seed).shuffle(&mut order);
    let mut of_languages: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for (pair, lesson) in order.iter().filter_map(|place| all.get(*place)).take(MAX_SEARCHED) {
        let vector = sum_of(lesson, rows);
        let own = dot(targets.get(pair.english), &vector);
        let is_first = |other: &usize| *other == pair.english || dot(targets.get(*other), &vector) < own;
        let (firsts, count) = of_languages.entry(pair.language).or_default();
        *firsts += u32::from(english.iter().all(is_first));
        *count += 1;
    }
    let share =
        |(firsts, count): (u32, u32)| (1000.0 * f64::from(firsts) / f64::from(count.max(1))).round() / 1000.0;
    let sum = of_languages.values().fold((0, 0), |sum, (firsts, count)| (sum.0 + firsts, sum.1 + count));
    let of_languages: BTreeMap<&str, f64> =
        of_languages.into_iter().map(|(key, value)| (key, share(value))).collect();
    json!({
        "english_texts": english.len(),
        "translations": sum.1,
        "share_of_own_text_first": share(sum),
        "by_language": of_languages,
    })
}
