//! The built-in Rust modules: hello and filesystem.
