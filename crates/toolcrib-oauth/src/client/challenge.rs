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

/// The authentication schemes that matter here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Bearer,
    Dpop,
    Other,
}

impl Challenge {
    /// Parses a header. An unreadable one counts as one without parameters.
    pub(super) fn read(header: &str) -> Self {
        let (mut bearer, mut dpop) = (None, None);
        let mut scheme = Scheme::Other;
        let mut rest = header;
        while let Some((word, after)) = next_word(rest) {
            let Some(value) = after.trim_start_matches([' ', '\t']).strip_prefix('=') else {
                // A word without a value is the next scheme.
                scheme = Scheme::read(word);
                match scheme {
                    Scheme::Bearer => _ = bearer.get_or_insert_with(Self::default),
                    Scheme::Dpop => _ = dpop.get_or_insert_with(Self::default),
                    Scheme::Other => {}
                }
                rest = after;
                continue;
            };
            let (value, after) = next_value(value);
            rest = after;
            let challenge = match scheme {
                Scheme::Bearer => &mut bearer,
                Scheme::Dpop => &mut dpop,
                Scheme::Other => continue,
            };
            let Some(challenge) = challenge else { continue };
            match word.to_ascii_lowercase().as_str() {
                "resource_metadata" => _ = challenge.resource_metadata.get_or_insert(value),
                "error" => _ = challenge.error.get_or_insert(value),
                "scope" if challenge.scopes.is_empty() => challenge.scopes = scopes::read(&value),
                _ => {}
            }
        }
        match (bearer, dpop) {
            // A request with a proof is asked for a better proof, regardless of the other challenges.
            (_, Some(dpop)) if dpop.wants_nonce() => Self { is_dpop: true, ..dpop },
            (Some(bearer), _) => bearer,
            (None, Some(dpop)) => Self { is_dpop: true, ..dpop },
            (None, None) => Self::default(),
        }
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

impl Scheme {
    fn read(word: &str) -> Self {
        if word.eq_ignore_ascii_case("bearer") {
            Self::Bearer
        } else if word.eq_ignore_ascii_case("dpop") {
            Self::Dpop
        } else {
            Self::Other
        }
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
