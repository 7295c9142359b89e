//! The client of a container engine: the checks before a start, the start, and the removal of the container.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, ChildStdin, Output, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Resource, Signal, getgid, getrlimit, getuid, kill_process_group};

use super::container::{
    CLIENT_VARIABLES, Container, ContainerEngine, ContainerRun, is_by_value, is_inherited,
};
use super::prepared::{Prepared, ResourceLimit};
use super::{Sandbox, container_syscalls, unavailable};
use crate::Error;
use crate::process::command::DEFAULT_SEARCH_PATH;
use crate::process::{Command, DEPTH_VARIABLE, MARK_VARIABLE, depth, find_program};

/// The time that an engine has for each answer before a start.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// The prefix of the names of images that no registry has.
const LOCAL_IMAGES: &str = "localhost/";

/// The prefix of the names of containers.
const NAME_PREFIX: &str = "toolcrib-";

/// The file with the number of process ids, on Linux.
const PROCESS_IDS: &str = "/proc/sys/kernel/pid_max";

/// The file with the filter of system calls, next to the home directories.
const FILTER: &str = "container-syscalls.json";

/// The maximum number of removals of a container while its client runs: ten seconds, and the time of the engine.
const MAX_REMOVALS: &str = "100";

/// The script that removes a container once its input ends, which it also does when this process is killed. The first line
/// of its input is the process of the client, which leads a group.
///
/// A client that is killed while it creates the container leaves processes that the engine does not know. So the removal
/// is repeated until the client has ended: the engine waits until the container is created, and the client ends with it.
/// Without the first line, there may be a client as well. The first argument is the maximum number of removals.
const REMOVAL: &str = r#"
trap '' HUP INT QUIT TERM
rounds=$1
shift
read -r client
read -r _
is_running() { [ -z "$client" ] || kill -0 "$client"; }
while [ "$rounds" -gt 0 ] && is_running; do
  "$@" </dev/null
  sleep 0.1
  rounds=$((rounds - 1))
done
if [ -n "$client" ] && is_running; then kill -KILL "-$client"; fi
exec "$@" </dev/null
"#;

/// A container, which [`remove`](Self::remove) and dropping it remove.
#[derive(Debug)]
pub(crate) struct StartedContainer(Mutex<Option<Remover>>);

#[derive(Debug)]
struct Remover {
    process: process::Child,
    input: Option<ChildStdin>,
}

impl StartedContainer {
    fn new(engine: ContainerEngine, name: &str) -> Result<Self, Error> {
        let failed = |error: &dyn std::fmt::Display| {
            unavailable(format!("the process that removes its container cannot be started: {error}"))
        };
        let mut process = process::Command::new("/bin/sh");
        process.args(["-c", REMOVAL, "toolcrib-container", MAX_REMOVALS]).arg(program(engine)?);
        process.args(engine.removal()).arg(name);
        process.env_clear().envs(client_environment());
        process.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut process = process.spawn().map_err(|error| failed(&error))?;
        let input = process.stdin.take();
        Ok(Self(Mutex::new(Some(Remover { process, input }))))
    }

