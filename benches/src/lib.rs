//! Shared code of the benches. Each bench is a separate program; `cargo xtask bench` builds and runs them optimized.
//!
//! A bench prints one [`Row`](report::Row) per measurement: the figure, its bound, and the ratio of the two. The bound
//! is either a constant or another figure of the same run (a *peer*), which is more meaningful across machines. A bench
//! with a figure over its bound fails at the end; run it again on an idle machine before you trust it.
//!
//! - [`timings`]: durations and their percentiles;
//! - [`report`]: the rows;
//! - [`memory`]: the peak memory of a section of the program;
//! - [`processor`]: the processor time of a section;
//! - [`catalogue`]: generated tools that resemble real ones;
//! - [`documents`]: generated OpenAPI documents.
//!
//! `divan` and `criterion` are not used because they measure the time of one function on an idle machine. Many benches
//! here measure the tail of durations on several threads at once, with or without other load, relative to another
//! figure of the same run.
//!
//! ```
//! use std::time::Duration;
//! use toolcrib_bench::timings::Timings;
//!
//! let timings: Timings = (1..=100).map(Duration::from_micros).collect();
//! assert!((49.0..52.0).contains(&(timings.percentile(50.0).as_secs_f64() * 1e6)));
//! ```

pub mod catalogue;
pub mod documents;
pub mod memory;
pub mod processor;
pub mod report;
pub mod timings;

#[cfg(test)]
mod tests;
