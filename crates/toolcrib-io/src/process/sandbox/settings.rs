//! The setting `sandbox` of app files.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::num::{NonZeroU16, NonZeroU32};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Backend, Sandbox, unavailable};
use crate::Error;
use crate::files::cache_folder;

/// The default of `max_processes`.
pub(crate) const DEFAULT_MAX_PROCESSES: u32 = 256;

/// The default of `max_memory_mb`.
pub(crate) const DEFAULT_MAX_MEMORY_MB: u32 = 2048;

/// The longest name of a program in the name of its home directory, in characters.
const MAX_NAME_CHARS: usize = 40;

/// The files and the network that a program can reach, before settings widen them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SandboxProfile {
    /// It reads the workspace, writes only its home directory, and has no network.
    ReadOnly,
    /// It writes the workspace, and has no network.
    Offline,
    /// It writes the workspace, and has the network.
    Workspace,
}

/// The means that restrict files and processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SandboxBackend {
    /// That of the system: Landlock of Linux, or Seatbelt of macOS.
    #[default]
    Kernel,
    /// Namespaces of Linux, which the program `bwrap` sets up.
    Bubblewrap,
    /// A container for each start, by `docker`.
    Docker,
    /// A container for each start, by `podman`.
    Podman,
}

/// The processes that a program can send signals to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SignalScope {
    /// Those of its sandbox. With the backend `kernel` of Linux it needs version 6.12.
    #[default]
    Inside,
    /// All of its user.
    Any,
}

/// The network that a program can reach.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "`network` is `none`, `all`, or a list of TCP ports to connect to, as `[443]`")]
pub enum SandboxNetwork {
    /// None, or all of it.
    Word(NetworkWord),
    /// Connections to these TCP ports of any host.
    Ports(Vec<NonZeroU16>),
}

/// A word for a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkWord {
    /// No sockets.
    None,
    /// TCP and UDP, connections and servers.
    All,
}

/// The processes and threads that a program can have at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "`max_processes` is a number from 1, or `unlimited`")]
pub enum ProcessLimit {
    /// This number.
    Limit(NonZeroU32),
    /// Any number.
    Word(UnlimitedWord),
}

/// A word for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnlimitedWord {
    /// No limit.
    Unlimited,
}

impl Default for ProcessLimit {
    fn default() -> Self {
        Self::Limit(NonZeroU32::MIN.saturating_add(DEFAULT_MAX_PROCESSES - 1))
    }
}

impl ProcessLimit {
    /// Returns the number, if there is a limit.
    pub fn number(self) -> Option<u32> {
        match self {
            Self::Limit(limit) => Some(limit.get()),
            Self::Word(UnlimitedWord::Unlimited) => None,
        }
    }
}

impl SandboxNetwork {
    pub(super) fn none() -> Self {
        Self::Word(NetworkWord::None)
    }

    /// Returns the ports, if only some can be reached.
    pub(super) fn ports(&self) -> Option<Vec<u16>> {
        match self {
            Self::Word(NetworkWord::All) => None,
            Self::Word(NetworkWord::None) => Some(Vec::new()),
            Self::Ports(ports) => Some(ports.iter().map(|port| port.get()).collect()),
        }
    }

    pub(super) fn and_ports(self, allowed: &[u16]) -> Self {
        let kept = match self.ports() {
            None => allowed.to_vec(),
            Some(ports) => ports.into_iter().filter(|port| allowed.contains(port)).collect(),
        };
        Self::Ports(kept.into_iter().filter_map(NonZeroU16::new).collect())
    }
}

/// The setting `sandbox`: the name of a profile, or a mapping.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "`sandbox` is `read-only`, `offline`, `workspace`, or a mapping with `profile`, and `backend`, `image`, \
                 `read`, `write`, `network`, `signals`, `max_processes`, `max_memory_mb`"
)]
#[non_exhaustive]
pub enum SandboxSettings {
    /// A profile.
    Profile(SandboxProfile),
    /// A profile with changes.
    Settings(WidenedProfile),
}

