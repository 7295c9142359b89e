//! A call of a replica, compared with the same call of a single process with its store in a file.
//!
//! The sides alternate, also in their order, so that disturbances affect both.

use std::error::Error;
use std::time::Duration;

use toolcrib_bench::report::{Row, title};
use toolcrib_bench::timings::Timings;

use crate::runtime;
use crate::served::{Measured, Served, new_database};

const CALLS: usize = 1_000;

/// The number of calls of each side that are not counted.
const WARM_UP: usize = 100;

/// The maximum ratio of a call that needs nothing shared to that of a single process.
const BOUND_TO_SINGLE: f64 = 1.05;

/// The maximum time by which a call that touches the store is longer.
const STORE_BOUND: Duration = Duration::from_millis(2);

/// The calls that touch the store.
const STORED: [(&str, Measured); 2] = [
    ("a call whose rate is counted in the store", Measured::Counted),
    ("the same with a result of 64 KiB behind a handle", Measured::Handle),
];

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title("a call of a replica, beside that of a single process with SQLite");
    let (single, replica) = (Served::start(None)?, Served::start(Some(&new_database()?))?);
    let sides = [&replica, &single];
    let [through, alone] = timed(sides, Measured::Local)?;
    Row::new("a call that needs nothing shared, p50", through.median())
        .at_most_times(BOUND_TO_SINGLE, alone.median())
        .print();
    Row::new("a call that needs nothing shared, p99", through.percentile(99.0))
        .beside(alone.percentile(99.0))
        .print();
    for (name, measured) in STORED {
        let [through, alone] = timed(sides, measured)?;
        Row::new(format!("{name}, p50"), through.median()).at_most(alone.median() + STORE_BOUND).print();
        Row::new(format!("{name}, p50, beside a single process"), through.median())
            .beside(alone.median())
            .print();
    }
    Ok(())
}

fn timed(sides: [&Served; 2], measured: Measured) -> Result<[Timings; 2], Box<dyn Error>> {
    let mut timings = [Timings::default(), Timings::default()];
    runtime()?.block_on(async {
        for round in 0..WARM_UP + CALLS {
            for turn in 0..sides.len() {
                let side = (round + turn) % sides.len();
                let (Some(served), Some(timings)) = (sides.get(side), timings.get_mut(side)) else {
                    continue;
                };
                let taken = served.call(measured).await.map_err(|error| error.to_string())?;
                if round >= WARM_UP {
                    timings.add(taken);
                }
            }
        }
        Ok::<_, Box<dyn Error>>(())
    })?;
    Ok(timings)
}
