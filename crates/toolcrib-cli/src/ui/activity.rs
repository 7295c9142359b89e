//! The line that says what is happening, below all other output.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::printable::{Layout, printable};
use super::width::{fit, terminal_width};
use crate::terminal::{Stream, screen};

/// The frames of the spinner.
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// The time that a frame is shown.
const FRAME_TIME: Duration = Duration::from_millis(100);

/// The time after which an activity is shown that is mostly over at once.
const PATIENCE: Duration = Duration::from_secs(1);

/// An activity that is shown with a spinner until it is dropped. Without a terminal nothing is shown.
pub(crate) struct Activity {
    /// Absent when nothing is to be shown any more.
    present: Arc<Mutex<Option<Present>>>,
}

struct Present {
    text: String,
    since: Instant,
}

impl Activity {
    /// Begins to show an activity. To be called within the runtime.
    pub(crate) fn start(text: &str) -> Self {
        Self::start_after(Duration::ZERO, text)
    }

    /// Begins to show an activity when it has taken a second. To be called within the runtime.
    pub(crate) fn start_slow(text: &str) -> Self {
        Self::start_after(PATIENCE, text)
    }

    fn start_after(delay: Duration, text: &str) -> Self {
        let is_shown =
            screen().is_terminal(Stream::Err) && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        let present = Arc::new(Mutex::new(is_shown.then(|| Present::new(text))));
        if is_shown {
            tokio::spawn(spin(Arc::clone(&present), delay));
        }
        Self { present }
    }

    /// Shows another activity.
    pub(crate) fn set(&self, text: &str) {
        if let Some(present) = &mut *self.present.lock()
            && present.text != text
        {
            *present = Present::new(text);
        }
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        let mut present = self.present.lock();
        if present.take().is_some() {
            screen().show_status(None);
        }
    }
}

impl Present {
    fn new(text: &str) -> Self {
        Self { text: printable(text, Layout::Line), since: Instant::now() }
    }

    fn line(&self, frame: char, columns: usize) -> String {
        let seconds = self.since.elapsed().as_secs();
        // The last column stays free: some terminals begin a new line behind it.
        fit(&format!("{frame} {} ({seconds} s)", self.text), columns.saturating_sub(1))
    }
}

/// Draws the frames until the activity has ended.
async fn spin(present: Arc<Mutex<Option<Present>>>, delay: Duration) {
    let mut frames = FRAMES.into_iter().cycle();
    let mut interval = tokio::time::interval_at(tokio::time::Instant::now() + delay, FRAME_TIME);
    loop {
        interval.tick().await;
        let present = present.lock();
        let (Some(present), Some(frame)) = (&*present, frames.next()) else { return };
        screen().show_status(Some(present.line(frame, terminal_width())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_activity_fits_in_a_line_and_steers_no_terminal() {
        let present = Present::new("running a.b\u{1b}[2J\n and many more tools with long names");
        assert_eq!(
            present.line('*', 80),
            r"* running a.b\u{1b}[2J\u{a} and many more tools with long names (0 s)"
        );
        assert_eq!(present.line('*', 20), r"* running a.b\u{1b…");
    }
}
