//! TLS by rustls with ring and the root certificates of the platform.

use std::sync::{Arc, OnceLock};

use rustls::crypto::{CryptoProvider, ring};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use crate::Error;

/// The offered protocols, in order of preference.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// A configuration of TLS.
pub(super) struct Tls {
    pub(super) config: ClientConfig,
    /// True if the machine has root certificates. Without them, plain HTTP still works.
    pub(super) has_roots: bool,
}

/// The verifier with the platform's certificates, which is built once: there are hundreds, and each source has a client.
static VERIFIER: OnceLock<Option<Arc<Verifier>>> = OnceLock::new();

/// Returns the TLS configuration for a new client.
pub(super) fn configure() -> Result<Tls, Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = VERIFIER.get_or_init(|| read_verifier(&provider)).clone();
    let has_roots = verifier.is_some();
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::ClientFailed { reason: error.to_string() })?;
    let mut config = match verifier {
        Some(verifier) => {
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
        // Without roots, no certificate is trusted.
        None => builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth(),
    };
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(Tls { config, has_roots })
}

fn read_verifier(provider: &Arc<CryptoProvider>) -> Option<Arc<Verifier>> {
    match Verifier::new(Arc::clone(provider)) {
        Ok(verifier) => Some(Arc::new(verifier)),
        Err(error) => {
            tracing::warn!(%error, "no root certificates: HTTPS requests will fail, HTTP works");
            None
        }
    }
}
