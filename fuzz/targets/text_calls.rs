//! Any text as a message of a model, as a whole and in pieces, and as what a tool returned.

#![no_main]

#[path = "../checks/text_calls.rs"]
mod text_calls;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| text_calls::check(bytes));
