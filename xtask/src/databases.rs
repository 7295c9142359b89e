//! The database servers for tests: PostgreSQL and MariaDB, from the packages of the system.
//!
//! They listen on this machine only, store their data in a folder that is removed at the end, and never run as root. A
//! server that a variable already names is used unchanged. Each kind has a second server that tests may kill; it is
//! restarted.

use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::process::{answers, describe, in_ci, run as run_command};
use crate::workspace::Workspace;

/// The time limit for the start of a server.
const START_LIMIT: Duration = Duration::from_mins(1);

/// The time limit for the child processes of a server to end after it.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// The interval of polling.
const POLL: Duration = Duration::from_millis(100);

/// The user and the group of the servers if this program runs as root.
const UNPRIVILEGED: [&str; 2] = ["nobody", "nogroup"];

/// The user, the password, and the database of the tests, on servers that only this machine can reach.
const NAME: &str = "toolcrib";
const PASSWORD: &str = "only for tests";
const ENCODED_PASSWORD: &str = "only%20for%20tests";

/// The packages that CI installs where apt is available.
const PACKAGES: [&str; 3] = ["postgresql", "mariadb-server", "openssl"];

/// Running servers. Dropping it stops them.
pub(crate) struct Servers {
    /// The variables that name the servers for the tests.
    pub(crate) environment: Vec<(&'static str, OsString)>,
    running: Vec<Running>,
    folder: PathBuf,
}

struct Running {
    stop: Arc<AtomicBool>,
    keeper: Option<JoinHandle<()>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Postgres,
    MariaDb,
}

/// All servers: the variable that names one, its kind, and the folder of its data.
const SERVERS: [(&str, Kind, &str); 4] = [
    ("TOOLCRIB_TEST_POSTGRES", Kind::Postgres, "postgres"),
    ("TOOLCRIB_TEST_POSTGRES_VICTIM", Kind::Postgres, "postgres-victim"),
    ("TOOLCRIB_TEST_MYSQL", Kind::MariaDb, "mariadb"),
    ("TOOLCRIB_TEST_MYSQL_VICTIM", Kind::MariaDb, "mariadb-victim"),
];

/// Runs a command while the servers run (`cargo xtask databases COMMAND…`).
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let (servers, left_out) = start();
    ensure!(left_out.is_empty(), "{}", left_out.join("; "));
    let Some((program, rest)) = arguments.split_first() else {
        bail!(
            "databases wants a command that is run beside the servers, as `cargo nextest run -p toolcrib-module-database`"
        );
    };
    let mut command = Command::new(program);
    run_command(command.current_dir(&workspace.root).args(rest).envs(servers.environment.iter().cloned()))
}

/// Starts the servers, and returns those that could not be started.
pub(crate) fn start() -> (Servers, Vec<String>) {
    let folder = std::env::temp_dir().join(format!("toolcrib-databases-{}", std::process::id()));
    let mut servers = Servers { environment: Vec::new(), running: Vec::new(), folder };
    let mut left_out: Vec<String> = Vec::new();
    if in_ci()
        && SERVERS.iter().any(|(variable, ..)| std::env::var_os(variable).is_none())
        && let Err(error) = install()
    {
        left_out.push(format!("the database servers ({error:#})"));
    }
    for (variable, kind, name) in SERVERS {
        // A server of the user has no second server that tests may kill.
        let primary = variable.trim_end_matches("_VICTIM");
        if let Some(url) = std::env::var_os(variable) {
            servers.environment.push((variable, url));
            continue;
        }
        if primary != variable && std::env::var_os(primary).is_some() {
            continue;
        }
        match kind.start(&servers.folder.join(name)) {
            Ok((url, running)) => {
                servers.running.push(running);
                servers.environment.push((variable, url.into()));
            }
            Err(error) => left_out.push(format!("the {name} server ({error:#})")),
        }
    }
    (servers, left_out)
}

