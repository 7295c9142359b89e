//! A guarded HTTP client: bounded responses, no private addresses, no redirects to other origins.
//!
//! The guard checks connections. The resolver refuses a name if any of its addresses is refused. Hosts that are addresses
//! are checked before the request in every spelling, since the URL parser normalizes forms such as `0x7f.1`. Proxies are
//! not used, because a proxy would resolve names itself.

mod client;
mod headers;
mod media_type;
mod message;
mod origin;
mod policy;
mod webhook;

mod address;
mod resolver;
mod tls;

#[cfg(test)]
mod tests;

pub use address::{AddressClass, is_private_url, names_private_address};
pub use client::{HttpClient, causes, display_url};
pub use headers::{all_headers, header_text, may_pass, retry_after, selected_headers};
pub use media_type::{essence, media_type_parameter};
pub use message::{Incoming, Request, Response};
pub use origin::parse_origin;
pub use policy::{CONNECT_TIMEOUT, DEFAULT_MAX_RESPONSE_BYTES, DEFAULT_TIMEOUT, HttpPolicy};
pub use webhook::WebhookKey;
