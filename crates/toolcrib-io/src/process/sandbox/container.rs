//! Containers: the command line of `docker run` and `podman run`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::{MAX_OPEN_FILES, MAX_SANDBOXED_FILE_BYTES, Sandbox, unavailable};
use crate::Error;
use crate::process::proxy_environment::PROXY_ENVIRONMENT;
use crate::process::{DEPTH_VARIABLE, MARK_VARIABLE};

/// The options of every container. Only an image that is there is used, and its output is written to no log of the engine.
const OPTIONS: [&str; 13] = [
    "--rm",
    "--interactive",
    "--init",
    "--pull",
    "never",
    "--log-driver",
    "none",
    "--read-only",
    "--cap-drop",
    "ALL",
    "--security-opt",
    "no-new-privileges",
    "--tmpfs",
];

/// The folder in memory that replaces `/tmp` of the image, which is read-only.
const TEMPORARY: &str = "/tmp:rw,nosuid,nodev,size=64m";

/// The inherited variables that mean the same in a container, in addition to those of proxies. Others name files of this system.
const INHERITED: [&str; 6] = ["LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TERM", "TZ"];

/// The variables that the client of an engine reads.
pub(super) const CLIENT_VARIABLES: [&str; 26] = [
    "CONTAINERS_CONF",
    "CONTAINERS_CONF_OVERRIDE",
    "CONTAINERS_HELPER_BINARY_DIR",
    "CONTAINERS_REGISTRIES_CONF",
    "CONTAINERS_STORAGE_CONF",
    "CONTAINER_CONNECTION",
    "CONTAINER_HOST",
    "CONTAINER_SSHKEY",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_API_VERSION",
    "DOCKER_CERT_PATH",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "DOCKER_TLS",
    "DOCKER_TLS_VERIFY",
    "HOME",
    "PATH",
    "SSH_AUTH_SOCK",
    "STORAGE_DRIVER",
    "STORAGE_OPTS",
    "TMPDIR",
    "USER",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
];

/// Further variables that change a client, as they change any program written in Go.
const RUNTIME_VARIABLES: [&str; 5] = ["GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK"];

/// The prefixes of variables of the dynamic loader.
const LOADER_PREFIXES: [&str; 2] = ["DYLD_", "LD_"];

/// A program that runs containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContainerEngine {
    Docker,
    Podman,
}

/// A container that a program runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Container {
    pub(super) engine: ContainerEngine,
    /// The name of the image.
    pub(super) image: String,
    pub(super) max_memory_mb: u32,
}

/// A program that starts in a new container.
#[derive(Debug)]
pub(super) struct ContainerRun<'a> {
    pub(super) sandbox: &'a Sandbox,
    pub(super) container: &'a Container,
    /// The name of the container.
    pub(super) name: &'a str,
    /// The user and the group, which are those of this process.
    pub(super) user: (u32, u32),
    /// The processes that the user of this process can have, if there is a limit.
    pub(super) max_user_processes: Option<u64>,
    /// The program: a path, or the name of a program of the image.
    pub(super) program: &'a Path,
    pub(super) arguments: &'a [String],
    pub(super) cwd: Option<&'a Path>,
    /// The file with the filter of system calls.
    pub(super) filter: &'a Path,
    /// The variables of the program.
    pub(super) variables: &'a BTreeMap<String, OsString>,
}

impl ContainerEngine {
    /// Returns the name of the program.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }

    /// Returns the arguments that remove a container and end its processes.
    pub(super) fn removal(self) -> &'static [&'static str] {
        match self {
            Self::Docker => &["rm", "--force", "--volumes"],
            // Without a time, it waits for the processes to end.
            Self::Podman => &["rm", "--force", "--volumes", "--time", "0"],
        }
    }
}

