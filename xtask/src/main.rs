//! The development tasks of the project. `cargo xtask help` lists them.
//!
//! Nothing here ships. The tasks are written in Rust, so that they run wherever the project builds. `.ci/run` runs the
//! same tasks as a developer does.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program owns its terminal")]

mod workspace;

mod api;
mod bench;
mod book;
mod cargo_tool;
mod conformance;
mod databases;
mod distill;
mod docs;
mod eval_agent;
mod figures;
mod fuzz;
mod lint;
mod package;
mod release;
mod soak;
mod sources;
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
  tidy           check the rules that the compiler does not: dependencies between crates, owners of
                 third-party crates, and the form of source files and manifests
  lint           rustfmt, clippy with warnings denied, tidy, the docs build, and cargo-deny if installed
  test [ARGS…]   all tests: install the test peers, start the databases, build the binary, run
                 cargo-nextest (or cargo test if it is not installed) with ARGS, then the doctests
  api [--bless]  compare the public API of the library crates with the lists in api/, or write the
                 lists; cargo-public-api is installed under target/tools if missing
  book           build the documentation site in target/book with mdBook, which is installed under
                 target/tools if missing; fails on a broken link or a warning
  docs           regenerate the reference pages that are made from declarations in the code; test fails
                 if they are out of date
  recording      render the pictures of terminals in the documentation from real output
  package        pack all crates as they would be published, and build and run tests/downstream, whose
                 programs depend on the packed crates
  release --dry-run [--target TRIPLE] [--profile NAME] [--binary PATH] [--out FOLDER] [--base-url URL]
                 [--allow-dirty]
                 make the files of a release in target/release-files, or in the folder: an archive, a Debian
                 package, a wheel, an npm package, an SBOM, checksums, and manifests; install each into a
                 clean folder, and run the quickstart there; --binary packs a program that exists
  release --dry-run --collect FOLDER [--base-url URL]
                 make the checksums and manifests for the files of several targets in a folder
  databases COMMAND…
                 run a command with the database servers of the tests running and the variables set
                 that name them: PostgreSQL and MariaDB, which CI=true installs with apt-get
  bench [--page] [NAME [PART…]]
                 measure performance: all benches or the named one, built optimized; fails if a figure
                 is over its bound; --page also updates docs/reference/figures.md
  eval-agent [--binary PATH] [--json FILE] [--only TASK]…
                 count the calls and tokens of a scripted agent for 67 tasks with `toolcrib serve`; fails
                 if a figure is over its bound in benches/evaluation/bounds.json
  conformance [--replicas N] [REVISION…] [NAME…]
                 run the official MCP conformance suite against the client and the server, for all or
                 the named revisions and scenarios; fails on results that conformance.toml does not expect;
                 with --replicas, against N processes of the server behind a proxy, on PostgreSQL
  fuzz [TARGET] [--seconds N]
                 run all fuzz targets or the named one, for ten minutes each or N seconds
  soak [PART…] [--minutes N]
                 check that memory, descriptors, children, and tasks do not grow while calls are cancelled
                 and a server crashes, and that replicas lose and repeat nothing while they are killed and
                 PostgreSQL restarts; parts: calls, gateway, replicas; five minutes or N
  distill [--teacher FOLDER] [--corpus FOLDER] [--out FOLDER] [--cache FOLDER] [--epochs N] [--every N]
                 build the table of the built-in embedder from a sentence transformer, as described in
                 assets/builtin.json of toolcrib-search; ORT_DYLIB_PATH names the ONNX Runtime library
  distill multilingual FOLDER [--english FILE] [--out FOLDER] [--epochs N]
                 build the table of other languages from the packages in the folder, or print the commands
                 that download them
  help           print this text

With CI=true, anything that these tasks would otherwise skip with a note is an error, except for
cargo-deny, which lint then builds, and its advisories, which need their database.";

/// The exit code for bad usage, the same as in the program's own command line.
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
        Some("api") => Workspace::read().and_then(|workspace| api::run(&workspace, &rest)),
        Some("book") => without_arguments("book", &rest, book::run),
        Some("recording") => without_arguments("recording", &rest, recording::run),
        Some("docs") => Workspace::read().and_then(|workspace| docs::run(&workspace)),
        Some("databases") => Workspace::read().and_then(|workspace| databases::run(&workspace, &rest)),
        Some("conformance") => Workspace::read().and_then(|workspace| conformance::run(&workspace, &rest)),
        Some("soak") => Workspace::read().and_then(|workspace| soak::run(&workspace, &rest)),
        Some("distill") => Workspace::read().and_then(|workspace| distill::run(&workspace, &rest)),
        Some("eval-agent") => Workspace::read().and_then(|workspace| eval_agent::run(&workspace, &rest)),
        Some("package") => without_arguments("package", &rest, package::run),
        Some("release") => Workspace::read().and_then(|workspace| release::run(&workspace, &rest)),
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
