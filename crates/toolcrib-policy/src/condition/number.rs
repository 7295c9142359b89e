//! Equality of numbers.

use serde_json::Number;

/// Returns true if two numbers are equal in any notation. Integers of 64 bits are compared exactly, without conversion to
/// floats.
pub(super) fn same(left: &Number, right: &Number) -> bool {
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => left == right,
        (None, None) => left.as_f64() == right.as_f64(),
        _ => false,
    }
}

/// Returns the number as a whole one, where it is one and fits. Every float of that size is exact.
fn integer(number: &Number) -> Option<i128> {
    if let Some(signed) = number.as_i64() {
        return Some(signed.into());
    }
    if let Some(unsigned) = number.as_u64() {
        return Some(unsigned.into());
    }
    let float = number.as_f64()?;
    // 2^100: all within are exact as `i128`.
    let is_whole = float.fract() == 0.0 && float.abs() <= 1_267_650_600_228_229_401_496_703_205_376.0;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and within the range")]
    is_whole.then_some(float as i128)
}

/// Returns the texts of a number: as JSON writes it, and as a whole number where it is one.
pub(super) fn texts(number: &Number) -> impl Iterator<Item = String> {
    let whole = integer(number).map(|whole| whole.to_string());
    std::iter::once(number.to_string()).chain(whole)
}

/// Returns true if a lenient parser reads the text as the number, as `022` and `+22` for 22.
pub(super) fn is_said_by(number: &Number, text: &str) -> bool {
    match (integer(number), text.parse::<i128>()) {
        (Some(own), Ok(given)) => own == given,
        _ => number
            .as_f64()
            .zip(text.parse().ok())
            .is_some_and(|(own, given): (f64, f64)| own.total_cmp(&given).is_eq()),
    }
}
