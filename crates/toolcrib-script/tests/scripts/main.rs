//! Scripts in real worker processes: this program starts itself again as the worker.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a failed test panics, and the figures of the hostile scripts are shown"
)]

mod engine;
mod hostile;
mod runner;
mod support;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// Lists asynchronous tests with their names.
#[macro_export]
macro_rules! tests {
    ($($test:ident),* $(,)?) => {
        &[$((stringify!($test), || $crate::support::block_on($test()))),*]
    };
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(toolcrib_script::WORKER_ARGUMENT) {
        return toolcrib_script::run_worker();
    }
    let trials = [engine::TESTS, hostile::TESTS, runner::TESTS].concat().into_iter().map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}
