//! Points between the statements of a store at which tests kill the process.

/// Marks a point between two statements. In tests, the process is killed at the point that the variable
/// [`FAILPOINT`] numbers.
#[cfg(not(test))]
pub(super) const fn failpoint() {}

/// The variable with the number of the point at which the process is killed.
#[cfg(test)]
pub(super) const FAILPOINT: &str = "TOOLCRIB_TEST_FAILPOINT";

/// Marks a point between two statements. In tests, the process is killed at the point that the variable
/// [`FAILPOINT`] numbers.
#[cfg(test)]
pub(super) fn failpoint() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static REACHED: AtomicU32 = AtomicU32::new(0);
    let Ok(number) = std::env::var(FAILPOINT) else { return };
    if REACHED.fetch_add(1, Ordering::Relaxed).to_string() == number {
        let id = std::process::id().to_string();
        std::process::Command::new("kill").args(["-9", &id]).status().unwrap();
        unreachable!("the process was killed");
    }
}
