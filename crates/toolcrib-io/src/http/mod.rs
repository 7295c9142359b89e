//! The guarded HTTP client: bounded answers, no addresses of the private network, no redirects to elsewhere.
//!
//! The guard stands where connections are made. Names are resolved by a resolver that refuses a name if any of its
//! addresses is refused; hosts that are addresses are checked before the request, in every spelling, since the URL
//! parser has brought `0x7f.1` and the like into the usual form. There is no proxy, which would resolve names itself.

mod client;
mod headers;
mod message;
mod policy;

mod address;
mod resolver;
mod tls;

#[cfg(test)]
mod tests;

pub use address::{AddressClass, names_private_address};
pub use client::{HttpClient, causes};
pub use headers::{all_headers, header_text, may_pass, retry_after, selected_headers};
pub use message::{Incoming, Request, Response};
pub use policy::{
    CONNECT_TIMEOUT, DEFAULT_MAX_RESPONSE_BYTES, DEFAULT_TIMEOUT, HttpPolicy, MAX_IDLE_CONNECTIONS_PER_HOST,
};
