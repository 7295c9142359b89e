//! The line editor of a conversation: editing keys, history, and pasted lines as one message.
//!
//! It reads the terminal in a thread, which [`stop`](LineEditor::stop) ends without losing the text that was typed.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use reedline::{
    Color, FileBackedHistory, Highlighter, Prompt, PromptEditMode, PromptHistorySearch,
    PromptHistorySearchStatus, Reedline, Signal, StyledText,
};

/// The most messages of the history.
const MAX_HISTORY_ENTRIES: usize = 1_000;

/// The most bytes of the history that are kept from one conversation to the next. Of more, the oldest are left out.
const MAX_HISTORY_BYTES: u64 = 1024 * 1024;

/// The time after which a reader notices that it is stopped.
const STOP_INTERVAL: Duration = Duration::from_millis(30);

/// The outcome of reading a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    Message(String),
    /// Ctrl-C; true if there was text, which is cleared.
    Interrupted(bool),
    /// Ctrl-D, or a terminal that can no longer be read.
    End,
    /// [`LineEditor::stop`] was called. The next read begins with the text that was typed.
    Stopped,
}

/// A line editor on the terminal of the process.
pub(crate) struct LineEditor {
    editor: Arc<Mutex<Reedline>>,
    stop: Arc<AtomicBool>,
    has_text: Arc<AtomicBool>,
    is_colourful: bool,
}

impl LineEditor {
    /// Creates an editor with the history of a file, which only its owner can read. Without a file, or when the file
    /// cannot be used, the history ends with the process; the second value says why.
    pub(crate) fn new(history: Option<PathBuf>, is_colourful: bool) -> (Self, Option<String>) {
        let (stop, has_text) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let mut editor = Reedline::create()
            .use_bracketed_paste(true)
            .with_ansi_colors(is_colourful)
            .with_break_signal(Arc::clone(&stop))
            .with_poll_interval(STOP_INTERVAL)
            .with_highlighter(Box::new(Plain { has_text: Arc::clone(&has_text) }));
        let mut problem = None;
        if let Some(path) = history {
            match open_history(&path) {
                Ok(history) => editor = editor.with_history(Box::new(history)),
                Err(error) => {
                    problem = Some(format!("{}: the history cannot be kept there: {error}", path.display()));
                }
            }
        }
        let editor = Arc::new(Mutex::new(editor));
        (Self { editor, stop, has_text, is_colourful }, problem)
    }

    /// Reads a message. When the future is dropped, the reader is stopped.
    pub(super) async fn read(&self, prompt: &str) -> Read {
        self.stop.store(false, Ordering::Release);
        self.has_text.store(false, Ordering::Release);
        let editor = Arc::clone(&self.editor);
        let prompt = Text { prompt: prompt.to_owned(), is_colourful: self.is_colourful };
        let stop_on_drop = StopOnDrop(&self.stop);
        let read = tokio::task::spawn_blocking(move || {
            let mut editor = editor.lock();
            let signal = editor.read_line(&prompt);
            // A history that cannot be written is no reason to lose the message.
            let _ = editor.sync_history();
            signal
        });
        let read = read.await;
        drop(stop_on_drop);
        match read {
            Ok(Ok(Signal::Success(text))) => Read::Message(text),
            Ok(Ok(Signal::CtrlC)) => Read::Interrupted(self.has_text.load(Ordering::Acquire)),
            Ok(Ok(Signal::ExternalBreak(_) | Signal::HostCommand(_))) => Read::Stopped,
            Ok(Ok(_) | Err(_)) | Err(_) => Read::End,
        }
    }

    /// Stops the reader.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Waits until the reader has given the terminal back.
    pub(super) async fn released(&self) {
        let editor = Arc::clone(&self.editor);
        // Where the thread cannot be had, nothing reads either.
        let _ = tokio::task::spawn_blocking(move || drop(editor.lock())).await;
    }
}

/// A guard that stops the reader on drop.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Shows the text as it is, and notes that there is some.
struct Plain {
    has_text: Arc<AtomicBool>,
}

impl Highlighter for Plain {
    fn highlight(&self, line: &str, _cursor: usize) -> StyledText {
        if !line.is_empty() {
            self.has_text.store(true, Ordering::Release);
        }
        let mut text = StyledText::new();
        #[expect(
            clippy::default_trait_access,
            reason = "the type is that of another crate, which is no dependency"
        )]
        text.push((Default::default(), line.to_owned()));
        text
    }
}

/// The prompt. Lines after the first are not marked, so that they can be copied.
struct Text {
    prompt: String,
    is_colourful: bool,
}

impl Prompt for Text {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.prompt)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let found = match search.status {
            PromptHistorySearchStatus::Passing => "history",
            PromptHistorySearchStatus::Failing => "not in the history",
        };
        Cow::Owned(format!("({found}: {}) ", search.term))
    }

    fn get_prompt_color(&self) -> Color {
        if self.is_colourful { Color::Cyan } else { Color::Default }
    }
}

/// Opens the history of a file, within its bounds.
fn open_history(path: &Path) -> io::Result<FileBackedHistory> {
    shorten(&mut prepare(path)?)?;
    FileBackedHistory::with_file(MAX_HISTORY_ENTRIES, path.to_owned()).map_err(io::Error::other)
}

/// Opens the file, which only its owner can read.
fn prepare(path: &Path) -> io::Result<File> {
    let mut folders = fs::DirBuilder::new();
    folders.recursive(true);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        folders.mode(0o700);
        options.mode(0o600);
    }
    if let Some(folder) = path.parent() {
        folders.create(folder)?;
    }
    options.open(path)
}

/// Leaves out the oldest entries of a history that is too long.
fn shorten(file: &mut File) -> io::Result<()> {
    file.lock()?;
    let bytes = file.metadata()?.len();
    if bytes <= MAX_HISTORY_BYTES {
        return file.unlock();
    }
    let mut newest = Vec::new();
    file.seek(SeekFrom::Start(bytes - MAX_HISTORY_BYTES))?;
    file.take(MAX_HISTORY_BYTES).read_to_end(&mut newest)?;
    // The first one is likely to be cut.
    let whole = newest.iter().position(|byte| *byte == b'\n').map_or(newest.len(), |at| at + 1);
    file.rewind()?;
    file.write_all(newest.get(whole..).unwrap_or_default())?;
    let end = file.stream_position()?;
    file.set_len(end)?;
    file.unlock()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_for_its_owner_only_and_keeps_its_newest_entries() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history/app");
        drop(open_history(&path).unwrap());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        }
        let entry = "x".repeat(2_000);
        let entries: Vec<String> = (0..2_000).map(|number| format!("{number} {entry}\n")).collect();
        fs::write(&path, entries.concat()).unwrap();
        drop(open_history(&path).unwrap());
        let kept = fs::read_to_string(&path).unwrap();
        assert!(kept.len() as u64 <= MAX_HISTORY_BYTES, "{}", kept.len());
        assert!(kept.len() as u64 > MAX_HISTORY_BYTES - 4_096, "{}", kept.len());
        assert!(kept.lines().next_back().unwrap().starts_with("1999 "));
        assert!(kept.lines().all(|line| line.ends_with(&entry) && line.contains(' ')), "none is cut");
    }

    #[test]
    fn a_history_that_cannot_be_kept_is_told_and_the_editor_works() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (_editor, problem) = LineEditor::new(Some(file.path().join("app")), false);
        assert!(problem.unwrap().contains("the history cannot be kept there"));
    }
}
