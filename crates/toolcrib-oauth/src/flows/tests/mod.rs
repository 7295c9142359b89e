//! The client against sockets of this machine, and what it parses.

mod challenge;
mod client_credentials;
mod hostile;
mod loopback;
mod token_store;
mod token_table;
