//! Parsing of the `WWW-Authenticate` header, with which a server rejects a request (RFC 6750, RFC 9728).

use super::dpop::USE_NONCE;
use super::scopes;

/// The relevant parameters of the `Bearer` challenge, or of the `DPoP` challenge if there is no other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    /// The URL of the resource metadata.
    pub(super) resource_metadata: Option<String>,
    /// The scopes that the request needs.
    pub(super) scopes: Vec<String>,
    /// The error code, as `insufficient_scope`.
    pub(super) error: Option<String>,
    /// True if the server accepts only tokens that are bound to a key (RFC 9449).
    pub(super) is_dpop: bool,
}

impl Challenge {
    /// Parses a header. An unreadable one counts as one without parameters.
    pub(super) fn read(header: &str) -> Self {
        let mut challenges: Vec<(String, Self)> = Vec::new();
        let mut rest = header;
        while let Some((word, after)) = next_word(rest) {
            let word = word.to_ascii_lowercase();
            let Some(value) = after.trim_start_matches([' ', '\t']).strip_prefix('=') else {
                // A word without a value is the next scheme.
                challenges.push((word, Self::default()));
                rest = after;
                continue;
            };
            let (value, after) = next_value(value);
            rest = after;
            let Some((_, challenge)) = challenges.last_mut() else { continue };
            match word.as_str() {
                "resource_metadata" => _ = challenge.resource_metadata.get_or_insert(value),
                "error" => _ = challenge.error.get_or_insert(value),
                "scope" if challenge.scopes.is_empty() => challenge.scopes = scopes::read(&value),
                _ => {}
            }
        }
        let mut take = |scheme: &str| {
            let position = challenges.iter().position(|(other, _)| other == scheme)?;
            Some(challenges.remove(position).1)
        };
        let (bearer, dpop) = (take("bearer"), take("dpop").map(|dpop| Self { is_dpop: true, ..dpop }));
        // A request with a proof is asked for a better proof, regardless of the other challenges.
        let is_about_proof = dpop.as_ref().is_some_and(Self::wants_nonce);
        let challenge = if is_about_proof { dpop } else { bearer.or(dpop) };
        challenge.unwrap_or_default()
    }

    /// Returns true if the proof needs a nonce of the server.
    pub(super) fn wants_nonce(&self) -> bool {
        self.error.as_deref() == Some(USE_NONCE)
    }

    /// Returns true if the request needs other scopes than those of the token.
    pub(super) fn wants_scopes(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// Splits off the next word.
fn next_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(|c: char| !is_word(c));
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// Returns true for the characters of a token, and of the padded Base64 that other schemes have.
fn is_word(c: char) -> bool {
    c.is_ascii_graphic() && !matches!(c, '"' | ',' | '=' | '\\' | ';')
}

/// Splits off a value, quoted or not.
fn next_value(text: &str) -> (String, &str) {
    let text = text.trim_start_matches([' ', '\t']);
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t', ';']).unwrap_or(text.len());
        let (value, rest) = text.split_at(end);
        return (value.to_owned(), rest);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, quoted.get(at + 1..).unwrap_or_default()),
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            _ => value.push(c),
        }
    }
    // The quote is not closed, so the end of the value is unknown.
    (String::new(), "")
}
