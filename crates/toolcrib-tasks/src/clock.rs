//! What time it is.

use jiff::Timestamp;

/// Tells what time it is on the clocks of people. It may jump; for how long something takes, there is `tokio::time`.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
