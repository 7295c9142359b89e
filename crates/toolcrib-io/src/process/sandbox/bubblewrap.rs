//! Namespaces, by the program `bwrap`: the program sees no other files and processes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};

use super::landlock::LandlockRules;
use super::launcher::LaunchPlan;
use super::{LAUNCHER_ARGUMENT, Sandbox, unavailable};
use crate::Error;
use crate::process::{Command, find_program};

/// The name of the program.
const BUBBLEWRAP: &str = "bwrap";

/// The options of every sandbox. Processes end with the process group of the program, which stays that of `bwrap`.
const OPTIONS: [&str; 7] = ["--unshare-all", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"];

/// Settings of the kernel, which root could write. `bwrap` covers only those that it can write itself.
const KERNEL_SETTINGS: [&str; 5] = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/// Checks that `bwrap` works here.
pub(super) fn check(sandbox: &Sandbox) -> Result<(), Error> {
    if sandbox.network.ports().is_some_and(|ports| !ports.is_empty()) {
        return Err(unavailable(
            "`bwrap` cannot restrict ports; set `network` to `none` or `all`, or `backend: kernel`",
        ));
    }
    let tried = process::Command::new(program()?)
        .args(["--ro-bind", "/", "/"])
        .args(OPTIONS)
        .args(KERNEL_SETTINGS.iter().flat_map(|path| ["--ro-bind-try", *path, *path]))
        .arg("true")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| unavailable(format!("`bwrap` cannot be started: {error}")))?;
    if tried.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&tried.stderr);
    let error = errors.lines().next().unwrap_or_default().to_owned();
    Err(unavailable(format!(
        "`bwrap` does not work here: {error}; allow user namespaces, or set `backend: kernel`"
    )))
}

fn program() -> Result<PathBuf, Error> {
    find_program(&Command::new([BUBBLEWRAP])).map_err(|_| {
        unavailable("`backend: bubblewrap` needs the program `bwrap`; install the package `bubblewrap`, or set `backend: kernel`")
    })
}

/// Returns the plan of a launcher that starts `bwrap`, in which another launcher carries out `inner`.
pub(super) fn wrap(
    mut inner: LaunchPlan,
    files: &LandlockRules,
    cwd: Option<&Path>,
    sandbox: &Sandbox,
) -> Result<LaunchPlan, Error> {
    let launcher = std::env::current_exe()
        .map_err(|error| unavailable(format!("the path of this program is unknown: {error}")))?;
    let mut words: Vec<OsString> = vec![program()?.into()];
    words.extend(OPTIONS.map(OsString::from));
    if sandbox.network.ports().is_none() {
        words.push("--share-net".into());
    }
    words.extend(KERNEL_SETTINGS.iter().flat_map(|path| ["--ro-bind-try", *path, *path]).map(OsString::from));
    let mut bind = |option: &str, path: &Path| {
        words.extend([option.into(), path.as_os_str().to_owned(), path.as_os_str().to_owned()]);
    };
    for path in files.read.iter().chain([&launcher]) {
        bind("--ro-bind", path);
    }
    for path in &files.write {
        bind("--bind", path);
    }
    if let Some(cwd) = cwd {
        words.extend(["--chdir".into(), cwd.as_os_str().to_owned()]);
    }
    let group = inner.group.take();
    words.extend(["--".into(), launcher.into_os_string(), LAUNCHER_ARGUMENT.into()]);
    words.extend(inner.words());
    Ok(LaunchPlan { group, name: BUBBLEWRAP.into(), command: words, ..LaunchPlan::default() })
}
