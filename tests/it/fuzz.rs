//! What the fuzz targets check, on their seeds and on mutations of them. `cargo xtask fuzz` looks for longer, and is led by
//! what an input reaches.

#[path = "../../fuzz/checks/openapi.rs"]
mod openapi;
#[path = "../../fuzz/checks/schema.rs"]
mod schema;
#[path = "../../fuzz/checks/script_frames.rs"]
mod script_frames;
#[path = "../../fuzz/checks/text_calls.rs"]
mod text_calls;
#[path = "../../fuzz/checks/tool_file.rs"]
mod tool_file;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long one target is tried at most.
const BUDGET: Duration = Duration::from_secs(12);

/// How many mutations are tried at most.
const MUTATIONS: usize = 4_000;

/// The most bytes of an input, as in `cargo xtask fuzz`.
const MAX_BYTES: usize = 4096;

/// The variable that starts another series of mutations.
const SEED_VARIABLE: &str = "TOOLCRIB_FUZZ_SEED";

/// Words that mean something to one of the readers.
const WORDS: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ":",
    ",",
    "\n",
    "null",
    "true",
    "1e999",
    "-0",
    "\\u0000",
    "\u{202e}",
    "$ref",
    "#/$defs/a",
    "&a",
    "*a",
    "!!str",
    "<tool_call>",
    "</tool_call>",
    "```json",
    "<function=read",
];

/// Random numbers that a seed repeats: xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number below `bound`, or 0.
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap() % bound.max(1)
    }
}

/// Changes an input in up to four places.
fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(input.len() + 1);
        let end = (at + random.below(32)).min(input.len());
        match random.below(6) {
            0 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            1 => drop(input.drain(at..end)),
            2 => {
                let part = input[at..end].to_vec();
                let place = random.below(input.len() + 1);
                input.splice(place..place, part);
            }
            3 => {
                let from = random.below(other.len() + 1);
                let to = (from + random.below(128)).min(other.len());
                input.splice(at..end, other[from..to].iter().copied());
            }
            4 => {
                let byte = u8::try_from(random.below(256)).unwrap();
                input.insert(at, byte);
            }
            _ => {
                let word = WORDS[random.below(WORDS.len())];
                input.splice(at..at, word.bytes());
            }
        }
    }
    input.truncate(MAX_BYTES);
}

/// Tries a check on all seeds of a target and on mutations of them.
fn fuzz(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(target);
    let mut paths: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let seeds: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(!seeds.is_empty(), "{}", folder.display());
    let seed = std::env::var(SEED_VARIABLE).map_or(1, |seed| seed.parse().unwrap());
    let try_one = |input: &[u8]| {
        let caught = catch_unwind(AssertUnwindSafe(|| check(input)));
        let shown = || input.escape_ascii();
        assert!(caught.is_ok(), "{target}, {SEED_VARIABLE}={seed}: the check fails for b\"{}\"", shown());
    };
    for input in &seeds {
        try_one(input);
    }
    let (begun, mut random, mut tried) = (Instant::now(), Random(seed), 0);
    while tried < MUTATIONS && begun.elapsed() < BUDGET {
        let mut input = seeds[random.below(seeds.len())].clone();
        input.truncate(MAX_BYTES);
        let other = random.below(seeds.len());
        mutate(&mut input, &seeds[other], &mut random);
        try_one(&input);
        tried += 1;
    }
    assert!(tried > 0);
}

#[test]
fn no_bytes_as_an_openapi_document_break_its_reader() {
    fuzz("openapi", openapi::check);
}

#[test]
fn no_json_as_a_schema_breaks_its_compiler_or_the_repair_of_arguments() {
    fuzz("schema", schema::check);
}

#[test]
fn no_message_breaks_the_worker_of_a_script_or_its_host() {
    fuzz("script_frames", script_frames::check);
}

#[test]
fn no_text_of_a_model_breaks_the_reader_of_calls() {
    fuzz("text_calls", text_calls::check);
}

#[test]
fn no_bytes_as_a_file_of_tools_break_its_reader() {
    fuzz("tool_file", tool_file::check);
}