/// A profile, and the settings that differ from it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WidenedProfile {
    profile: SandboxProfile,
    #[serde(default)]
    backend: SandboxBackend,
    /// The image of the container, with `backend: docker` or `podman`. It is never downloaded.
    image: Option<String>,
    /// More files and folders that the program can read and run.
    #[serde(default)]
    read: Vec<String>,
    /// More files and folders that it can write.
    #[serde(default)]
    write: Vec<String>,
    /// The network, if it is not that of the profile.
    network: Option<SandboxNetwork>,
    #[serde(default)]
    signals: SignalScope,
    #[serde(default)]
    max_processes: ProcessLimit,
    /// The memory of the container, in megabytes; 2048 by default.
    max_memory_mb: Option<NonZeroU32>,
}

/// The app that a sandbox belongs to.
#[derive(Clone, Copy, Debug)]
pub struct SandboxPlace<'a> {
    /// The name of the source, which its home directory gets.
    pub name: &'a str,
    /// The folder that paths are relative to.
    pub folder: &'a Path,
    /// The folder that the tools of the app work in.
    pub workspace: &'a Path,
    /// Files that no tool may change, as the app file.
    pub protected: &'a [PathBuf],
    /// The access that programs have at most, each a further limit.
    pub access: &'a [SandboxAccess],
}

/// The access that a program has at most.
#[derive(Clone, Debug, Default)]
pub struct SandboxAccess {
    /// The TCP ports; any if `None`.
    pub(super) ports: Option<Vec<u16>>,
    /// The files and folders that are read, and those that are written as well; any if `None`.
    pub(super) files: Option<[Vec<PathBuf>; 2]>,
}

impl SandboxAccess {
    /// Creates a limit of these ports, and of files that are read and of files that are written; `None` limits nothing.
    pub fn new(ports: Option<Vec<u16>>, read: Option<Vec<&str>>, write: Option<Vec<&str>>) -> Self {
        let paths = |paths: Vec<&str>| paths.into_iter().map(PathBuf::from).collect();
        let files = match (read, write) {
            (None, None) => None,
            (read, write) => Some([paths(read.unwrap_or_default()), paths(write.unwrap_or_default())]),
        };
        Self { ports, files }
    }
}

impl SandboxSettings {
    /// Returns the sandbox, after a check that this system can enforce it.
    ///
    /// # Errors
    ///
    /// Fails if a path does not exist, if the program could write a protected file, or if the system lacks what the
    /// sandbox needs.
    pub fn open(&self, place: &SandboxPlace<'_>) -> Result<Sandbox, Error> {
        let widened = match self {
            Self::Profile(profile) => WidenedProfile::new(*profile),
            Self::Settings(settings) => settings.clone(),
        };
        let backend = widened.backend()?;
        let workspace = real(place.workspace, "the workspace")?;
        let path = |path: &String| real(&place.folder.join(path), &format!("`{path}` of `sandbox`"));
        let mut read = widened.read.iter().map(path).collect::<Result<Vec<_>, _>>()?;
        let mut write = widened.write.iter().map(path).collect::<Result<Vec<_>, _>>()?;
        match widened.profile {
            SandboxProfile::ReadOnly => read.push(workspace),
            SandboxProfile::Offline | SandboxProfile::Workspace => write.push(workspace),
        }
        let network = widened.network.unwrap_or(match widened.profile {
            SandboxProfile::ReadOnly | SandboxProfile::Offline => SandboxNetwork::none(),
            SandboxProfile::Workspace => SandboxNetwork::Word(NetworkWord::All),
        });
        for file in place.protected {
            let Ok(file) = file.canonicalize() else { continue };
            if let Some(folder) = write.iter().find(|folder| file.starts_with(folder)) {
                return Err(unavailable(format!(
                    "the program could change {}, since it can write {}; set `app.workspace` to a separate folder, or \
                     the profile to `read-only`",
                    file.display(),
                    folder.display()
                )));
            }
        }
        let mut sandbox = Sandbox {
            backend,
            home: home(place)?,
            read,
            write,
            network,
            signals: widened.signals,
            max_processes: widened.max_processes,
            can_change_modes: widened.profile != SandboxProfile::ReadOnly,
        };
        for access in place.access {
            sandbox = sandbox.narrowed(access, place.workspace);
        }
        sandbox.check()?;
        Ok(sandbox)
    }
}

