//! The integration tests: the real binary in real processes, with real servers on real sockets.
//!
//! The binary is the one that `TOOLCRIB_BIN` names, as `cargo xtask test` sets it, else the one beside this program.
//! Each test runs it in a [`TestDir`](support::TestDir), a folder of its own, and fails when a process outlives the run.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking, in its helpers too, and says what it leaves out"
)]

#[macro_use]
mod support;

mod agent;
mod answers;
mod attacks;
mod bad_calls;
mod bad_input;
mod bad_sources;
mod budget;
mod byte_order_mark;
mod chart;
mod chat;
mod clients;
mod commands;
mod compat;
mod exec_modules;
mod faulty_models;
mod foreign_model;
mod full_disk;
mod fuzz;
mod gate;
mod generate;
mod generate_sources;
mod hooks;
mod hostile;
mod injection_modes;
mod install;
mod lint;
mod login;
mod model_formats;
mod model_sdks;
mod module_tools;
mod modules;
mod multi_agent;
mod openapi;
mod operator;
mod orphan_processes;
mod peers;
mod petstore;
mod profiles;
mod progress;
mod projection;
mod python_tools;
mod quickstart;
mod registry;
mod sandbox;
mod scripts;
mod search;
mod search_models;
mod search_verbs;
mod secrets;
mod serve;
mod sessions;
mod shells;
mod starters;
mod tasks;
mod telemetry;
mod trust;
mod tutorials;
mod typescript;
