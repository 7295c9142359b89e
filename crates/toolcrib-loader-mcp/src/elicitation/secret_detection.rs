//! Detection of questions that ask for a secret.

/// Words for secrets, as they occur in a text that is reduced to letters and digits.
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

/// Short words, which also occur in other words and so have to match whole words.
const WHOLE: &[&str] = &["pin", "otp", "cvv", "cvc", "ssn", "iban", "pwd", "2fa", "mfa", "tan"];

/// Returns true if a text mentions a secret. False positives are acceptable: the result is only a warning.
pub(super) fn is_about_secrets(text: &str) -> bool {
    let lower = text.to_lowercase();
    let bare: String = lower.chars().filter(|c| c.is_alphanumeric()).collect();
    ANYWHERE.iter().any(|word| bare.contains(word))
        || lower.split(|c: char| !c.is_alphanumeric()).any(|word| WHOLE.contains(&word))
}
