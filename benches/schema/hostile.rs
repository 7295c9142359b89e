//! Compiling, validating, repairing, and generating examples with hostile schemas, on a quarter of the usual stack.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use toolcrib_bench::report::{Row, title};
use toolcrib_schema::CompiledSchema;

use crate::attacks::{ATTACKS, Attack};

const BOUND: Duration = Duration::from_millis(100);
const STACK_BYTES: usize = 512 << 10;
const ROUNDS: usize = 3;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title("compile, validate, example and repair together, on a stack of 512 KiB; the best of three rounds");
    for attack in ATTACKS {
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            let round = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(|| time(attack))?;
            best = best.min(round.join().map_err(|_| format!("{} panicked", attack.0))?);
        }
        Row::new(attack.0, best).at_most(BOUND).print();
    }
    Ok(())
}

/// Returns the time of one attack, without its construction.
fn time((_, schema, value): &Attack) -> Duration {
    let (schema, value) = (schema(1), value(1));
    let arguments = value.as_object().cloned().unwrap_or_default();
    let start = Instant::now();
    if let Ok(compiled) = CompiledSchema::compile(&schema) {
        let _ = black_box(compiled.validate(&value));
        let _ = black_box(compiled.minimal_example());
        let _ = black_box(compiled.repair(arguments));
    }
    let taken = start.elapsed();
    // Dropping a value with 10,000 levels recurses, which is the responsibility of its creator.
    std::mem::forget((schema, value));
    taken
}
