//! A replacement for `start` and `launcher` on systems with containers alone.

use std::ffi::OsString;

/// The message for an operator of such a system.
const UNSUPPORTED: &str = "`backend: kernel` and `bubblewrap` do not exist on this system; set `backend: docker` or \
                           `backend: podman` with an `image`, or remove `sandbox`";

/// Returns an error.
#[cfg(not(target_os = "macos"))]
pub(super) fn check(_sandbox: &super::Sandbox) -> Result<(), crate::Error> {
    Err(super::unavailable(UNSUPPORTED))
}

/// Returns an error.
#[cfg(all(unix, not(target_os = "macos")))]
pub(super) fn prepare(
    _sandbox: &super::Sandbox,
    _command: &crate::process::Command,
    _path: &std::path::Path,
    _variables: &std::collections::BTreeMap<String, OsString>,
) -> Result<super::Prepared, crate::Error> {
    Err(super::unavailable(UNSUPPORTED))
}

/// Returns the error of a launcher.
pub(super) fn run(_arguments: impl Iterator<Item = OsString>) -> String {
    UNSUPPORTED.to_owned()
}
