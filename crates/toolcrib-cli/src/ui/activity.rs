//! The line that says what is happening, below all other output.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use toolcrib_app::LoadObserver;
use toolcrib_port::{Progress, ProgressListener};

use super::printable::{Layout, excerpt, printable};
use super::width::{fit, terminal_width};
use crate::terminal::{Stream, screen};

/// The frames of the spinner.
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// The most bytes of the current step of an activity.
const MAX_DETAIL_BYTES: usize = 200;

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
    /// The current step of it.
    detail: String,
    since: Instant,
}

/// A handle by which others tell of the current step of an activity.
pub(crate) struct ActivityDetail {
    present: Arc<Mutex<Option<Present>>>,
    loading: Mutex<Vec<String>>,
}

impl ActivityDetail {
    fn set(&self, detail: &str) {
        if let Some(present) = &mut *self.present.lock() {
            present.detail = excerpt(detail, MAX_DETAIL_BYTES);
        }
    }

    fn show_loading(&self, names: &[String]) {
        self.set(&if names.is_empty() { String::new() } else { format!("waiting for {}", names.join(", ")) });
    }
}

/// Shows the progress of calls as their tools report it.
impl ProgressListener for ActivityDetail {
    fn progress(&self, progress: &Progress) {
        let Progress { done, total, message } = progress;
        let amount = match total {
            Some(total) => format!("{done} of {total}"),
            None => done.to_string(),
        };
        self.set(&match message.as_deref().filter(|message| !message.trim().is_empty()) {
            Some(message) => format!("{message} ({amount})"),
            None => amount,
        });
    }
}

/// Shows the sources that have not loaded yet, such as servers that start.
impl LoadObserver for ActivityDetail {
    fn load_started(&self, source: &str) {
        let mut loading = self.loading.lock();
        loading.push(source.to_owned());
        self.show_loading(&loading);
    }

    fn load_finished(&self, source: &str) {
        let mut loading = self.loading.lock();
        if let Some(position) = loading.iter().position(|name| name == source) {
            loading.remove(position);
        }
        self.show_loading(&loading);
    }
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

    /// Returns a handle to tell of the current step of the activity.
    pub(crate) fn detail(&self) -> Arc<ActivityDetail> {
        Arc::new(ActivityDetail { present: Arc::clone(&self.present), loading: Mutex::default() })
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
        Self { text: printable(text, Layout::Line), detail: String::new(), since: Instant::now() }
    }

    fn line(&self, frame: char, columns: usize) -> String {
        let seconds = self.since.elapsed().as_secs();
        let Self { text, detail, .. } = self;
        let separator = if detail.is_empty() { "" } else { ": " };
        // The last column stays free: some terminals begin a new line behind it.
        fit(&format!("{frame} {text} ({seconds} s){separator}{detail}"), columns.saturating_sub(1))
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

    #[test]
    fn the_current_step_of_calls_and_the_sources_that_are_waited_for_are_shown() {
        let present = Arc::new(Mutex::new(Some(Present::new("running a.b"))));
        let detail = ActivityDetail { present: Arc::clone(&present), loading: Mutex::default() };
        let shown = || present.lock().as_ref().unwrap().line('*', 80);
        let step = |done, total, message: Option<&str>| Progress {
            done,
            total,
            message: message.map(str::to_owned),
        };
        detail.progress(&step(3.0, Some(10.0), Some("reading\u{1b}[2J")));
        assert_eq!(shown(), r"* running a.b (0 s): reading\u{1b}[2J (3 of 10)");
        detail.progress(&step(0.5, None, None));
        assert_eq!(shown(), "* running a.b (0 s): 0.5");
        detail.load_started("time");
        detail.load_started("github");
        assert_eq!(shown(), "* running a.b (0 s): waiting for time, github");
        detail.load_finished("time");
        assert_eq!(shown(), "* running a.b (0 s): waiting for github");
        detail.load_finished("github");
        assert_eq!(shown(), "* running a.b (0 s)");
    }
}
