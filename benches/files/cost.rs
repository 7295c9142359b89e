//! The cost of one file until it is refused: time and peak memory.
//!
//! Each file is loaded in a separate process, because memory that was freed earlier would hide a part of the next
//! file's usage, and so that a crash or a hang is detected.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use toolcrib_bench::memory;
use toolcrib_bench::report::{Figure, Row, title};
use toolcrib_loader_file::FileLoader;
use toolcrib_port::ToolLoader;

use crate::attacks::{ATTACKS, Attack, LARGE};

/// The environment variable that makes a process load one file and print its cost.
pub(crate) const FILE: &str = "TOOLCRIB_BENCH_FILE";

/// The maximum cost of a hostile file.
const TIME: Duration = Duration::from_millis(100);
const MEMORY: u64 = 64 << 20;

/// The maximum cost of a file that must be read to its end before its mistake is known. The project chose these bounds
/// itself.
const TIME_OF_LARGE: Duration = Duration::from_secs(3);
const MEMORY_OF_LARGE: u64 = 768 << 20;

/// The number of times that each file is loaded; the median of the times counts.
const ROUNDS: usize = 3;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title(&format!(
        "{} hostile files, each refused with a reason: time, and memory at the peak",
        ATTACKS.len()
    ));
    measure(ATTACKS, TIME, MEMORY)
}

pub(crate) fn run_large() -> Result<(), Box<dyn Error>> {
    title("Files as large as they may be, wrong at their end: time, and memory at the peak");
    measure(LARGE, TIME_OF_LARGE, MEMORY_OF_LARGE)
}

fn measure(attacks: &[Attack], time: Duration, memory: u64) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    for attack in attacks {
        let path = folder.path().join(format!("tools.{}", attack.ending));
        std::fs::write(&path, (attack.bytes)())?;
        let mut costs = (0..ROUNDS).map(|_| cost_of(attack, &path)).collect::<Result<Vec<_>, _>>()?;
        costs.sort_by_key(|cost| cost.time);
        let peak = costs.iter().map(|cost| cost.memory).max().unwrap_or_default();
        let Some(cost) = costs.into_iter().nth(ROUNDS / 2) else { continue };
        let what = format!("{} ({}): {}", attack.what, attack.ending, cost.kind);
        let memory = Row::new("", Figure::Bytes(peak)).at_most(Figure::Bytes(memory));
        Row::new(what, cost.time).at_most(time).and(memory).print();
    }
    Ok(())
}

struct Cost {
    time: Duration,
    memory: u64,
    /// The kind of the error.
    kind: String,
}

/// Loads a file in another process.
fn cost_of(attack: &Attack, path: &Path) -> Result<Cost, Box<dyn Error>> {
    let mut child = Command::new(std::env::current_exe()?).env(FILE, path).stdout(Stdio::piped()).spawn()?;
    let told = child.stdout.take().map(BufReader::new).map(|out| out.lines().collect::<Result<Vec<_>, _>>());
    let status = child.wait()?;
    let told = told.transpose()?.unwrap_or_default().concat();
    let mut words = told.split_whitespace();
    let mut word = || words.next().ok_or_else(|| format!("{}: {status} after {told:?}", attack.what));
    let time = Duration::from_nanos(word()?.parse()?);
    Ok(Cost { time, memory: word()?.parse()?, kind: word()?.to_owned() })
}

/// Loads a file, and prints nanoseconds, bytes, and the kind of the error.
#[expect(clippy::print_stdout, reason = "a bench owns its terminal")]
pub(crate) fn tell(path: &Path) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
    let loader = FileLoader::new(path);
    // The first file of a process starts threads, which must not count for the second.
    runtime.block_on(FileLoader::new(path.with_extension("absent")).load());
    let start = Instant::now();
    let (loaded, memory) = memory::peak_of(|| runtime.block_on(loader.load()));
    let taken = start.elapsed();
    let [reject, ..] = loaded.rejected.as_slice() else {
        return Err(format!("{} tools loaded, and nothing was refused", loaded.tools.len()).into());
    };
    let kind = serde_json::to_string(&reject.kind)?;
    println!("{} {} {}", taken.as_nanos(), memory.unwrap_or_default(), kind.trim_matches('"'));
    Ok(())
}
