//! Any JSON as a schema, and any JSON as the arguments of a call: one line each.

#![no_main]

#[path = "../checks/schema.rs"]
mod schema;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| schema::check(bytes));
