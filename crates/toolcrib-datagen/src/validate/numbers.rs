//! Numbers in texts: digits, and English number words.

/// The number words below one hundred, with their values.
const WORDS: [(&str, f64); 47] = [
    ("zero", 0.0),
    ("a", 1.0),
    ("an", 1.0),
    ("one", 1.0),
    ("once", 1.0),
    ("first", 1.0),
    ("single", 1.0),
    ("two", 2.0),
    ("twice", 2.0),
    ("second", 2.0),
    ("pair", 2.0),
    ("couple", 2.0),
    ("three", 3.0),
    ("third", 3.0),
    ("four", 4.0),
    ("fourth", 4.0),
    ("five", 5.0),
    ("fifth", 5.0),
    ("six", 6.0),
    ("sixth", 6.0),
    ("seven", 7.0),
    ("seventh", 7.0),
    ("eight", 8.0),
    ("eighth", 8.0),
    ("nine", 9.0),
    ("ninth", 9.0),
    ("ten", 10.0),
    ("tenth", 10.0),
    ("eleven", 11.0),
    ("twelve", 12.0),
    ("dozen", 12.0),
    ("thirteen", 13.0),
    ("fourteen", 14.0),
    ("fifteen", 15.0),
    ("sixteen", 16.0),
    ("seventeen", 17.0),
    ("eighteen", 18.0),
    ("nineteen", 19.0),
    ("twenty", 20.0),
    ("thirty", 30.0),
    ("forty", 40.0),
    ("fifty", 50.0),
    ("sixty", 60.0),
    ("seventy", 70.0),
    ("eighty", 80.0),
    ("ninety", 90.0),
    ("half", 0.5),
];

/// The number words that multiply what stands before them.
const SCALES: [(&str, f64); 4] = [("hundred", 100.0), ("thousand", 1e3), ("million", 1e6), ("billion", 1e9)];

/// The letters behind a number that multiply it, as in `5k`.
const SUFFIXES: [(char, f64); 3] = [('k', 1e3), ('m', 1e6), ('b', 1e9)];

/// Returns all numbers that a text states: `1,250.5`, `15 %` (both 15 and 0.15), `5k`, `twenty-one thousand`.
pub(super) fn numbers(text: &str) -> Vec<f64> {
    let mut numbers = digits(text);
    numbers.extend(words(text));
    numbers
}

fn digits(text: &str) -> Vec<f64> {
    let mut numbers = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let is_negative = rest.get(..start).is_some_and(|before| before.ends_with('-'));
        let from = rest.get(start..).unwrap_or_default();
        let length = from.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(from.len());
        let (token, behind) = from.split_at(length);
        let token = token.trim_end_matches(['.', ',']);
        for reading in [token.replace(',', ""), token.replace('.', "").replace(',', ".")] {
            let Ok(number) = reading.parse::<f64>() else { continue };
            numbers.push(number);
            if is_negative {
                numbers.push(-number);
            }
            if behind.trim_start().starts_with('%') || behind.trim_start().starts_with("percent") {
                numbers.push(number / 100.0);
            }
            let letter = behind.chars().next().map(|c| c.to_ascii_lowercase());
            let scale = SUFFIXES.iter().find(|(suffix, _)| Some(*suffix) == letter).map(|(_, scale)| scale);
            numbers.extend(scale.map(|scale| number * scale));
            let word = behind.trim_start().split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
            let scale =
                SCALES.iter().find(|(name, _)| word.eq_ignore_ascii_case(name)).map(|(_, scale)| scale);
            numbers.extend(scale.map(|scale| number * scale));
        }
        // The parts too: `2024-05-01`, `10.0.0.7` and `3.5` all state smaller numbers.
        numbers.extend(token.split(['.', ',']).filter_map(|part| part.parse::<f64>().ok()));
        rest = behind;
    }
    numbers
}

fn words(text: &str) -> Vec<f64> {
    let lowered = text.to_lowercase();
    let mut numbers = Vec::new();
    // The total of the finished thousands, and the part below.
    let mut current: Option<(f64, f64)> = None;
    for word in lowered.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let small = WORDS.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
        let scale =
            SCALES.iter().find(|(name, _)| *name == word.trim_end_matches('s')).map(|(_, value)| *value);
        match (small, scale, current) {
            (Some(value), _, None) => current = Some((0.0, value)),
            (Some(value), _, Some((total, below))) => {
                // Both readings: `twenty one` is 21, and the one after twenty is 1.
                numbers.push(value);
                numbers.push(total + below);
                current = Some((total, below + value));
            }
            (None, Some(scale), Some((total, below))) if scale < 1e3 => {
                current = Some((total, below * scale));
            }
            (None, Some(scale), Some((total, below))) => current = Some((total + below * scale, 0.0)),
            (None, Some(scale), None) => current = Some((scale, 0.0)),
            (None, None, Some((total, below))) if word != "and" => {
                numbers.push(total + below);
                current = None;
            }
            (None, None, _) => {}
        }
    }
    numbers.extend(current.map(|(total, below)| total + below));
    numbers
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn numbers_are_read_from_digits_and_words() {
        let cases = [
            ("1,250.5 euro", 1250.5),
            ("a discount of 15 %", 0.15),
            ("about 5k rows", 5000.0),
            ("3 million people", 3e6),
            ("twenty-one thousand five hundred", 21_500.0),
            ("two tickets", 2.0),
            ("the third one", 3.0),
            ("at -4.5 degrees", -4.5),
            ("one hundred and seven", 107.0),
            ("1.250,5 Euro", 1250.5),
        ];
        for (text, number) in cases {
            assert!(numbers(text).iter().any(|found| (found - number).abs() < 1e-9), "{text}: {number}");
        }
        assert!(!numbers("two tickets").contains(&3.0));
    }
}
