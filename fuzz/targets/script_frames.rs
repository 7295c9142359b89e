//! Any lines as the messages to the worker of a script, and any lines as its pauses to the host.

#![no_main]

#[path = "../checks/script_frames.rs"]
mod script_frames;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| script_frames::check(bytes));
