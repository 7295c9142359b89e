mod challenge;
mod client_credentials;
mod hostile;
mod loopback;