impl WidenedProfile {
    fn new(profile: SandboxProfile) -> Self {
        Self {
            profile,
            backend: SandboxBackend::default(),
            image: None,
            read: Vec::new(),
            write: Vec::new(),
            network: None,
            signals: SignalScope::default(),
            max_processes: ProcessLimit::default(),
            max_memory_mb: None,
        }
    }

    /// Returns the backend, if the settings for containers fit it.
    fn backend(&self) -> Result<Backend, Error> {
        let backend = match self.backend {
            SandboxBackend::Kernel => Backend::Kernel,
            SandboxBackend::Bubblewrap => Backend::Bubblewrap,
            SandboxBackend::Docker | SandboxBackend::Podman => return self.container(),
        };
        let of_container = [("image", self.image.is_some()), ("max_memory_mb", self.max_memory_mb.is_some())];
        match of_container.into_iter().find(|(_, is_set)| *is_set) {
            Some((name, _)) => Err(unavailable(format!(
                "`{name}` is a setting of containers; set `backend: docker` or `backend: podman`, or remove it"
            ))),
            None => Ok(backend),
        }
    }

    #[cfg(unix)]
    fn container(&self) -> Result<Backend, Error> {
        use super::container::{Container, ContainerEngine};

        let engine = match self.backend {
            SandboxBackend::Podman => ContainerEngine::Podman,
            _ => ContainerEngine::Docker,
        };
        let name = engine.program();
        let image = self.image.clone().ok_or_else(|| {
            unavailable(format!(
                "`backend: {name}` needs an `image`, such as `docker.io/library/node:22-slim`"
            ))
        })?;
        if image.is_empty() || image.starts_with('-') || image.contains(char::is_whitespace) {
            return Err(unavailable(format!("`{image}` is not the name of an image")));
        }
        if self.signals == SignalScope::Any {
            return Err(unavailable(format!(
                "a program in a container of `{name}` signals only processes of the container; remove `signals: any`"
            )));
        }
        let max_memory_mb = self.max_memory_mb.map_or(DEFAULT_MAX_MEMORY_MB, NonZeroU32::get);
        Ok(Backend::Container(Container { engine, image, max_memory_mb }))
    }

    #[cfg(not(unix))]
    fn container(&self) -> Result<Backend, Error> {
        Err(unavailable("programs are not started on this system"))
    }
}

/// Returns the path without symlinks: rules apply to what paths lead to.
fn real(path: &Path, name: &str) -> Result<PathBuf, Error> {
    path.canonicalize()
        .map_err(|error| unavailable(format!("{name} cannot be opened: {}: {error}", path.display())))
}

/// Returns the home directory of a program: one for each source of each app, in the folder of caches.
fn home(place: &SandboxPlace<'_>) -> Result<PathBuf, Error> {
    let folder = cache_folder("sandbox").ok_or_else(|| {
        unavailable(
            "there is no folder for its home directory; set `HOME`, or `XDG_CACHE_HOME` to an absolute path",
        )
    })?;
    let app = place.folder.canonicalize().unwrap_or_else(|_| place.folder.to_owned());
    let mut hasher = DefaultHasher::new();
    (app, place.name).hash(&mut hasher);
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || *c == '_' || *c == '-';
    let name: String = place.name.chars().filter(is_plain).take(MAX_NAME_CHARS).collect();
    Ok(folder.join(format!("{name}-{:016x}", hasher.finish())))
}
