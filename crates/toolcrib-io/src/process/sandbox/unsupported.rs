//! A replacement for `start` and `launcher` on systems without a backend.

use std::ffi::OsString;

use super::{Sandbox, unavailable};
use crate::Error;

/// The message for an operator of such a system.
const UNSUPPORTED: &str = "`sandbox` needs Linux, and is not supported on this system; remove it, or run the program in a \
                           container";

/// A limit, which this system does not have.
#[cfg(unix)]
pub(crate) type UnsupportedLimit = std::convert::Infallible;
#[cfg(unix)]
pub(crate) use UnsupportedLimit as ResourceLimit;

/// A started program, which this system does not have.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct UnsupportedLauncher {
    pub(crate) command: std::process::Command,
    pub(crate) limit: Option<UnsupportedLimit>,
}

#[cfg(unix)]
pub(crate) use UnsupportedLauncher as Prepared;

#[cfg(unix)]
impl Sandbox {
    /// Returns an error.
    pub(crate) fn prepare(
        &self,
        _command: &super::super::Command,
        _path: &std::path::Path,
        _variables: std::collections::BTreeMap<String, OsString>,
    ) -> Result<UnsupportedLauncher, Error> {
        Err(unavailable(UNSUPPORTED))
    }
}

/// Returns an error.
pub(super) fn check(_sandbox: &Sandbox) -> Result<(), Error> {
    Err(unavailable(UNSUPPORTED))
}

/// Returns the error of a launcher.
pub(super) fn run(_arguments: impl Iterator<Item = OsString>) -> String {
    UNSUPPORTED.to_owned()
}
