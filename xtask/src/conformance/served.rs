//! The project's server while the suite tests it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail};

/// A server that runs until this is dropped.
pub(super) struct Served {
    child: Child,
    url: String,
}

impl Served {
    /// Starts the program on a port of its own, and waits until it says which.
    pub(super) fn start(program: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        command.arg("127.0.0.1:0").stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("could not start {}", program.display()))?;
        let mut lines = BufReader::new(child.stderr.take().context("it has no standard error")?).lines();
        let Some(url) = lines.find_map(|line| Some(line.ok()?.split_once("http://")?.1.trim().to_owned()))
        else {
            let _ = child.kill();
            bail!("{} did not say where it serves", program.display());
        };
        // What it says besides is read, so that it can go on.
        thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, url: format!("http://{url}") })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
