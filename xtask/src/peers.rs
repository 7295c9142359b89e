//! The outside peers that integration tests talk to: MCP servers that others have written.
//!
//! Each lives in a folder of its own under `TOOLCRIB_PEERS`, which is there whole or not at all. They start as
//! - `$TOOLCRIB_PEERS/server-everything/node_modules/.bin/mcp-server-everything stdio`
//! - `python3 $TOOLCRIB_PEERS/mcp-server-time`

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process::{answers, run_within};

#[cfg(test)]
mod tests;

/// How long one installation may take.
const INSTALL_LIMIT: Duration = Duration::from_mins(5);

/// The file that is written last into a peer's folder: it holds what was installed.
const STAMP: &str = "installed";

/// One peer, pinned to a version.
struct Peer {
    /// Its folder under the peers.
    name: &'static str,
    /// The package with its version, as the package manager spells it.
    package: &'static str,
    source: Source,
}

enum Source {
    Npm,
    /// With the module that is started when python is given the folder.
    PyPi {
        module: &'static str,
    },
}

const PEERS: &[Peer] = &[
    Peer {
        name: "server-everything",
        package: "@modelcontextprotocol/server-everything@2026.8.31",
        source: Source::Npm,
    },
    Peer {
        name: "mcp-server-time",
        package: "mcp-server-time==2026.10.19",
        source: Source::PyPi { module: "mcp_server_time" },
    },
];

/// Installs the peers that are not there yet, and returns those that cannot be, each with the reason.
pub(crate) fn install_all(folder: &Path) -> Result<Vec<String>> {
    fs::create_dir_all(folder).with_context(|| format!("could not create {}", folder.display()))?;
    // Of two test runs at once, the second waits here and then finds the work done.
    let lock = File::create(folder.join(".lock")).context("could not create the lock of the peers")?;
    lock.lock().context("could not lock the peers")?;

    let mut left_out = Vec::new();
    for peer in PEERS {
        if let Err(error) = settle(folder, peer, |partial| peer.install(partial)) {
            left_out.push(format!("{} ({error:#})", peer.name));
        }
    }
    Ok(left_out)
}

/// Brings the peer's folder to the pinned version: `install` fills a folder beside it, which takes its place
/// only when complete.
fn settle(folder: &Path, peer: &Peer, install: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let home = folder.join(peer.name);
    if fs::read_to_string(home.join(STAMP)).is_ok_and(|stamp| stamp == peer.package) {
        return Ok(());
    }
    let partial = folder.join(format!(".{}.partial", peer.name));
    for stale in [&home, &partial] {
        if stale.exists() {
            fs::remove_dir_all(stale).with_context(|| format!("could not remove {}", stale.display()))?;
        }
    }
    fs::create_dir(&partial).with_context(|| format!("could not create {}", partial.display()))?;
    install(&partial)?;
    fs::write(partial.join(STAMP), peer.package).context("could not write the stamp")?;
    fs::rename(&partial, &home).with_context(|| format!("could not move it to {}", home.display()))
}

impl Peer {
    /// Installs the package into an empty folder.
    fn install(&self, folder: &Path) -> Result<()> {
        let (manager, mut command) = match self.source {
            Source::Npm => ("npm", self.npm(folder)),
            Source::PyPi { .. } => ("pip", self.pip(folder)),
        };
        let mut probe = Command::new(command.get_program());
        if manager == "pip" {
            probe.args(["-m", "pip"]);
        }
        if !answers(probe.arg("--version")) {
            bail!("{manager} is not installed");
        }

        println!("test: {manager} installs {}", self.package);
        let log = folder.join("install.log");
        let output = File::create(&log).context("could not create the log")?;
        command.stdout(Stdio::null()).stderr(output);
        match run_within(&mut command, INSTALL_LIMIT).with_context(|| format!("could not start {manager}"))? {
            None => bail!("{manager} took more than {} s", INSTALL_LIMIT.as_secs()),
            Some(status) if !status.success() => {
                bail!("{manager} failed: {}", reason(&fs::read_to_string(&log).unwrap_or_default()));
            }
            Some(_) => {}
        }
        if let Source::PyPi { module } = self.source {
            let start = format!("import runpy\n\nrunpy.run_module({module:?}, run_name=\"__main__\")\n");
            fs::write(folder.join("__main__.py"), start).context("could not write __main__.py")?;
        }
        Ok(())
    }

    fn npm(&self, folder: &Path) -> Command {
        let mut command = Command::new("npm");
        command.arg("install").arg("--prefix").arg(folder).arg(self.package);
        // No package's install script is run: neither peer needs one.
        command.args([
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
            "--fetch-retries=1",
        ]);
        command
    }

    /// With `--target` rather than a virtual environment, whose scripts would keep the path of the folder
    /// in which they were installed.
    fn pip(&self, folder: &Path) -> Command {
        let mut command = Command::new("python3");
        command.args(["-m", "pip", "install", "--target"]).arg(folder).arg(self.package);
        command.args(["--quiet", "--no-input", "--disable-pip-version-check", "--retries=1", "--timeout=30"]);
        command
    }
}

/// The line of an installation's log that says what went wrong: the first error of npm or pip, and not what
/// follows from it.
fn reason(log: &str) -> &str {
    let is_error = |line: &&str| line.starts_with("npm error") || line.starts_with("ERROR:");
    let last = || log.lines().rfind(|line| !line.trim().is_empty());
    log.lines().find(is_error).or_else(last).unwrap_or("no reason given").trim()
}
