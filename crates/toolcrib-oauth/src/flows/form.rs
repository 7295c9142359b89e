//! The encoding of token requests and of the credentials in them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::HeaderValue;
use toolcrib_model::Secret;
use url::form_urlencoded;

/// The media type of token requests.
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// The fields of a token request, which may be secret.
pub(super) type Fields = Vec<(&'static str, String)>;

/// Returns the body of a token request.
pub(super) fn form_body(fields: Fields) -> String {
    portable(form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish())
}

/// Returns the header with the id and the secret of a client, and the secret part of it.
pub(super) fn basic_auth(id: &str, secret: &Secret) -> Option<(HeaderValue, Secret)> {
    // RFC 6749, section 2.3.1: both are form-encoded first.
    let encode = |text: &str| portable(form_urlencoded::byte_serialize(text.as_bytes()).collect());
    let pair = STANDARD.encode(format!("{}:{}", encode(id), encode(secret.expose())));
    let mut value = HeaderValue::from_str(&format!("Basic {pair}")).ok()?;
    value.set_sensitive(true);
    Some((value, Secret::new(pair)))
}

/// Encodes spaces as `%20`, which all servers decode; some take `+` literally.
fn portable(encoded: String) -> String {
    if encoded.contains('+') { encoded.replace('+', "%20") } else { encoded }
}
