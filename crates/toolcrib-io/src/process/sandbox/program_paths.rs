//! The files that programs need to run at all: libraries, interpreters, and what of `/etc`, `/dev` and `/proc` is harmless.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of installed programs.
const PROGRAM_FOLDERS: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store"];

/// The files of `/etc` that programs read and that contain no secrets.
const SETTINGS: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/crypto-policies",
    "/etc/gai.conf",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
    "/run/systemd/resolve",
];

/// Files of the kernel that describe the machine, without the processes of others.
#[cfg(target_os = "linux")]
const MACHINE: &[&str] = &[
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys",
    "/proc/uptime",
    "/proc/version",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
];

/// The devices that every program can have.
#[cfg(target_os = "linux")]
pub(super) const DEVICES: &[&str] = &["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];

/// The folders next to a folder of programs that these load their parts from. Others, such as `share`, may contain data of
/// the user: `~/.local/bin` is a folder of programs too.
const NEXT_TO_PROGRAMS: &[&str] = &["lib", "lib32", "lib64", "libexec", "version", "versions"];

/// The file that makes a folder an environment of Python.
const PYTHON_ENVIRONMENT: &str = "pyvenv.cfg";

/// Returns the existing files and folders that a program needs, with those around itself and the programs of its search
/// path.
pub(super) fn needed(program: &Path, search_path: Option<&OsStr>) -> Vec<PathBuf> {
    let fixed = PROGRAM_FOLDERS.iter().chain(SETTINGS).map(PathBuf::from);
    let searched = search_path.into_iter().flat_map(std::env::split_paths);
    // The folders that the program's links lead through, each with the parts of a program.
    let around = links(program).into_iter().filter_map(|file| file.parent().map(Path::to_owned));
    let folders =
        searched.filter(|folder| folder.is_absolute()).chain(around).flat_map(|folder| with_parts(&folder));
    let mut paths: Vec<PathBuf> =
        fixed.chain(folders).chain([program.to_owned()]).filter(|path| path.exists()).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Returns the files that the kernel makes for the process with this id, and of the machine.
#[cfg(target_os = "linux")]
pub(super) fn of_kernel(process: u32) -> Vec<PathBuf> {
    let own = PathBuf::from(format!("/proc/{process}"));
    MACHINE.iter().map(PathBuf::from).chain([own]).filter(|path| path.exists()).collect()
}

/// The longest chain of links that is followed, as in Linux.
const MAX_LINKS: usize = 40;

/// Returns the path of a program, and the paths that its links lead to.
fn links(program: &Path) -> Vec<PathBuf> {
    let mut paths = vec![program.to_owned()];
    while paths.len() < MAX_LINKS
        && let Some(last) = paths.last()
        && let Ok(target) = fs::read_link(last)
    {
        let folder = last.parent().unwrap_or(Path::new("/"));
        paths.push(folder.join(target));
    }
    paths.extend(program.canonicalize());
    paths
}

/// Returns a folder of programs, and the folders next to it that they load their parts from.
fn with_parts(folder: &Path) -> Vec<PathBuf> {
    let mut paths = vec![folder.to_owned()];
    if let Some(above) = folder.parent().filter(|above| above.parent().is_some()) {
        paths.extend(NEXT_TO_PROGRAMS.iter().map(|name| above.join(name)));
        paths.push(above.join(PYTHON_ENVIRONMENT));
    }
    // A package of Node: its program imports from the folders of packages above it.
    let packages =
        folder.ancestors().find(|above| above.file_name().is_some_and(|name| name == "node_modules"));
    paths.extend(packages.map(Path::to_owned));
    paths
}
