//! The person's own editor, on a file that only they can read.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use toolcrib_io::files::read_bounded;

/// The most bytes that are read of what was edited.
const MAX_EDITED_BYTES: u64 = 1024 * 1024;

/// The interval of checks for the end of the editor.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// The time that an editor has to exit after its question was withdrawn.
const END_PATIENCE: Duration = Duration::from_secs(1);

/// Returns the command line of the editor: `VISUAL`, else `EDITOR`.
pub(super) fn command(variable: impl Fn(&str) -> Option<String>) -> Option<Vec<String>> {
    let named = ["VISUAL", "EDITOR"].into_iter().filter_map(variable);
    let words = named.filter_map(|text| shell_words::split(&text).ok());
    words.into_iter().find(|words| !words.is_empty())
}

/// Runs the editor on a file with this text, and gives what is in it then. When the future is dropped, the editor ends.
pub(super) async fn edit(command: &[String], text: &str, ending: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("cannot prepare the file to edit: {error}");
    // Only its owner may read it.
    let mut file = tempfile::Builder::new().prefix("toolcrib-").suffix(ending).tempfile().map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(failed)?;
    let Some((program, arguments)) = command.split_first() else { return Err("no editor is set".to_owned()) };
    let mut prepared = Command::new(program);
    prepared.args(arguments).arg(file.path()).stdout(screen().map_err(failed)?);
    let before = terminal::state();
    let child = prepared.spawn().map_err(|error| format!("cannot start the editor `{program}`: {error}"))?;
    let given_up = Arc::new(AtomicBool::new(false));
    let _give_up = GiveUp(Arc::clone(&given_up));
    let waited = tokio::task::spawn_blocking(move || {
        let status = wait(child, &given_up);
        terminal::restore(before);
        status
    });
    match waited.await {
        Ok(Ok(status)) if status.success() => {}
        Ok(Ok(status)) => return Err(format!("the editor `{program}` ended with {status}")),
        Ok(Err(error)) => return Err(format!("lost the editor `{program}`: {error}")),
        Err(error) => return Err(format!("lost the editor `{program}`: {error}")),
    }
    let bytes = read_bounded(file.path(), MAX_EDITED_BYTES).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "what was saved is not UTF-8".to_owned())
}

/// A guard that signals on drop that the answer is not needed any more.
struct GiveUp(Arc<AtomicBool>);

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn wait(mut child: Child, given_up: &AtomicBool) -> std::io::Result<std::process::ExitStatus> {
    let mut asked_to_end = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        match asked_to_end {
            None if given_up.load(Ordering::Relaxed) => {
                terminal::ask_to_end(&mut child);
                asked_to_end = Some(Instant::now());
            }
            Some(asked) if Instant::now().duration_since(asked) > END_PATIENCE => child.kill()?,
            _ => {}
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
}

/// Returns the terminal for the editor, since standard output may be a file.
#[cfg(unix)]
fn screen() -> std::io::Result<Stdio> {
    use std::os::fd::AsFd as _;
    std::io::stderr().as_fd().try_clone_to_owned().map(Stdio::from)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
fn screen() -> std::io::Result<Stdio> {
    Ok(Stdio::inherit())
}

#[cfg(unix)]
mod terminal {
    //! The terminal as it was before an editor that did not end well.

    use std::process::Child;

    use rustix::process::{Pid, Signal, kill_process};
    use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

    pub(super) fn state() -> Option<Termios> {
        tcgetattr(std::io::stdin()).ok()
    }

    pub(super) fn restore(state: Option<Termios>) {
        if let Some(state) = state {
            // Where that fails, there is no terminal left to restore.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Drain, &state);
        }
    }

    pub(super) fn ask_to_end(child: &mut Child) {
        if let Some(id) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended in this moment.
            let _ = kill_process(id, Signal::TERM);
        }
    }
}

#[cfg(not(unix))]
mod terminal {
    //! Nothing is to be restored.

    pub(super) fn state() {}

    pub(super) fn restore((): ()) {}

    pub(super) fn ask_to_end(child: &mut std::process::Child) {
        let _ = child.kill();
    }
}
