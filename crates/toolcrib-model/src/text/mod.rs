//! Text forms: JSON, canonical JSON, invisible characters, truncation, first sentences, words of names.

pub(crate) mod canonical;
pub(crate) mod invisible;
pub(crate) mod json;
pub(crate) mod summary;
pub(crate) mod truncate;
pub(crate) mod words;

pub use self::canonical::{ExactIntegers, canonical_json, canonical_json_with};
pub use self::invisible::{clean_text, is_hidden, is_invisible, is_joiner, visible_text};
pub use self::json::{AnySeed, kind_of, pointer_part, string_end};
pub use self::summary::{ellipsize_words, first_sentence, fold_spaces};
pub use self::truncate::{ellipsize_bytes, ellipsize_chars, truncate_bytes, truncate_chars};
pub use self::words::words_of_name;
