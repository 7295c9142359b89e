//! `filesystem.grep` over 100,000 files, compared with ripgrep.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_bench::report::{Row, title};
use toolcrib_modules::{ModuleContext, build};
use toolcrib_sdk::Module;

use crate::call::result;

/// The variable that names the ripgrep program, which `cargo xtask bench` builds and sets.
const VARIABLE: &str = "TOOLCRIB_RG";

const PACKAGES: usize = 100;
const FOLDERS: usize = 10;
/// The number of files per folder.
const FILES: usize = 100;
/// The number of ignored files per folder.
const LEFT_OUT: usize = 20;
const LINES: usize = 40;

/// One file of this many has a matching line.
const RARE: usize = 1000;

/// A literal pattern, and a regular expression without a literal that could speed up the search.
const PATTERNS: [(&str, &str); 2] =
    [("a text", "reconcile_ledger"), ("a shape", r"\w+_[0-9]{5}\((\w+, ){2}\w+\)$")];

/// The number of runs of each side, in sequence, after one that warms the cache.
const ROUNDS: usize = 9;

const BOUND: f64 = 1.3;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let Some(program) = env::var_os(VARIABLE) else {
        return Err(format!("{VARIABLE} names no ripgrep; `cargo xtask bench modules` sees to it").into());
    };
    let folder = tempfile::tempdir()?;
    let bytes = write(folder.path())?;
    let count = PACKAGES * FOLDERS * FILES;
    let megabytes = bytes / 1_000_000;
    title(&format!(
        "filesystem.grep over {count} files of {megabytes} MB, cache warm, beside {}",
        version(Path::new(&program))?
    ));
    let module = build("filesystem", &ModuleContext::new(folder.path()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    for (what, pattern) in PATTERNS {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let start = Instant::now();
            let found = runtime.block_on(ours_of(&module, pattern))?;
            let taken = start.elapsed();
            let start = Instant::now();
            let peer = theirs_of(Path::new(&program), folder.path(), pattern)?;
            let peer_taken = start.elapsed();
            if found != peer || found.len() != count / RARE {
                return Err(format!("{} lines were found, and {} by ripgrep", found.len(), peer.len()).into());
            }
            if round > 0 {
                ours.push(taken);
                theirs.push(peer_taken);
            }
        }
        Row::new(format!("{what}, median of {ROUNDS}"), median(ours))
            .at_most_times(BOUND, median(theirs))
            .print();
    }
    Ok(())
}

/// Returns the matching lines, each as `path:number:text`, in order.
async fn ours_of(module: &Module, pattern: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let found = result(module, "grep", &json!({"pattern": pattern})).await?;
    let matches = found.get("matches").and_then(Value::as_array).ok_or("there is no list of matches")?;
    let line = |found: &Value| {
        let text = |key: &str| found.get(key)?.as_str();
        Some(format!("{}:{}:{}", text("path")?, found.get("line")?, text("text")?))
    };
    let mut lines: Vec<String> = matches.iter().filter_map(line).collect();
    lines.sort_unstable();
    Ok(lines)
}

/// Returns the same with ripgrep and its default number of threads. It also searches hidden files, and respects
/// `.gitignore` and no other ignore file.
fn theirs_of(program: &Path, folder: &Path, pattern: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let mut command = Command::new(program);
    command.args(["--no-config", "--color=never", "--no-heading", "--with-filename", "--line-number"]);
    command.args(["--hidden", "--glob=!.git", "--crlf"]);
    command.args(["--no-require-git", "--no-ignore-dot", "--no-ignore-exclude", "--no-ignore-global"]);
    command.args(["--no-ignore-parent", "--no-ignore-messages", "-e", pattern, "."]).current_dir(folder);
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("ripgrep: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let mut lines: Vec<String> =
        text.lines().map(|line| line.strip_prefix("./").unwrap_or(line).to_owned()).collect();
    lines.sort_unstable();
    Ok(lines)
}

fn version(program: &Path) -> Result<String, Box<dyn Error>> {
    let output = Command::new(program).arg("--version").output()?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

fn median(mut durations: Vec<Duration>) -> Duration {
    durations.sort_unstable();
    durations.get(durations.len() / 2).copied().unwrap_or_default()
}

/// Writes packages with folders of files, some of them ignored by a `.gitignore`, and returns the number of searched
/// bytes.
fn write(root: &Path) -> Result<usize, Box<dyn Error>> {
    fs::write(root.join(".gitignore"), "*.log\n/scratch/\n")?;
    let mut bytes = 0;
    let mut number = 0;
    for package in 0..PACKAGES {
        let package = root.join(format!("package_{package:02}"));
        fs::create_dir(&package)?;
        fs::write(package.join(".gitignore"), "build/\n")?;
        for folder in 0..FOLDERS {
            let folder = package.join(format!("part_{folder}"));
            let build = folder.join("build");
            fs::create_dir_all(&build)?;
            for file in 0..FILES {
                let text = text(number);
                bytes += text.len();
                fs::write(folder.join(format!("file_{file:02}.rs")), text)?;
                number += 1;
            }
            for file in 0..LEFT_OUT {
                fs::write(build.join(format!("file_{file:02}.rs")), "reconcile_ledger\n")?;
                fs::write(folder.join(format!("run_{file:02}.log")), "reconcile_ledger\n")?;
            }
        }
    }
    Ok(bytes)
}

/// Returns the text of a file: lines that resemble source code. Only a rare file has a matching line.
fn text(number: usize) -> String {
    let mut text = String::new();
    for line in 0..LINES {
        let seed = number.wrapping_mul(31).wrapping_add(line * 17);
        let _ = match line % 4 {
            0 => {
                writeln!(text, "    let balance_{} = accounts.get(&key_{})?.amount();", seed % 97, seed % 89)
            }
            1 => writeln!(text, "    // The sum of the day before, as the ledger has it ({}).", seed % 1009),
            2 => writeln!(text, "    if balance_{} > limit {{ return Err(Error::Over); }}", seed % 97),
            _ => writeln!(text),
        };
        if number.is_multiple_of(RARE) && line == LINES / 2 {
            let _ = writeln!(text, "    reconcile_ledger_{:05}(account, day, limit)", number / RARE);
        }
    }
    text
}
