//! Responses of token endpoints (RFC 6749, section 5).

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;
use toolcrib_io::http::Response;
use toolcrib_model::Secret;
use toolcrib_model::text::clean_text;

use crate::MAX_TOKEN_BYTES;
use crate::metadata::is_scope;

/// The time before its expiry at which a token is no longer used: a request takes a while, and clocks differ. For a
/// short-lived token, half of its lifetime.
const EXPIRY_MARGIN: Duration = Duration::from_secs(30);

/// The longest lifetime of a token that is believed.
const MAX_LIFE: Duration = Duration::from_hours(365 * 24);

/// The largest number of characters of an issuer's error that is reported.
pub(super) const MAX_REPORTED_CHARS: usize = 200;

/// The replacement for a secret that an issuer repeats.
const MASK: &str = "[secret]";

/// A response, which is an object of JSON if it is valid.
pub(super) struct TokenResponse {
    pub(super) status: StatusCode,
    body: Value,
}

/// The lifetime of a token.
#[derive(Clone, Copy)]
pub(super) struct Lifetime {
    pub(super) whole: Duration,
    /// The part in which the token is used.
    pub(super) usable: Duration,
}

impl TokenResponse {
    pub(super) fn new(response: &Response) -> Self {
        Self { status: response.status, body: serde_json::from_slice(&response.body).unwrap_or(Value::Null) }
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.body.get(key).and_then(Value::as_str)
    }

    /// Returns a token that can be sent in a header.
    pub(super) fn token(&self, key: &str) -> Option<Secret> {
        self.text(key).filter(|text| is_valid_token(text)).map(Secret::new)
    }

    /// Returns true if the token is of this type. Issuers may leave the type out.
    pub(super) fn is_of_type(&self, name: &str) -> bool {
        self.text("token_type").is_none_or(|kind| kind.eq_ignore_ascii_case(name))
    }

    /// Returns the lifetime of the token, if the issuer reports it. Some write it as a string, or with a fraction.
    pub(super) fn lifetime(&self) -> Option<Lifetime> {
        let value = self.body.get("expires_in")?;
        let seconds = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
        let whole = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(MAX_LIFE).min(MAX_LIFE);
        Some(Lifetime { whole, usable: whole.saturating_sub(EXPIRY_MARGIN.min(whole / 2)) })
    }

    /// Returns the status and the error that the issuer reports, without these secrets. `end` follows the status.
    pub(super) fn error(&self, end: &str, secrets: &[Secret]) -> String {
        let words: Vec<&str> =
            ["error", "error_description"].iter().filter_map(|key| self.text(key)).collect();
        let told: String = words.join(": ").chars().filter(|c| !c.is_control()).collect();
        let told = secrets
            .iter()
            .filter(|secret| !secret.expose().is_empty())
            .fold(told, |told, secret| told.replace(secret.expose(), MASK));
        let colon = if told.is_empty() { "" } else { ": " };
        format!("{}{end}{colon}{}", self.status, clean_text(&told, MAX_REPORTED_CHARS))
    }
}

/// Returns true if the token can be sent in a header, and needs no escapes in JSON. RFC 6750 permits less, and some
/// servers ignore that.
pub(super) fn is_valid_token(text: &str) -> bool {
    is_scope(text, MAX_TOKEN_BYTES)
}
