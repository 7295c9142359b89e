//! The project's server while the suite tests it: a single process, or replicas behind a proxy.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail};

use crate::databases::{self, Servers};

/// The variable that names the database server, and the one that names the store of a replica.
const SERVER_VARIABLE: &str = "TOOLCRIB_TEST_POSTGRES";
const STORE_VARIABLE: &str = "TOOLCRIB_STORE";

/// The tested server, which runs until this is dropped.
pub(super) struct Served {
    url: String,
    /// The proxy first, so that no request comes to a replica that has ended.
    _programs: Vec<Program>,
    /// The server of the store.
    _databases: Option<Servers>,
}

/// A program that runs until this is dropped.
struct Program {
    child: Child,
    /// The address that it has printed, with the path.
    address: String,
}

impl Served {
    /// Starts the server as a single process.
    pub(super) fn single(server: &Path) -> Result<Self> {
        let program = Program::start(Command::new(server).arg("127.0.0.1:0"))?;
        let url = format!("http://{}", program.address);
        Ok(Self { url, _programs: vec![program], _databases: None })
    }

    /// Starts replicas of the server on one store in PostgreSQL, and a proxy that sends each request to the next.
    pub(super) fn replicas(server: &Path, proxy: &Path, count: usize) -> Result<Self> {
        let (databases, missing) = databases::start();
        let store: Option<&OsString> =
            databases.environment.iter().find(|(name, _)| *name == SERVER_VARIABLE).map(|(_, url)| url);
        let store = store.with_context(|| format!("there is no database server: {}", missing.join("; ")))?;
        let start = |_| Program::start(Command::new(server).arg("127.0.0.1:0").env(STORE_VARIABLE, store));
        let replicas = (0..count).map(start).collect::<Result<Vec<_>>>()?;
        let addresses = replicas.iter().map(|program| program.address.trim_end_matches("/mcp"));
        let proxy = Program::start(Command::new(proxy).args(addresses))?;
        let url = format!("http://{}", proxy.address);
        let programs = std::iter::once(proxy).chain(replicas).collect();
        Ok(Self { url, _programs: programs, _databases: Some(databases) })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

impl Program {
    /// Starts a program on a port of its own, and waits until it says which.
    fn start(command: &mut Command) -> Result<Self> {
        let program = command.get_program().to_owned();
        let program = Path::new(&program).display();
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("could not start {program}"))?;
        let mut lines = BufReader::new(child.stderr.take().context("it has no standard error")?).lines();
        let Some(address) =
            lines.find_map(|line| Some(line.ok()?.split_once("http://")?.1.trim().to_owned()))
        else {
            let _ = child.kill();
            bail!("{program} did not say where it serves");
        };
        // What it says besides is read, so that it can go on.
        thread::spawn(move || lines.for_each(drop));
        Ok(Self { child, address })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
