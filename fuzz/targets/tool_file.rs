//! Any bytes as a file of tools, in each format.

#![no_main]

#[path = "../checks/tool_file.rs"]
mod tool_file;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| tool_file::check(bytes));
