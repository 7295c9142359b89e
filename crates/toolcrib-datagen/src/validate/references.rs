//! References to results, as plans write them.

/// Returns the reference in a text that is one, or that contains one: `$1.id`, `{{1.id}}`, `<result of call 1>`.
pub(super) fn reference(text: &str) -> Option<&str> {
    dollar(text).or_else(|| enclosed(text, "{{", "}}")).or_else(|| {
        let inner = enclosed(text, "<", ">")?;
        let lowered = inner.to_lowercase();
        let names_a_result = ["result", "output", "response"].iter().any(|word| lowered.contains(word));
        (names_a_result && lowered.contains(|c: char| c.is_ascii_digit() || c == '_')).then_some(inner)
    })
}

/// Finds `$` with the number of a call and a field: `$1.id`, but not the price `$1.50`.
fn dollar(text: &str) -> Option<&str> {
    for (at, _) in text.match_indices('$') {
        let rest = text.get(at + 1..)?;
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let field = rest.get(digits..).and_then(|rest| rest.strip_prefix(['.', '[']));
        let is_field = field.is_some_and(|field| {
            field.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '"' || c == '\'')
        });
        if digits > 0 && is_field {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            return text.get(at..=at + end);
        }
    }
    None
}

fn enclosed<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let start = text.find(open)?;
    let length = text.get(start..)?.find(close)?;
    text.get(start..start + length + close.len())
}
