//! Seatbelt, the sandbox of macOS, by the program `sandbox-exec`. The profile that it reads is written on every system.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{MAX_OPEN_FILES, MAX_SANDBOXED_FILE_BYTES, Sandbox, SignalScope, unavailable};
use crate::Error;

/// The program that applies a profile.
const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// The shell that limits resources before.
#[cfg(target_os = "macos")]
const SHELL: &str = "/bin/sh";

/// The unit of the shell's limit of the size of files, in bytes.
const BLOCK_BYTES: u64 = 512;

/// The files of programs and libraries, and of settings without secrets.
const SYSTEM: &[&str] = &[
    "/Applications/Xcode.app",
    "/Library/Apple",
    "/Library/Developer",
    "/Library/Frameworks",
    "/Library/Preferences/Logging",
    "/System",
    "/bin",
    "/opt",
    "/private/etc/hosts",
    "/private/etc/localtime",
    "/private/etc/protocols",
    "/private/etc/resolv.conf",
    "/private/etc/services",
    "/private/etc/shells",
    "/private/etc/ssl",
    "/private/var/db/dyld",
    "/private/var/db/timezone",
    "/private/var/run/resolv.conf",
    "/sbin",
    "/usr",
];

/// The devices that every program can have.
const DEVICES: &[&str] = &["/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];

/// The services that the libraries of the system need: users, logs, and the state of the power.
const SERVICES: &[&str] = &[
    "com.apple.PowerManagement.control",
    "com.apple.logd",
    "com.apple.system.logger",
    "com.apple.system.notification_center",
    "com.apple.system.opendirectoryd.libinfo",
];

/// The services that resolve names and check certificates.
const NETWORK_SERVICES: &[&str] = &[
    "com.apple.SecurityServer",
    "com.apple.SystemConfiguration.DNSConfiguration",
    "com.apple.SystemConfiguration.configd",
    "com.apple.networkd",
    "com.apple.ocspd",
    "com.apple.trustd.agent",
];

/// The socket of the resolver of names.
const RESOLVER: &str = "/private/var/run/mDNSResponder";

/// A profile in the language of Seatbelt.
struct SeatbeltProfile(String);

impl SeatbeltProfile {
    /// Adds a rule for the values of a filter, if there are any.
    fn allow<'a>(
        &mut self,
        operations: &str,
        filter: &str,
        values: impl Iterator<Item = &'a Path>,
    ) -> Result<(), Error> {
        let mut filters = String::new();
        for value in values {
            let _ = write!(filters, "\n  ({filter} {})", quoted(value)?);
        }
        if !filters.is_empty() {
            let _ = writeln!(self.0, "(allow {operations}{filters})");
        }
        Ok(())
    }
}

/// Returns the profile of a program that also reads these files and folders, which are those around itself.
pub(super) fn profile(sandbox: &Sandbox, needed: &[PathBuf]) -> Result<String, Error> {
    let mut profile = SeatbeltProfile(
        "(version 1)\n\
         (deny default)\n\
         (allow process-exec)\n\
         (allow process-fork)\n\
         (allow process-info* (target same-sandbox))\n\
         (allow sysctl-read)\n\
         (allow ipc-posix-sem)\n\
         (allow file-read-metadata)\n\
         (allow file-read-data (literal \"/\"))\n"
            .to_owned(),
    );
    profile.0.push_str(match sandbox.signals {
        SignalScope::Inside => "(allow signal (target same-sandbox))\n",
        SignalScope::Any => "(allow signal)\n",
    });
    let paths = |texts: &'static [&'static str]| texts.iter().map(Path::new);
    let written = || sandbox.write.iter().chain([&sandbox.home]).map(PathBuf::as_path);
    let read = sandbox.read.iter().chain(needed).map(PathBuf::as_path);
    profile.allow("file-read* file-map-executable", "subpath", paths(SYSTEM).chain(read).chain(written()))?;
    profile.allow("file-write*", "subpath", written())?;
    profile.allow("file-read* file-write-data", "literal", paths(DEVICES))?;
    profile.allow("mach-lookup", "global-name", paths(SERVICES))?;
    match sandbox.network.ports() {
        None => profile.0.push_str("(allow network* (remote ip) (local ip))\n"),
        Some(ports) => {
            for port in &ports {
                let _ = writeln!(profile.0, "(allow network-outbound (remote tcp \"*:{port}\"))");
            }
        }
    }
    if sandbox.network.ports().is_none_or(|ports| !ports.is_empty()) {
        profile.allow("network-outbound", "literal", std::iter::once(Path::new(RESOLVER)))?;
        profile.allow("mach-lookup", "global-name", paths(NETWORK_SERVICES))?;
        profile.0.push_str("(allow system-socket)\n");
    }
    Ok(profile.0)
}

