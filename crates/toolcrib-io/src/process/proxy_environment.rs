//! The variables that name proxies.

/// Proxy variables, which are inherited unless the value contains an `@`: a proxy URL may include a user and a password.
pub(super) const PROXY_ENVIRONMENT: &[&str] = &[
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "all_proxy",
    "https_proxy",
    "http_proxy",
    "no_proxy",
];
