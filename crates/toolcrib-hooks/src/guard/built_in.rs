//! The built-in patterns.

use toolcrib_results::TOKEN_PREFIXES;

/// A built-in pattern.
pub(super) struct BuiltIn {
    pub(super) name: &'static str,
    pub(super) group: &'static str,
    pub(super) pattern: &'static str,
    /// A check of a match beyond its pattern.
    pub(super) is_valid: fn(&str) -> bool,
}

/// The built-in patterns. They prefer to miss something over destroying texts.
pub(super) const BUILT_IN: [BuiltIn; 11] = [
    BuiltIn {
        name: "email",
        group: "pii",
        pattern: r"(?-u:\b)[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?-u:\b)",
        is_valid: always,
    },
    // With a country code: plain numbers of this length are mostly something else.
    BuiltIn {
        name: "phone",
        group: "pii",
        pattern: r"\+[1-9][0-9]{0,2}[ .-]?(?:\([0-9]{1,4}\)[ .-]?)?[0-9]{2,4}(?:[ .-]?[0-9]{2,4}){1,4}(?-u:\b)",
        is_valid: |text| (8..=15).contains(&digits(text).count()),
    },
    BuiltIn {
        name: "credit_card",
        group: "pii",
        pattern: r"(?-u:\b)[2-6][0-9]{3}(?:[ -]?[0-9]{4}){2}[ -]?[0-9]{1,7}(?-u:\b)|(?-u:\b)3[47][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{5}(?-u:\b)",
        is_valid: is_card_number,
    },
    BuiltIn {
        name: "iban",
        group: "pii",
        pattern: r"(?-u:\b)[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?-u:\b)",
        is_valid: is_iban,
    },
    BuiltIn {
        name: "us_ssn",
        group: "pii",
        pattern: r"(?-u:\b)[0-8][0-9]{2}-[0-9]{2}-[0-9]{4}(?-u:\b)",
        is_valid: |text| !text.starts_with("000") && !text.starts_with("666") && !text.contains("-00-"),
    },
    BuiltIn {
        name: "private_key",
        group: "keys",
        pattern: r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:-?[A-Za-z0-9+/=\s:,\\])*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?",
        is_valid: always,
    },
    BuiltIn {
        name: "jwt",
        group: "keys",
        pattern: r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}",
        is_valid: always,
    },
    BuiltIn {
        name: "override",
        group: "instructions",
        pattern: r"(?i)(?-u:\b)(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|the|your|my|of|these|those)\s+){0,4}(?:previous|prior|above|earlier|preceding|foregoing|existing|original|system)\s+(?:instructions?|prompts?|rules?|directives?|guidelines?|messages?)",
        is_valid: always,
    },
    BuiltIn {
        name: "chat_markup",
        group: "instructions",
        pattern: r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id)\|>|\[/?INST\]|<</?SYS>>",
        is_valid: always,
    },
    BuiltIn {
        name: "secrecy",
        group: "instructions",
        pattern: r"(?i)(?-u:\b)(?:do not|don't|never)\s+(?:tell|inform|alert|notify|mention\s+(?:this|it)\s+to|reveal\s+(?:this|it)\s+to|show\s+(?:this|it)\s+to)\s+the\s+(?:user|human|operator)",
        is_valid: always,
    },
    // Emoji of flags use a few of these characters.
    BuiltIn {
        name: "hidden_text",
        group: "instructions",
        pattern: r"[\x{E0020}-\x{E007E}]{8,}",
        is_valid: always,
    },
];

/// The name and the group of the pattern of tokens of well-known services.
pub(super) const TOKEN: (&str, &str) = ("token", "keys");

/// Returns the pattern of tokens of well-known services.
pub(super) fn token_pattern() -> String {
    // A JSON text in base64 begins with it too, such as a cursor of the next page; `jwt` finds the tokens.
    let prefixes = TOKEN_PREFIXES.iter().filter(|prefix| **prefix != "eyJ");
    let prefixes: Vec<String> = prefixes.map(|prefix| regex::escape(prefix)).collect();
    format!(r"(?-u:\b)(?:{})[A-Za-z0-9_-]{{12,}}", prefixes.join("|"))
}

/// Returns true for a text with letters and digits of the length of a token: names of files and variables have few digits.
pub(super) fn is_token(text: &str) -> bool {
    const MIN_TOKEN_BYTES: usize = 20;
    const MIN_DIGITS: usize = 2;
    text.len() >= MIN_TOKEN_BYTES && digits(text).count() >= MIN_DIGITS
}

fn always(_: &str) -> bool {
    true
}

fn digits(text: &str) -> impl DoubleEndedIterator<Item = u32> {
    text.chars().filter_map(|c| c.to_digit(10))
}

/// Returns true for a number of 13 to 19 digits with a correct check digit (ISO/IEC 7812, Luhn).
fn is_card_number(text: &str) -> bool {
    let sum: u32 = digits(text)
        .rev()
        .enumerate()
        .map(|(position, digit)| match (position % 2, digit * 2) {
            (0, _) => digit,
            (_, doubled) if doubled > 9 => doubled - 9,
            (_, doubled) => doubled,
        })
        .sum();
    (13..=19).contains(&digits(text).count()) && sum.is_multiple_of(10)
}

/// Returns true for an account number with correct check digits (ISO 13616: the remainder by 97 is 1).
fn is_iban(text: &str) -> bool {
    let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let Some((head, tail)) = plain.split_at_checked(4) else { return false };
    let remainder = tail.chars().chain(head.chars()).fold(0, |remainder, c| match c.to_digit(36) {
        Some(value) if value > 9 => (remainder * 100 + value) % 97,
        Some(value) => (remainder * 10 + value) % 97,
        None => remainder,
    });
    (15..=34).contains(&plain.len()) && remainder == 1
}
