//! The distinction between English texts and others, by the words that the English table has.

use std::collections::HashSet;
use std::sync::LazyLock;

use toolcrib_model::text::truncate_bytes;

use super::table::{Table, TokenId};
use super::wordpiece::{MAX_TEXT_BYTES, MAX_TEXT_TOKENS};

/// Words of other languages, without accents, that the English table has and English texts hardly have. They are at
/// least 25 times as frequent in the texts of one of the languages as in English ones.
const OTHER_LANGUAGES: &str = "\
    ada af ak al ali alla als ana ao ar au auf aus av az ban bao bi bien bo bu cai cam cara cas ce che chi cho chu \
    chung co come como con cong cu da dan dans das dat de dei del dell della dem den der des det di die din du \
    dung ein eine el em en er es est este et etat fran gia gui ha hang hari hay het ho hop il ile im impossible \
    ind inn ir ist ja je ka kan kata ke ki kun ky la lai lam lan las le les li lieu ma mai mas mata med meg met \
    mis mit mod moi na nay ne ni non nu nur nut och oder og ole om op os ou pa para pas pe po por pour pre pri \
    quan que qui ra sa sao sap se ser si ska ste su sur ta tai tao te tempo temps thai theo thong til till tim toe \
    tong tri tu ul um un una und une va vain van var vi vogel vols von yang za zu";

static OTHER_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| OTHER_LANGUAGES.split_whitespace().collect());

/// The share of the words of an English text that are tokens of the English table.
const MIN_SHARE: f32 = 0.6;

/// The same for a text without a sign of another language: a letter or a word that English does not have. The
/// descriptions of some English tools consist of names.
const MIN_SHARE_WITHOUT_SIGN: f32 = 0.4;

/// The fewest unknown words of a text in another language. An English text may name one thing.
const MIN_UNKNOWN: u16 = 2;

/// The number of unknown words that one in another script than the Latin counts for.
const OTHER_SCRIPT: u16 = 2;

/// The last letter of the Latin script that counts.
const LAST_LATIN: char = '\u{24f}';

/// Returns true if a text is in English, or has too few words to tell.
pub(super) fn is_english(table: &Table<'_>, text: &str) -> bool {
    let (mut known, mut unknown, mut has_sign) = (0_u16, 0_u16, false);
    let text = truncate_bytes(text, MAX_TEXT_BYTES);
    for word in text.split(|c: char| !c.is_alphabetic()).take(MAX_TEXT_TOKENS).filter(|word| !word.is_empty())
    {
        if word.chars().all(|c| c > LAST_LATIN) {
            unknown = unknown.saturating_add(OTHER_SCRIPT);
            has_sign = true;
        } else if is_name(word) || word.chars().nth(1).is_none() {
            // Names of tools and abbreviations are those of any language, and a single letter tells nothing.
        } else {
            match word_of(table, word) {
                WordLanguage::English => known = known.saturating_add(1),
                WordLanguage::Unknown => unknown = unknown.saturating_add(1),
                WordLanguage::Other => {
                    unknown = unknown.saturating_add(1);
                    has_sign = true;
                }
            }
        }
    }
    let share = if has_sign { MIN_SHARE } else { MIN_SHARE_WITHOUT_SIGN };
    unknown < MIN_UNKNOWN || f32::from(known) >= share * f32::from(known.saturating_add(unknown))
}

/// The language that a word belongs to.
enum WordLanguage {
    English,
    Other,
    Unknown,
}

/// Returns the language of a word. It is English if it is a token of the English table that English texts have.
fn word_of(table: &Table<'_>, word: &str) -> WordLanguage {
    let tokens = table.tokens(word);
    let token = match tokens.as_slice() {
        [token] if *token != TokenId::UNKNOWN => *token,
        _ if word.is_ascii() => return WordLanguage::Unknown,
        _ => return WordLanguage::Other,
    };
    let text = std::str::from_utf8(table.text_of(token)).unwrap_or_default();
    if OTHER_WORDS.contains(text) { WordLanguage::Other } else { WordLanguage::English }
}

/// Returns true for a word with a capital letter inside, as in `getWeather` and `PDF`.
fn is_name(word: &str) -> bool {
    word.chars().skip(1).any(char::is_uppercase)
}