impl Drop for Servers {
    fn drop(&mut self) {
        for running in &self.running {
            running.stop.store(true, Ordering::Relaxed);
        }
        for running in &mut self.running {
            // If a supervisor thread panicked, the parent of its server has ended, and so has the server.
            let _ended = running.keeper.take().map(JoinHandle::join);
        }
        // Child processes of a server end soon after it, and write to the folder until then.
        let begun = Instant::now();
        while self.folder.exists()
            && fs::remove_dir_all(&self.folder).is_err()
            && begun.elapsed() < STOP_LIMIT
        {
            thread::sleep(POLL);
        }
    }
}

/// Installs the packages if they are missing and apt is available.
fn install() -> Result<()> {
    if Kind::Postgres.program("postgres").is_ok() && Kind::MariaDb.program("mariadbd").is_ok() {
        return Ok(());
    }
    install_packages(&PACKAGES)
}

/// Installs packages of the system. Requires root.
pub(crate) fn install_packages(packages: &[&str]) -> Result<()> {
    ensure!(is_root(), "installing {} wants root", packages.join(", "));
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").args(["-q", "-y"]);
        command
    };
    run_command(apt().arg("update"))?;
    run_command(apt().args(["install", "--no-install-recommends"]).args(packages))
}

impl Kind {
    /// Returns the path of a program of the server, on `PATH` or in Debian's folders.
    fn program(self, name: &str) -> Result<PathBuf> {
        let mut folders: Vec<PathBuf> =
            std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
        folders.push("/usr/sbin".into());
        if self == Self::Postgres {
            let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
            folders.extend(versions.map(|version| version.path().join("bin")));
        }
        let found = folders.into_iter().map(|folder| folder.join(name)).find(|path| path.is_file());
        found.with_context(|| format!("there is no `{name}` here"))
    }

    /// Creates the data, starts the server, waits until it answers, and returns its URL.
    fn start(self, folder: &Path) -> Result<(String, Running)> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        fs::create_dir_all(folder)?;
        if is_root() {
            run_quietly(Command::new("chown").args([OWNER, "--"]).arg(folder))?;
        }
        let server = match self {
            Self::Postgres => self.prepare_postgres(folder, port)?,
            Self::MariaDb => self.prepare_mariadb(folder, port)?,
        };
        let log = folder.join("log");
        let running = keep(server, &log);
        let begun = Instant::now();
        while !answers(&mut self.ping(port)?) {
            ensure!(begun.elapsed() < START_LIMIT, "it does not answer; it says:\n{}", tail(&log));
            thread::sleep(POLL);
        }
        let scheme = match self {
            Self::Postgres => "postgres",
            Self::MariaDb => "mysql",
        };
        Ok((format!("{scheme}://{NAME}:{ENCODED_PASSWORD}@127.0.0.1:{port}/{NAME}"), running))
    }

    fn prepare_postgres(self, folder: &Path, port: u16) -> Result<Vec<OsString>> {
        let (data, password) = (folder.join("data"), folder.join("password"));
        fs::write(&password, PASSWORD)?;
        let mut initdb = unprivileged(&self.program("initdb")?);
        initdb.arg("-D").arg(&data).arg("--pwfile").arg(&password);
        run_quietly(initdb.args([
            "-U",
            NAME,
            "--auth=scram-sha-256",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C",
        ]))?;
        // The tests use encryption with a certificate that no machine trusts.
        let mut openssl = unprivileged(&self.program("openssl")?);
        openssl.args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
        ]);
        openssl.args([
            "-addext",
            "subjectAltName=DNS:localhost",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ]);
        openssl.arg("-keyout").arg(data.join("server.key")).arg("-out").arg(data.join("server.crt"));
        run_quietly(&mut openssl)?;
        // Creates the database named after the user.
        let mut single = unprivileged(&self.program("postgres")?);
        let mut child = single.args(["--single", "-D"]).arg(&data).arg("postgres").stdin(Stdio::piped());
        child = child.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = child.spawn()?;
        let mut input = child.stdin.take().context("no input")?;
        std::io::Write::write_all(&mut input, format!("CREATE DATABASE {NAME}\n").as_bytes())?;
        drop(input);
        ensure!(child.wait()?.success(), "the database could not be made");
        let mut words: Vec<OsString> = vec![self.program("postgres")?.into(), "-D".into(), data.into()];
        words.extend([
            "-p".into(),
            port.to_string().into(),
            "-h".into(),
            "127.0.0.1".into(),
            "-k".into(),
            "".into(),
        ]);
        // The data is short-lived.
        words.extend(["-c", "fsync=off", "-c", "max_connections=60", "-c", "ssl=on"].map(OsString::from));
        Ok(words)
    }

    fn prepare_mariadb(self, folder: &Path, port: u16) -> Result<Vec<OsString>> {
        let (data, users) = (folder.join("data"), folder.join("users.sql"));
        let user = format!("{NAME}@'127.0.0.1'");
        fs::write(
            &users,
            format!(
                "CREATE DATABASE IF NOT EXISTS {NAME};\nCREATE USER IF NOT EXISTS {user} IDENTIFIED BY '{PASSWORD}';\n\
                 GRANT ALL ON *.* TO {user};\n"
            ),
        )?;
        let mut install = unprivileged(&self.program("mariadb-install-db")?);
        install.arg("--no-defaults").arg(option("--datadir=", &data));
        run_quietly(install.args(["--auth-root-authentication-method=normal", "--skip-test-db"]))?;
        let mut words: Vec<OsString> = vec![self.program("mariadbd")?.into(), "--no-defaults".into()];
        words.extend([option("--datadir=", &data), option("--init-file=", &users)]);
        words.extend([
            option("--socket=", &folder.join("socket")),
            option("--pid-file=", &folder.join("pid")),
        ]);
        let others =
            [&format!("--port={port}"), "--bind-address=127.0.0.1", "--character-set-server=utf8mb4"];
        words.extend(others.map(OsString::from));
        words.extend(
            ["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M"].map(OsString::from),
        );
        Ok(words)
    }

    /// Returns a command that succeeds once the server accepts connections.
    fn ping(self, port: u16) -> Result<Command> {
        let port = port.to_string();
        let mut command = Command::new(match self {
            Self::Postgres => self.program("pg_isready")?,
            Self::MariaDb => self.program("mariadb")?,
        });
        match self {
            Self::Postgres => command.args(["-q", "-h", "127.0.0.1", "-p", &port]),
            Self::MariaDb => command
                .args(["--no-defaults", "-h", "127.0.0.1", "-P", &port, "-u", NAME])
                .args([&format!("-p{PASSWORD}"), "-e", "SELECT 1", NAME]),
        };
        Ok(command)
    }
}

