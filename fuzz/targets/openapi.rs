//! Any bytes as an OpenAPI document, in JSON and in YAML: what loads can be compiled, and names nothing outside of itself.

#![no_main]

#[path = "../checks/openapi.rs"]
mod openapi;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| openapi::check(bytes));
