//! A terminal, and whoever sits at it.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::os::unix::ffi::OsStrExt as _;

use anyhow::Result;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// A pseudo-terminal. When its first side is closed, it is as if the terminal had gone.
#[derive(Debug)]
#[non_exhaustive]
pub struct TestTerminal {
    /// The side of whoever sits there: what is written is typed, and what is read is on the screen.
    pub seat: File,
    /// The side of a program.
    pub terminal: File,
}

impl TestTerminal {
    /// Opens one. It does not become that of this process, as long as this leads no session.
    ///
    /// # Errors
    ///
    /// Where the system gives none.
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
