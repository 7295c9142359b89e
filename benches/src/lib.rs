//! What the benches share. Each bench is a program of its own; `cargo xtask bench` builds and runs them optimised.
//!
//! A bench prints one [`Row`](report::Row) for each thing that it measures: the figure, the bound that it is held
//! against, and the ratio of the two. The bound is either written down, or another figure of the same run (a *peer*),
//! which says more where machines differ. A bench whose figure is over its bound fails in the end; run it again on an
//! idle machine before you believe it.
//!
//! - [`timings`]: many durations, and their percentiles;
//! - [`report`]: the rows;
//! - [`memory`]: the peak of a stretch of the program;
//! - [`processor`]: the processor time of one;
//! - [`catalogue`]: tools that are like those that people write, the same ones in each run.
//!
//! Why no crate for it: `divan` and `criterion` tell how long one function takes on an idle machine. Half of what is
//! asked here is the tail of many durations that were measured on many threads at once, with or without something
//! else going on, held against a figure of the same run; and that is the part that they leave to the bench.
//!
//! ```
//! use std::time::Duration;
//! use toolcrib_bench::timings::Timings;
//!
//! let timings: Timings = (1..=100).map(Duration::from_micros).collect();
//! assert!((49.0..52.0).contains(&(timings.percentile(50.0).as_secs_f64() * 1e6)));
//! ```

pub mod catalogue;
pub mod memory;
pub mod processor;
pub mod report;
pub mod timings;

#[cfg(test)]
mod tests;
