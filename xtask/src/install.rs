//! Third-party packages, one set per folder under `target/`. A set is either complete or absent.
//!
//! The files in `packages/NAME` lock the versions. A set is reinstalled if one of these files changes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process::{answers, run_within};

#[cfg(test)]
mod tests;

/// The time limit for one installation.
const INSTALL_LIMIT: Duration = Duration::from_mins(5);

/// The file that is written last into a folder; it contains the lock that was installed.
const STAMP: &str = "installed";

/// The folder of the locks, relative to the root of the repository.
const LOCKS: &str = "xtask/packages";

/// A set of packages.
#[derive(Clone, Copy)]
pub(crate) struct Packages {
    /// The name of its folder, both among the locks and below the installation folder.
    pub(crate) name: &'static str,
    pub(crate) manager: Manager,
}

/// The installer of the packages.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Manager {
    Npm,
    Pip,
    /// pip, without the dependencies of the packages.
    PipAlone,
}

impl Manager {
    /// The files of a lock.
    fn files(self) -> [&'static str; 2] {
        match self {
            Self::Npm => ["package.json", "package-lock.json"],
            Self::Pip | Self::PipAlone => ["requirements.txt", "constraints.txt"],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pip | Self::PipAlone => "pip",
        }
    }
}

impl Packages {
    /// Installs the packages unless they are already there as locked, and returns their folder. Of two concurrent
    /// calls, the second one waits and then finds the work done.
    pub(crate) fn install(&self, root: &Path, parent: &Path) -> Result<PathBuf> {
        fs::create_dir_all(parent).with_context(|| format!("could not create {}", parent.display()))?;
        let lock =
            File::create(parent.join(format!(".{}.lock", self.name))).context("could not create the lock")?;
        lock.lock().with_context(|| format!("could not lock {}", self.name))?;

        let lock = self.lock(&root.join(LOCKS).join(self.name))?;
        let home = parent.join(self.name);
        settle(&home, &lock, |partial| self.run(partial, &lock))?;
        Ok(home)
    }

    fn lock(&self, folder: &Path) -> Result<Lock> {
        let read = |name: &'static str| -> Result<_> {
            let path = folder.join(name);
            let text =
                fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
            Ok((name, text))
        };
        let [first, second] = self.manager.files();
        Ok(Lock { files: [read(first)?, read(second)?] })
    }

    /// Installs into an empty folder.
    fn run(&self, folder: &Path, lock: &Lock) -> Result<()> {
        let manager = self.manager.name();
        for (name, text) in &lock.files {
            fs::write(folder.join(name), text).with_context(|| format!("could not write {name}"))?;
        }
        let mut command = match self.manager {
            Manager::Npm => npm(folder),
            Manager::Pip => pip(folder),
            Manager::PipAlone => {
                let mut command = pip(folder);
                command.arg("--no-deps");
                command
            }
        };
        let mut probe = Command::new(command.get_program());
        if self.manager != Manager::Npm {
            probe.args(["-m", "pip"]);
        }
        if !answers(probe.arg("--version")) {
            bail!("{manager} is not installed");
        }

        println!("xtask: {manager} installs the packages {}", self.name);
        let log = folder.join("install.log");
        let output = File::create(&log).context("could not create the log")?;
        command.stdout(Stdio::null()).stderr(output);
        match run_within(&mut command, INSTALL_LIMIT).with_context(|| format!("could not start {manager}"))? {
            None => bail!("{manager} took more than {} s", INSTALL_LIMIT.as_secs()),
            Some(status) if !status.success() => {
                bail!("{manager} failed: {}", reason(&fs::read_to_string(&log).unwrap_or_default()));
            }
            Some(_) => Ok(()),
        }
    }
}

/// The locked content of a set of packages, file by file.
struct Lock {
    files: [(&'static str, String); 2],
}

impl Lock {
    fn stamp(&self) -> String {
        self.files.iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// Updates a folder to the lock: `install` fills a temporary folder next to it, which replaces it only when complete.
fn settle(home: &Path, lock: &Lock, install: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let stamp = lock.stamp();
    if fs::read_to_string(home.join(STAMP)).is_ok_and(|found| found == stamp) {
        return Ok(());
    }
    let partial = home.with_extension("partial");
    for stale in [home, &partial] {
        if stale.exists() {
            fs::remove_dir_all(stale).with_context(|| format!("could not remove {}", stale.display()))?;
        }
    }
    fs::create_dir(&partial).with_context(|| format!("could not create {}", partial.display()))?;
    install(&partial)?;
    fs::write(partial.join(STAMP), stamp).context("could not write the stamp")?;
    fs::rename(&partial, home).with_context(|| format!("could not move it to {}", home.display()))
}

fn npm(folder: &Path) -> Command {
    let mut command = Command::new("npm");
    command.arg("ci").current_dir(folder);
    // Install scripts of packages are not run, because none is needed.
    command.args(["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1"]);
    command
}

/// Installs with `--target` rather than in a virtual environment, whose scripts would contain the path of the folder in
/// which they were installed.
fn pip(folder: &Path) -> Command {
    let mut command = Command::new("python3");
    command.current_dir(folder);
    command.args([
        "-m",
        "pip",
        "install",
        "--target",
        ".",
        "-r",
        "requirements.txt",
        "-c",
        "constraints.txt",
    ]);
    // Most installed modules are never imported, so they are compiled at their first import.
    command.arg("--no-compile");
    command.args(["--quiet", "--no-input", "--disable-pip-version-check", "--retries=1", "--timeout=30"]);
    command
}

/// Returns the line of an installation log that names the cause: the first error of npm or pip, not its consequences.
fn reason(log: &str) -> &str {
    let is_error = |line: &&str| line.starts_with("npm error") || line.starts_with("ERROR:");
    let last = || log.lines().rfind(|line| !line.trim().is_empty());
    log.lines().find(is_error).or_else(last).unwrap_or("no reason given").trim()
}
