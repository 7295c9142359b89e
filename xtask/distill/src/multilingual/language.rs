//! The languages that the table knows, and the codes that programs use for them.

/// The languages beside English.
pub(crate) const LANGUAGES: [&str; 49] = [
    "ar", "bg", "ca", "cs", "da", "de", "el", "es", "et", "fa", "fi", "fr", "gl", "gu", "he", "hi", "hr",
    "hu", "hy", "id", "it", "ja", "ka", "ko", "ku", "lt", "lv", "mk", "mn", "mr", "ms", "my", "nb", "nl",
    "pl", "pt", "ro", "ru", "sk", "sl", "sq", "sr", "sv", "th", "tr", "uk", "ur", "vi", "zh",
];

/// The language of English texts.
pub(crate) const ENGLISH: &str = "en";

/// Other codes for one of the languages.
const ALIASES: [(&str, &str); 5] =
    [("no", "nb"), ("iw", "he"), ("in", "id"), ("kmr", "ku"), ("zh-hans", "zh")];

/// Codes of Chinese in traditional characters, whose regions the table does not tell from the simplified ones.
const SIMPLIFIED: [&str; 3] = ["zh", "zh-cn", "zh-hans"];

/// Returns the language that a program has this code for, in any region, or nothing if the table does not know it.
pub(crate) fn language(code: &str) -> Option<&'static str> {
    let code = code.to_lowercase().replace('_', "-");
    if code.starts_with("zh") && !SIMPLIFIED.contains(&code.as_str()) {
        return None;
    }
    let first = code.split(['-', '@']).next().unwrap_or_default();
    let alias = ALIASES.iter().find(|(alias, _)| *alias == code || *alias == first).map(|(_, code)| *code);
    let code = alias.unwrap_or(first);
    LANGUAGES.into_iter().chain([ENGLISH]).find(|language| *language == code)
}
