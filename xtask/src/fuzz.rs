//! `cargo xtask fuzz`: runs the fuzz targets for a limited time.
//!
//! The fuzzer is `libFuzzer`. Its coverage instrumentation is an LLVM pass that every Rust compiler includes, so no
//! other compiler is needed.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::process::{cargo, run as run_command};
use crate::workspace::Workspace;

/// The folder of the fuzz package, relative to the root.
const FOLDER: &str = "fuzz";

/// The default time of each target, in seconds.
const SECONDS: u64 = 600;

/// The time limit for one input, in seconds. An optimized build takes about a tenth of a second, much of it for
/// instrumentation.
const INPUT_SECONDS: u64 = 10;

/// The maximum size of an input, in bytes.
const INPUT_BYTES: usize = 4096;

/// The compiler flags for coverage instrumentation.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
                     -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Runs the named target, or all targets in sequence. A failing input is written to the folder of the package.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let folder = workspace.root.join(FOLDER);
    let known = known(&folder.join("targets"))?;
    let wanted = wanted(arguments)?;
    let targets = match wanted.target {
        None => known,
        Some(name) if known.contains(&name) => vec![name],
        Some(name) => bail!("there is no fuzz target {name:?}; there is: {}", known.join(", ")),
    };
    let host = host(workspace)?;
    let build_folder = workspace.root.join("target").join("fuzz");
    // With an explicit target, the flags do not apply to build scripts.
    let mut build = cargo(&folder);
    build.args(["build", "--locked", "--release", "--target", &host]);
    run_command(build.env("RUSTFLAGS", FLAGS).env("CARGO_TARGET_DIR", &build_folder))?;
    for target in targets {
        let corpus = build_folder.join("corpus").join(&target);
        fs::create_dir_all(&corpus).with_context(|| format!("could not make {}", corpus.display()))?;
        let mut fuzzer = std::process::Command::new(build_folder.join(&host).join("release").join(&target));
        fuzzer.current_dir(&folder).arg(&corpus).arg(folder.join("seeds").join(&target));
        fuzzer.arg(format!("-max_total_time={}", wanted.seconds));
        fuzzer.arg(format!("-timeout={INPUT_SECONDS}")).arg(format!("-max_len={INPUT_BYTES}"));
        run_command(fuzzer.arg("-print_final_stats=1"))?;
    }
    Ok(())
}

/// The parsed command line.
#[derive(Debug, PartialEq)]
struct Wanted {
    target: Option<String>,
    seconds: u64,
}

fn wanted(arguments: &[String]) -> Result<Wanted> {
    let mut wanted = Wanted { target: None, seconds: SECONDS };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--seconds" {
            let value = arguments.next().context("--seconds needs a number")?;
            wanted.seconds = value.parse().with_context(|| format!("{value:?} is no number of seconds"))?;
        } else {
            ensure!(
                !argument.starts_with('-') && wanted.target.is_none(),
                "fuzz takes one target and --seconds"
            );
            wanted.target = Some(argument.clone());
        }
    }
    Ok(wanted)
}

/// Returns the names of the targets, sorted.
fn known(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if let Some(name) = path.file_stem().filter(|_| path.extension().is_some_and(|ending| ending == "rs"))
        {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Returns the host triple of the compiler.
fn host(workspace: &Workspace) -> Result<String> {
    let told = cargo(&workspace.root).arg("-vV").output().context("could not start cargo")?;
    let told = String::from_utf8_lossy(&told.stdout);
    let line = told.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).context("cargo does not tell the kind of this machine")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_and_a_time_are_read() {
        let read = |line: &str| wanted(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).ok();
        let some =
            |target: Option<&str>, seconds| Some(Wanted { target: target.map(str::to_owned), seconds });
        for (line, expected) in [
            ("", some(None, SECONDS)),
            ("schema", some(Some("schema"), SECONDS)),
            ("schema --seconds 5", some(Some("schema"), 5)),
            ("--seconds 5", some(None, 5)),
            ("--seconds", None),
            ("--seconds x", None),
            ("schema tool_file", None),
            ("--what", None),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }
}
