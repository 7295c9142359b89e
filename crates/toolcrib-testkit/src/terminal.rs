//! A pseudo-terminal for tests.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::os::unix::ffi::OsStrExt as _;

use anyhow::Result;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// A pseudo-terminal. Closing the user's side hangs up the terminal.
#[derive(Debug)]
#[non_exhaustive]
pub struct TestTerminal {
    /// The user's side: writes are typed input, and reads are the screen.
    pub seat: File,
    /// The program's side.
    pub terminal: File,
}

impl TestTerminal {
    /// Opens a pseudo-terminal. It does not become the controlling terminal of this process unless the process leads a
    /// session.
    ///
    /// # Errors
    ///
    /// Fails if the system has no free pseudo-terminal.
    pub fn open() -> Result<Self> {
        let seat = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&seat)?;
        unlockpt(&seat)?;
        let name = ptsname(&seat, Vec::new())?;
        let path = OsStr::from_bytes(name.as_bytes());
        let terminal = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(Self { seat: File::from(seat), terminal })
    }
}
