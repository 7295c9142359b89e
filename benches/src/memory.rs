//! The peak memory of a section of the program.
//!
//! The kernel records the peak of the resident memory of each process, and resets it on demand: see `clear_refs` and
//! `VmHWM` in proc(5). Without such files the answer is `None`.

use std::fs;

/// The value for `clear_refs` that resets the peak.
const FORGET_PEAK: &str = "5";

/// Runs `work`, and returns how much the peak of the resident memory exceeded the initial value, in bytes. Allocators
/// retain freed memory, so earlier work in the same process can hide a part: measure first, or in a separate process.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, Option<u64>) {
    let before = fs::write("/proc/self/clear_refs", FORGET_PEAK).ok().and_then(|()| field("VmRSS"));
    let made = std::hint::black_box(work());
    let peak = before.and_then(|before| Some(field("VmHWM")?.saturating_sub(before)));
    (made, peak)
}

/// Returns the peak of the resident memory of this process since it started, or since [`peak_of`] was last called.
pub fn peak() -> Option<u64> {
    field("VmHWM")
}

/// Returns the resident memory of this process.
pub fn resident() -> Option<u64> {
    field("VmRSS")
}

/// Returns the resident memory of another process.
pub fn resident_of(process: u32) -> Option<u64> {
    field_of(&process.to_string(), "VmRSS")
}

fn field(name: &str) -> Option<u64> {
    field_of("self", name)
}

/// Returns a field of `/proc/PROCESS/status`, in bytes.
fn field_of(process: &str, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