/// Returns a text of a profile.
fn quoted(path: &Path) -> Result<String, Error> {
    let text = path.to_str().filter(|text| !text.contains(char::is_control)).ok_or_else(|| {
        unavailable(format!(
            "{} cannot be named to Seatbelt: its path is no plain text; rename it",
            path.display()
        ))
    })?;
    Ok(format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\"")))
}

/// Returns the words of the shell that limits resources and starts a program in a profile.
pub(super) fn words(
    sandbox: &Sandbox,
    profile: String,
    program: &Path,
    arguments: &[String],
) -> Vec<OsString> {
    let mut script = format!(
        "ulimit -c 0 && ulimit -f {} && ulimit -n {MAX_OPEN_FILES}",
        MAX_SANDBOXED_FILE_BYTES / BLOCK_BYTES
    );
    if let Some(most) = sandbox.max_processes.number() {
        // The limit of the system counts all processes of a user.
        let _ = write!(
            script,
            " && count=$(/bin/ps -U \"$(/usr/bin/id -u)\" -o pid= | /usr/bin/wc -l) && ulimit -u $((count + {most}))"
        );
    }
    let _ = write!(script, " && exec {SANDBOX_EXEC} -p \"$@\"");
    let mut words: Vec<OsString> =
        vec!["-c".into(), script.into(), "toolcrib-sandbox".into(), profile.into()];
    words.push(program.into());
    words.extend(arguments.iter().map(OsString::from));
    words
}

#[cfg(target_os = "macos")]
mod system {
    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};
    use std::process;

    use super::{SANDBOX_EXEC, SHELL, profile, words};
    use crate::Error;
    use crate::process::Command;
    use crate::process::sandbox::prepared::Prepared;
    use crate::process::sandbox::{Backend, Sandbox, program_paths, unavailable};

    /// Checks that this system can enforce the sandbox.
    pub(in crate::process::sandbox) fn check(sandbox: &Sandbox) -> Result<(), Error> {
        if sandbox.backend == Backend::Bubblewrap {
            return Err(unavailable("`backend: bubblewrap` needs Linux; set `backend: kernel`"));
        }
        if !Path::new(SANDBOX_EXEC).is_file() {
            return Err(unavailable(format!(
                "`backend: kernel` needs {SANDBOX_EXEC}, which this version of macOS lacks; set `backend: docker` or \
                 `backend: podman` with an `image`"
            )));
        }
        profile(sandbox, &[]).map(drop)
    }

    /// Returns the shell that starts a program, which is at a path and has these variables.
    pub(in crate::process::sandbox) fn prepare(
        sandbox: &Sandbox,
        command: &Command,
        path: &Path,
        variables: &BTreeMap<String, OsString>,
    ) -> Result<Prepared, Error> {
        let search_path = variables.get("PATH").map(OsString::as_os_str);
        let needed = program_paths::needed(path, search_path).into_iter().chain(command.cwd.clone());
        // Rules apply to what paths lead to.
        let needed: Vec<PathBuf> = needed.filter_map(|path| path.canonicalize().ok()).collect();
        let arguments = command.argv.get(1..).unwrap_or_default();
        let mut shell = process::Command::new(SHELL);
        shell.args(words(sandbox, profile(sandbox, &needed)?, path, arguments)).env_clear().envs(variables);
        Ok(Prepared { command: shell, limit: None, is_marked: true })
    }
}

#[cfg(target_os = "macos")]
pub(super) use system::{check, prepare};
