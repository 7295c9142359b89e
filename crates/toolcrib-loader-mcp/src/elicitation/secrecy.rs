//! Whether a question is one for a secret.

/// Words for secrets, as they stand in a text of which only letters and digits are kept.
const ANYWHERE: &[&str] = &[
    "password",
    "passwd",
    "passwort",
    "passphrase",
    "passcode",
    "motdepasse",
    "contrasena",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "cardnumber",
    "creditcard",
    "seedphrase",
    "mnemonic",
    "securitycode",
    "verificationcode",
];

/// Short ones, which other words contain.
const WHOLE: &[&str] = &["pin", "otp", "cvv", "cvc", "ssn", "iban", "pwd", "2fa", "mfa", "tan"];

/// Whether a text speaks of a secret. It says so too often rather than too seldom: all it does is to warn.
pub(super) fn is_about_secrets(text: &str) -> bool {
    let lower = text.to_lowercase();
    let bare: String = lower.chars().filter(|c| c.is_alphanumeric()).collect();
    ANYWHERE.iter().any(|word| bare.contains(word))
        || lower.split(|c: char| !c.is_alphanumeric()).any(|word| WHOLE.contains(&word))
}