/// Returns the owner of a server's folder if this program runs as root.
const OWNER: &str = "nobody:nogroup";

/// Returns a command that runs as an unprivileged user if this program runs as root, and ends with its parent.
fn unprivileged(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]);
    if is_root() {
        let [user, group] = UNPRIVILEGED;
        command.args(["--reuid", user, "--regid", group, "--clear-groups"]);
    }
    command.arg("--").arg(program).current_dir("/");
    command
}

/// Starts a server, and restarts it if it ends without being stopped.
fn keep(words: Vec<OsString>, log: &Path) -> Running {
    let stop = Arc::new(AtomicBool::new(false));
    let (flag, log) = (Arc::clone(&stop), log.to_owned());
    let keeper = thread::spawn(move || {
        let mut child: Option<Child> = None;
        while !flag.load(Ordering::Relaxed) {
            if child.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None))) {
                child = spawn(&words, &log);
            }
            thread::sleep(POLL);
        }
        if let Some(mut child) = child {
            // The data is removed too, so nothing needs to be saved.
            let _ended = child.kill().and_then(|()| child.wait());
        }
    });
    Running { stop, keeper: Some(keeper) }
}

fn spawn(words: &[OsString], log: &Path) -> Option<Child> {
    let (program, arguments) = words.split_first()?;
    let output = fs::File::options().create(true).append(true).open(log).ok()?;
    let errors = output.try_clone().ok()?;
    let mut command = unprivileged(Path::new(program));
    command.args(arguments).stdin(Stdio::null()).stdout(output).stderr(errors).spawn().ok()
}

fn run_quietly(command: &mut Command) -> Result<()> {
    let line = describe(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("could not start {line}"))?;
    ensure!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

/// Returns the last lines of a log.
fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(10).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