impl ContainerRun<'_> {
    /// Returns the arguments of the engine.
    ///
    /// # Errors
    ///
    /// Fails on a path that its options cannot express.
    pub(super) fn arguments(&self) -> Result<Vec<OsString>, Error> {
        let (sandbox, container) = (self.sandbox, self.container);
        let mut words: Vec<OsString> = vec!["run".into()];
        words.extend(OPTIONS.map(OsString::from));
        words.push(TEMPORARY.into());
        let mut option = |name: &str, value: OsString| words.extend([OsString::from(name), value]);
        option("--name", self.name.into());
        option("--security-opt", assignment("seccomp", self.filter.as_os_str()));
        if sandbox.network.ports().is_some() {
            option("--network", "none".into());
        }
        let most = sandbox.max_processes.number().map_or_else(|| "-1".to_owned(), |most| most.to_string());
        option("--pids-limit", most.into());
        option("--memory", format!("{}m", container.max_memory_mb).into());
        for (limit, value) in [("core", 0), ("fsize", MAX_SANDBOXED_FILE_BYTES), ("nofile", MAX_OPEN_FILES)] {
            option("--ulimit", format!("{limit}={value}:{value}").into());
        }
        if let (ContainerEngine::Podman, Some(most)) = (container.engine, self.max_user_processes) {
            // The default of Podman can be higher than its own limit, which needs `CAP_SYS_RESOURCE`.
            option("--ulimit", format!("nproc={most}:{most}").into());
        }
        let (user, group) = self.user;
        option("--user", format!("{user}:{group}").into());
        if container.engine == ContainerEngine::Podman && user != 0 {
            // Without it, the files of this user belong to root of the container.
            option("--userns", "keep-id".into());
        }
        for (path, is_written) in self.mounts() {
            option("--mount", mount(&path, is_written)?);
        }
        if let Some(cwd) = self.cwd {
            option("--workdir", cwd.into());
        }
        for (name, value) in self.variables {
            option("--env", if is_by_value(name) { assignment(name, value) } else { name.into() });
        }
        option("--entrypoint", self.program.into());
        words.push(container.image.as_str().into());
        words.extend(self.arguments.iter().map(OsString::from));
        Ok(words)
    }

    /// Returns the mounted files and folders, in the order of their paths, and whether each is written. None is below one
    /// that gives the same or more.
    fn mounts(&self) -> BTreeMap<PathBuf, bool> {
        let written = self.sandbox.write.iter().chain([&self.sandbox.home]);
        let mut mounts: BTreeMap<PathBuf, bool> = written.map(|path| (path.clone(), true)).collect();
        for path in self.sandbox.read.iter().map(PathBuf::as_path).chain(self.cwd) {
            if !mounts.keys().any(|mounted| path.starts_with(mounted)) {
                mounts.insert(path.to_owned(), false);
            }
        }
        mounts
    }
}

/// Returns true if a program in a container inherits this variable.
pub(super) fn is_inherited(name: &str) -> bool {
    INHERITED.contains(&name) || PROXY_ENVIRONMENT.contains(&name)
}

/// Returns true if a variable of a program would change the client of the engine. Its value is then in the command line, while
/// those of all others stay out of it.
pub(super) fn is_by_value(name: &str) -> bool {
    CLIENT_VARIABLES.contains(&name)
        || RUNTIME_VARIABLES.contains(&name)
        || LOADER_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || [MARK_VARIABLE, DEPTH_VARIABLE].contains(&name)
}

fn assignment(name: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(name);
    word.push("=");
    word.push(value);
    word
}

/// Returns the value of `--mount` for a path, which is the same in the container.
fn mount(path: &Path, is_written: bool) -> Result<OsString, Error> {
    if path.as_os_str().as_encoded_bytes().iter().any(|byte| b",\"\n\r".contains(byte)) {
        return Err(unavailable(format!(
            "{} cannot be mounted in a container: its path contains a comma, a quotation mark or a line break; rename it",
            path.display()
        )));
    }
    let mut word = OsString::from("type=bind,source=");
    word.push(path);
    word.push(",target=");
    word.push(path);
    if !is_written {
        word.push(",readonly");
    }
    Ok(word)
}
