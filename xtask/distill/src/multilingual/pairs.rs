//! The pairs that are learnt: the translations, and other spellings of them.

use std::collections::{BTreeMap, HashMap};

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use sha2::{Digest, Sha256};

use super::language::ENGLISH;
use super::lexicon;
use super::text::{Translation, Translations};
use crate::random::Random;

/// The share of the texts with accents that are learnt without them too, as many people type them: one of so many.
const WITHOUT_ACCENTS: usize = 8;

/// What such a text weighs beside the original.
const WEIGHT_WITHOUT_ACCENTS: f32 = 0.7;

/// The most that one text weighs, when one of an average language weighs one.
const MAX_WEIGHT: f32 = 6.0;

/// What the texts of some sources weigh. Names of places and lists of keywords are less like requests.
const WEIGHTS: [(&str, f32); 7] = [
    (lexicon::SOURCE, 3.0),
    ("cldr-annotations", 2.0),
    ("cldr-keywords", 0.7),
    ("cldr-localenames", 0.7),
    ("cldr-numbers", 0.7),
    ("cldr-dates", 0.7),
    ("cldr-units", 0.7),
];

/// A text and the number of its English translation.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) language: &'static str,
    pub(crate) english: usize,
    pub(crate) text: String,
    pub(crate) weight: f32,
}

/// All pairs, and what they are made of.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    pub(crate) all: Vec<Pair>,
    /// The English texts, each of them once.
    pub(crate) english: Vec<String>,
    numbers: HashMap<String, usize>,
    digest: Sha256,
    /// The number of translations of each source.
    pub(crate) of_sources: BTreeMap<&'static str, usize>,
}

impl Pairs {
    /// Returns the pairs of these translations, of the lexicon, and of each English text with itself.
    pub(crate) fn new(
        translations: &Translations,
        lexicon: &[(&'static str, Translation)],
        seed: u64,
    ) -> Self {
        let (mut pairs, mut random) = (Self::default(), Random::new(seed));
        for (language, translations) in &translations.of_languages {
            for translation in translations {
                pairs.add_spellings(language, translation, &mut random);
            }
        }
        for (language, translation) in lexicon {
            pairs.add_spellings(language, translation, &mut random);
        }
        for (number, english) in pairs.english.iter().enumerate() {
            let text = english.clone();
            pairs.all.push(Pair { language: ENGLISH, english: number, text, weight: 1.0 });
        }
        pairs.balance();
        pairs
    }

    /// Returns the SHA-256 of all translations in their order.
    pub(crate) fn digest(&self) -> String {
        format!("{:x}", self.digest.clone().finalize())
    }

    fn add_spellings(&mut self, language: &'static str, translation: &Translation, random: &mut Random) {
        let Translation { english, text, source } = translation;
        for part in [language, english.as_str(), text.as_str(), *source] {
            self.digest.update(part);
            self.digest.update([0]);
        }
        *self.of_sources.entry(*source).or_default() += 1;
        let weight = WEIGHTS.iter().find(|(name, _)| name == source).map_or(1.0, |(_, weight)| *weight);
        let is_latin = text.chars().any(|c| c.is_ascii_lowercase());
        let is_cyrillic = text.chars().any(|c| ('а'..='я').contains(&c));
        if is_latin && !is_cyrillic && matches!(language, "sr" | "hr") {
            self.add("sr", english, cyrillic(text), weight);
        }
        // Vietnamese without accents is another text.
        if is_latin && !text.is_ascii() && language != "vi" && random.below(WITHOUT_ACCENTS) == 0 {
            let plain = without_accents(text);
            if plain.is_ascii() {
                self.add(language, english, plain, weight * WEIGHT_WITHOUT_ACCENTS);
            }
        }
        self.add(language, english, text.clone(), weight);
    }

    fn add(&mut self, language: &'static str, english: &str, text: String, weight: f32) {
        let next = self.english.len();
        let english = *self.numbers.entry(english.to_owned()).or_insert_with_key(|english| {
            self.english.push(english.clone());
            next
        });
        self.all.push(Pair { language, english, text, weight });
    }

    /// Makes a language with many texts weigh more than one with few, but not by as much.
    fn balance(&mut self) {
        let mut counts: HashMap<&str, f32> = HashMap::new();
        for pair in &self.all {
            *counts.entry(pair.language).or_default() += 1.0;
        }
        let (mut sum, mut count) = (0.0, 0.0);
        for pair in &mut self.all {
            pair.weight /= counts.get(pair.language).copied().unwrap_or(1.0).sqrt();
            sum += f64::from(pair.weight);
            count += 1.0;
        }
        #[expect(clippy::cast_possible_truncation, reason = "a mean of weights needs no more digits")]
        let mean = (sum / f64::max(count, 1.0)) as f32;
        for pair in &mut self.all {
            pair.weight = (pair.weight / mean).min(MAX_WEIGHT);
        }
    }
}

/// Returns a Serbian or Croatian text in the Cyrillic script.
fn cyrillic(text: &str) -> String {
    const LATIN: &str = "abcčćdđefghijklmnoprsštuvzž";
    const CYRILLIC: &str = "абцчћдђефгхијклмнопрсштувзж";
    let text = text.to_lowercase().replace("lj", "љ").replace("nj", "њ").replace("dž", "џ");
    let letter =
        |c: char| LATIN.chars().zip(CYRILLIC.chars()).find(|(latin, _)| *latin == c).map_or(c, |(_, c)| c);
    text.chars().map(letter).collect()
}

/// Returns a text in Latin script without its accents.
fn without_accents(text: &str) -> String {
    let letters = DecomposingNormalizerBorrowed::new_nfd().normalize_iter(text.chars());
    let letters = letters.filter(|c| !('\u{300}'..='\u{36f}').contains(c)).map(|c| match c {
        'đ' => 'd',
        'ł' => 'l',
        'ø' => 'o',
        'ı' => 'i',
        _ => c,
    });
    ComposingNormalizerBorrowed::new_nfc().normalize_iter(letters).collect()
}
