//! The processor time of the program on all threads. It measures long runs as on an idle machine, regardless of other
//! load.

use std::fs;
use std::time::Duration;

/// The duration of one tick in `/proc/self/stat`: see `sysconf(_SC_CLK_TCK)`, which is 100 on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// Returns the processor time of this process so far, in user mode and in the kernel; `None` if the kernel does not
/// report it.
pub fn time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in brackets, may contain spaces.
    let (_, fields) = text.rsplit_once(')')?;
    let ticks: Vec<u32> =
        fields.split_whitespace().skip(11).take(2).map(str::parse).collect::<Result<_, _>>().ok()?;
    Some(TICK * ticks.into_iter().sum())
}

/// Runs `work`, and returns its processor time.
pub fn time_of<T>(work: impl FnOnce() -> T) -> (T, Option<Duration>) {
    let before = time();
    let made = std::hint::black_box(work());
    let taken = before.and_then(|before| Some(time()?.saturating_sub(before)));
    (made, taken)
}
