//! Authentication of a client by its secret in a header.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::HeaderValue;
use toolcrib_model::Secret;
use url::form_urlencoded;

/// Returns the header with the id and the secret of a client, and the secret part of it.
pub(super) fn basic_auth(id: &str, secret: &Secret) -> Option<(HeaderValue, Secret)> {
    // RFC 6749, section 2.3.1: both are form-encoded first. All servers decode `%20` as a space, not all of them `+`.
    let encode =
        |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20");
    let pair = STANDARD.encode(format!("{}:{}", encode(id), encode(secret.expose())));
    let mut value = HeaderValue::from_str(&format!("Basic {pair}")).ok()?;
    value.set_sensitive(true);
    Some((value, Secret::new(pair)))
}
