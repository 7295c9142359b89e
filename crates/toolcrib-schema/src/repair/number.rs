//! Numbers and their texts, turned into each other only where nothing is lost.

use serde_json::Number;

/// The largest integer that every JSON parser reads exactly: 2⁵³ − 1. A larger one in quotes was quoted to prevent
/// rounding, and stays quoted.
pub(crate) const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// From here on not every whole number is a float: 2⁵³.
const WIDE: f64 = 9_007_199_254_740_992.0;

/// Returns a whole number as JSON writes it and in no other way: `42`, not `042`, `+42`, `42.0` or `-0`.
pub(crate) fn whole(text: &str) -> Option<Number> {
    if !is_whole_form(text) || text == "-0" {
        return None;
    }
    let number: i64 = text.parse().ok()?;
    is_safe(number).then(|| number.into())
}

/// Returns a number as JSON writes it, when it can be told apart from all its neighbours.
pub(crate) fn number(text: &str) -> Option<Number> {
    if is_whole_form(text) { whole(text) } else { exact(text) }
}

/// A number of a JSON text, when reading it loses nothing: the digits that it was written with, and those that it
/// would be written with, are the same apart from zeros.
pub(crate) fn exact(token: &str) -> Option<Number> {
    if is_whole_form(token)
        && token != "-0"
        && let Some(number) = token.parse().map(i64::into).ok().or_else(|| token.parse().map(u64::into).ok())
    {
        return Some(number);
    }
    let written = Decimal::read(token)?;
    let float: f64 = token.parse().ok().filter(|float: &f64| float.is_finite())?;
    (Decimal::read(&format!("{float:e}"))? == written).then(|| Number::from_f64(float))?
}

/// Returns the text of a number; none for one so large that it may have been rounded when it was read.
pub(crate) fn text(number: &Number) -> Option<String> {
    let is_exact = !number.is_f64() || number.as_f64().is_some_and(|float| float.abs() < WIDE);
    is_exact.then(|| number.to_string())
}

/// Returns the whole number that a number with a point is.
pub(crate) fn narrowed(number: &Number) -> Option<Number> {
    let float = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0)?;
    let whole: i64 = format!("{float:.0}").parse().ok()?;
    is_safe(whole).then(|| whole.into())
}

fn is_safe(number: i64) -> bool {
    (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(&number)
}

/// Digits with an optional sign, and no zero before others.
fn is_whole_form(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain && (digits.len() == 1 || !digits.starts_with('0'))
}

/// The value of a number's text: `0.<digits>` times ten to the `exponent`, without zeros at either end.
#[derive(Debug, PartialEq)]
struct Decimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// Only what JSON takes for a number, and no exponent that is beyond counting.
    fn read(text: &str) -> Option<Self> {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, power) = match text.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, Self::power(power)?),
            None => (text, 0),
        };
        let (before, after) = match mantissa.split_once('.') {
            Some((_, "")) => return None,
            Some((before, after)) => (before, after),
            None => (mantissa, ""),
        };
        if !is_whole_form(before)
            || before.starts_with('-')
            || !after.bytes().all(|byte| byte.is_ascii_digit())
        {
            return None;
        }
        let all = format!("{before}{after}");
        let significant = all.trim_start_matches('0');
        let leading = i64::try_from(all.len() - significant.len()).ok()?;
        let digits = significant.trim_end_matches('0').to_owned();
        let point = i64::try_from(before.len()).ok()?;
        let exponent = if digits.is_empty() { 0 } else { power.checked_add(point - leading)? };
        Some(Self { is_negative, digits, exponent })
    }

    fn power(text: &str) -> Option<i64> {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| text.parse().ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_loses_nothing_is_a_number() {
        for (text, whole_number, any_number) in [
            ("42", true, true),
            ("-7", true, true),
            ("0", true, true),
            ("9007199254740991", true, true),
            ("9007199254740992", false, false),
            ("9007199254740993", false, false),
            ("18446744073709551617", false, false),
            ("1.0", false, true),
            ("3.50", false, true),
            ("-0.125", false, true),
            ("1e3", false, true),
            ("1E-7", false, true),
            ("-0", false, false),
            ("007", false, false),
            ("-07", false, false),
            ("00.5", false, false),
            ("+5", false, false),
            (" 7", false, false),
            ("7 ", false, false),
            ("7x", false, false),
            ("", false, false),
            ("-", false, false),
            (".5", false, false),
            ("5.", false, false),
            ("1e", false, false),
            ("1e400", false, false),
            ("1e-400", false, false),
            ("0.1234567890123456789", false, false),
            ("9007199254740993.0", false, false),
            ("0x10", false, false),
            ("1_000", false, false),
            ("1,5", false, false),
            ("NaN", false, false),
            ("Infinity", false, false),
            ("٣", false, false),
        ] {
            assert_eq!(whole(text).is_some(), whole_number, "{text}");
            assert_eq!(number(text).is_some(), any_number, "{text}");
        }
    }

    #[test]
    fn numbers_in_a_text_are_read_exactly_or_not_at_all() {
        for (token, expected) in [
            ("18446744073709551615", Some("18446744073709551615")),
            ("-9223372036854775808", Some("-9223372036854775808")),
            ("18446744073709551617", None),
            ("100000000000000000000", Some("1e+20")),
            ("0.1", Some("0.1")),
            ("-0.0", Some("-0.0")),
            ("2.5000", Some("2.5")),
            ("1e309", None),
            ("01", None),
        ] {
            assert_eq!(exact(token).map(|number| number.to_string()).as_deref(), expected, "{token}");
        }
    }

    #[test]
    fn large_floats_have_no_text_and_are_not_whole() {
        for (number, as_text, as_whole) in [
            (7.0, Some("7.0"), Some("7")),
            (-3.0, Some("-3.0"), Some("-3")),
            (0.5, Some("0.5"), None),
            (9_007_199_254_740_992.0, None, None),
            (1e300, None, None),
        ] {
            let number = Number::from_f64(number).unwrap();
            assert_eq!(text(&number).as_deref(), as_text);
            assert_eq!(narrowed(&number).map(|number| number.to_string()).as_deref(), as_whole);
        }
    }
}
