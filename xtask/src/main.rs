//! The project's tasks: `cargo xtask tidy`, `lint`, `test`, `book`, `docs`, `databases`, `conformance`, `bench`,
//! `eval-agent`, `fuzz` and `distill`.
//!
//! Nothing here ships. The tasks are plain Rust, so that they run wherever the project builds; `.ci/run`
//! calls the same ones as a developer does.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program owns its terminal")]

mod workspace;

mod bench;
mod book;
mod conformance;
mod databases;
mod distill;
mod docs;
mod eval_agent;
mod fuzz;
mod lint;
mod soak;
mod test;
mod tidy;

mod deny;
mod install;
mod peers;
mod process;
mod recording;

use std::process::ExitCode;

use anyhow::{Result, ensure};

use crate::workspace::Workspace;

const HELP: &str = "\
cargo xtask TASK

Tasks:
  tidy           check the rules that no compiler knows: the arrows between crates, the owners of
                 third-party crates, the form of source files and manifests
  lint           rustfmt, clippy with warnings denied, tidy, the docs build, cargo-deny where installed
  test [ARGS…]   all tests: install the outside peers, start the databases, build the binary, run
                 cargo-nextest (where installed, else cargo test) with ARGS, then the doctests
  book           the documentation as a site in target/book, built by mdBook, which is installed under
                 target/tools when it is missing; fails at a broken link or a warning
  docs           the pages of docs/reference/modules, made of what the built-in modules declare; test fails
                 where they are not those
  recording      the picture of the README, made of what the quickstart prints
  databases COMMAND…
                 run a command while the database servers run that tests talk to, with the variables
                 that name them: PostgreSQL and MariaDB, which CI=true installs by apt-get
  bench [NAME [PART…]]
                 how fast it is, beside the bounds that are promised: all benches or the one of that
                 name, built optimised; fails when a figure is over its bound
  eval-agent [--binary PATH] [--json FILE] [--only TASK]…
                 what calls and tokens a scripted agent needs for 67 tasks with `toolcrib serve`, beside
                 the bounds in benches/evaluation/bounds.json; fails when a figure is over its bound
  conformance [REVISION…] [NAME…]
                 the official conformance suite of MCP against our client, for the revisions and the
                 scenarios that are named; fails where conformance.toml says otherwise
  fuzz [TARGET] [--seconds N]
                 the fuzz targets, all or the one of that name, each for ten minutes or N seconds
  soak [--minutes N]
                 whether memory, descriptors, children and tasks stay flat while an MCP server is called
                 that crashes and whose calls are cancelled, for five minutes or N
  distill [--teacher FOLDER] [--corpus FOLDER] [--out FOLDER] [--cache FOLDER] [--epochs N] [--every N]
                 makes the table of the built-in embedder from a sentence transformer, as
                 assets/builtin.json of toolcrib-search says; ORT_DYLIB_PATH names ONNX Runtime's library
  help           this text

CI=true makes an error of everything that these would otherwise only report as left out,
except for cargo-deny, which lint then builds, and the advisories, which need their database.";

/// What bad usage exits with, as in the project's own command line.
const BAD_USAGE: u8 = 2;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let task = arguments.next();
    let rest: Vec<String> = arguments.collect();
    let outcome = match task.as_deref() {
        Some("tidy") => without_arguments("tidy", &rest, tidy::run),
        Some("lint") => without_arguments("lint", &rest, lint::run),
        Some("test") => Workspace::read().and_then(|workspace| test::run(&workspace, &rest)),
        Some("fuzz") => Workspace::read().and_then(|workspace| fuzz::run(&workspace, &rest)),
        Some("book") => without_arguments("book", &rest, book::run),
        Some("recording") => without_arguments("recording", &rest, recording::run),
        Some("docs") => Workspace::read().and_then(|workspace| docs::run(&workspace)),
        Some("databases") => Workspace::read().and_then(|workspace| databases::run(&workspace, &rest)),
        Some("conformance") => Workspace::read().and_then(|workspace| conformance::run(&workspace, &rest)),
        Some("soak") => Workspace::read().and_then(|workspace| soak::run(&workspace, &rest)),
        Some("distill") => Workspace::read().and_then(|workspace| distill::run(&workspace, &rest)),
        Some("eval-agent") => Workspace::read().and_then(|workspace| eval_agent::run(&workspace, &rest)),
        Some("bench") => Workspace::read().and_then(|workspace| bench::run(&workspace, &rest)),
        Some("help" | "--help" | "-h") => {
            println!("{HELP}");
            Ok(())
        }
        other => {
            if let Some(task) = other {
                eprintln!("xtask: there is no task {task:?}\n");
            }
            eprintln!("{HELP}");
            return ExitCode::from(BAD_USAGE);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a task that takes no arguments.
fn without_arguments(task: &str, rest: &[String], run: fn(&Workspace) -> Result<()>) -> Result<()> {
    ensure!(rest.is_empty(), "{task} takes no arguments, but was given {}", rest.join(" "));
    run(&Workspace::read()?)
}