    /// Sets the process of the client, which leads a group.
    ///
    /// # Errors
    ///
    /// Fails if the process that removes the container has ended.
    pub(crate) fn set_client(&self, client: Pid) -> io::Result<()> {
        match self.0.lock().as_mut().and_then(|remover| remover.input.as_mut()) {
            Some(input) => writeln!(input, "{}", client.as_raw_pid()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Begins to remove the container, by which its client ends.
    pub(crate) fn begin_removal(&self) {
        if let Some(remover) = self.0.lock().as_mut() {
            remover.input = None;
        }
    }

    /// Removes the container with all of its processes. Later calls do nothing.
    pub(crate) fn remove(&self) {
        if let Some(Remover { mut process, input }) = self.0.lock().take() {
            drop(input);
            let _ = process.wait();
        }
    }
}

impl Drop for StartedContainer {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Checks that the engine answers, has the image, and enforces the limits.
pub(super) fn check(sandbox: &Sandbox, container: &Container) -> Result<(), Error> {
    refuse_ports(sandbox, container)?;
    let name = container.engine.program();
    let (format, limits): (_, fn(&str) -> bool) = match container.engine {
        ContainerEngine::Docker => ("{{.MemoryLimit}} {{.PidsLimit}}", |shown| shown == "true true"),
        ContainerEngine::Podman => ("{{.Host.CgroupControllers}}", |shown| {
            let names: Vec<&str> = shown.trim_matches(['[', ']']).split_whitespace().collect();
            ["memory", "pids"].iter().all(|needed| names.contains(needed))
        }),
    };
    let shown = ask(container.engine, &["info", "--format", format])
        .map_err(|error| unavailable(format!("`{name}` does not work here: {error}")))?;
    if !limits(shown.trim()) {
        return Err(unavailable(format!(
            "`{name}` does not limit memory and processes on this system, which needs the control groups `memory` and \
             `pids`"
        )));
    }
    let image = &container.image;
    ask(container.engine, &["image", "inspect", "--format", "{{.Id}}", image]).map(drop).map_err(|error| {
        let way = if image.starts_with(LOCAL_IMAGES) { "build --tag" } else { "pull" };
        unavailable(format!("`{name}` has no image `{image}`: {error}; get it by `{name} {way} {image}`"))
    })
}

/// Returns an error for a network of ports, which no container has.
fn refuse_ports(sandbox: &Sandbox, container: &Container) -> Result<(), Error> {
    if sandbox.network.ports().is_none_or(|ports| ports.is_empty()) {
        return Ok(());
    }
    Err(unavailable(format!(
        "`{}` cannot restrict ports; set `network` to `none` or `all`, or `backend: kernel`",
        container.engine.program()
    )))
}

/// Runs a command of the engine and returns its output.
fn ask(engine: ContainerEngine, arguments: &[&str]) -> Result<String, String> {
    let mut client = client(engine).map_err(|error| error.to_string())?;
    client.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = client.process_group(0).spawn().map_err(|error| error.to_string())?;
    let group = Pid::from_child(&child);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    let Ok(ended) = receiver.recv_timeout(ANSWER_TIMEOUT) else {
        // It is collected by its thread.
        let _ = kill_process_group(group, Signal::KILL);
        return Err(format!("it has not answered within {} s", ANSWER_TIMEOUT.as_secs()));
    };
    let Output { status, stdout, stderr } = ended.map_err(|error| error.to_string())?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&stderr);
    Err(errors
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("it failed without a message")
        .to_owned())
}

fn program(engine: ContainerEngine) -> Result<PathBuf, Error> {
    let name = engine.program();
    find_program(&Command::new([name])).map_err(|_| {
        unavailable(format!(
            "`backend: {name}` needs the program `{name}`; install it, or set `backend: kernel`"
        ))
    })
}

fn client(engine: ContainerEngine) -> Result<process::Command, Error> {
    let mut client = process::Command::new(program(engine)?);
    client.env_clear().envs(client_environment());
    Ok(client)
}

/// Returns the variables of this process that a client reads.
fn client_environment() -> BTreeMap<&'static str, OsString> {
    let ours = CLIENT_VARIABLES.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
    let path = ("PATH", OsString::from(DEFAULT_SEARCH_PATH));
    std::iter::once(path).chain(ours).collect()
}

/// Returns the client that starts a program in a new container, which is removed when the client has ended.
pub(super) fn prepare(
    sandbox: &Sandbox,
    container: &Container,
    command: &Command,
    (program, mark): (&Path, &str),
    mut variables: BTreeMap<String, OsString>,
) -> Result<Prepared, Error> {
    // The `access` of a tool may name ports.
    refuse_ports(sandbox, container)?;
    variables.retain(|name, _| command.env.contains_key(name) || is_inherited(name));
    sandbox.enter_home(command, &mut variables)?;
    let name = format!("{NAME_PREFIX}{mark}");
    let filter = sandbox.home.with_file_name(FILTER);
    container_syscalls::write(&filter, &name).map_err(|error| {
        unavailable(format!("its filter of system calls cannot be written to {}: {error}", filter.display()))
    })?;
    let cwd = command.cwd.as_deref().map(real).transpose()?;
    let mut inside = variables.clone();
    // The processes of the engine do not bear the mark: they outlive the client to clean up.
    let marks = [(MARK_VARIABLE, mark.to_owned()), (DEPTH_VARIABLE, depth().saturating_add(1).to_string())];
    let by_value = marks.map(|(name, value)| (name.to_owned(), OsString::from(value)));
    inside.extend(by_value);
    let run = ContainerRun {
        sandbox,
        container,
        name: &name,
        user: (getuid().as_raw(), getgid().as_raw()),
        max_user_processes: max_user_processes(),
        program,
        arguments: command.argv.get(1..).unwrap_or_default(),
        cwd: cwd.as_deref(),
        filter: &filter,
        variables: &inside,
    };
    let mut client = client(container.engine)?;
    client.args(run.arguments()?);
    client.envs(variables.into_iter().filter(|(name, _)| !is_by_value(name)));
    let started = StartedContainer::new(container.engine, &name)?;
    Ok(Prepared {
        command: client,
        limit: Some(ResourceLimit::Container(Arc::new(started))),
        is_marked: false,
    })
}

/// Returns the processes that the user of this process can have. Podman lowers its own limit to the number of process ids.
fn max_user_processes() -> Option<u64> {
    let ids = fs::read_to_string(PROCESS_IDS).ok().and_then(|text| text.trim().parse().ok());
    [getrlimit(Resource::Nproc).maximum, ids].into_iter().flatten().min()
}

fn real(folder: &Path) -> Result<PathBuf, Error> {
    folder.canonicalize().map_err(|error| {
        unavailable(format!("the working directory {} cannot be opened: {error}", folder.display()))
    })
}
