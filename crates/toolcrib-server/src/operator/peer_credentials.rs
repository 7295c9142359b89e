//! The check of connecting programs: they must belong to the same user, and must not be started by the model, if the
//! system shows it.
//!
//! On Linux a program is refused if it descends from this process, if it carries the mark of a tool's program, or, over
//! standard input and output, if it descends from the client. This keeps a model from answering its own calls with its
//! tools. It is not a security boundary: a program that has left the process tree and removed the mark from its
//! environment looks like any other.

use std::io;

use tokio::net::UnixStream;
use tokio::net::unix::UCred;

use super::socket_directory::own_user;

/// The reason for refusing a program of another user.
const FOREIGN: &str = "only the user who runs this process may answer";

/// The maximum number of ancestors of a process that are checked.
#[cfg(target_os = "linux")]
const MAX_ANCESTORS: usize = 1024;

/// The maximum size of the environment of a process that is read, in bytes. It exceeds the default maximum of Linux.
#[cfg(target_os = "linux")]
const MAX_ENVIRONMENT_BYTES: u64 = 8 * 1024 * 1024;

/// This process, which connecting programs are compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessIdentity {
    user: u32,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "ancestors are seen on Linux only"))]
    process: u32,
    /// The client that has started this process. Programs that it has started are refused.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "ancestors are seen on Linux only"))]
    client: Option<u32>,
}

impl ProcessIdentity {
    /// Identifies this process. If `has_client` is true, its parent is a client.
    pub(super) fn new(has_client: bool) -> io::Result<Self> {
        let parent = std::os::unix::process::parent_id();
        // The first process is the parent of all orphans.
        let client = (has_client && parent > 1).then_some(parent);
        Ok(Self { user: own_user()?, process: std::process::id(), client })
    }

    /// Returns the reason why the other side is refused, if it is.
    pub(super) fn refusal(&self, stream: &UnixStream) -> Option<&'static str> {
        let Ok(peer) = stream.peer_cred() else { return Some(FOREIGN) };
        if peer.uid() != self.user {
            return Some(FOREIGN);
        }
        self.refusal_of(peer)
    }

    #[cfg(not(target_os = "linux"))]
    fn refusal_of(&self, _peer: UCred) -> Option<&'static str> {
        None
    }

    #[cfg(target_os = "linux")]
    fn refusal_of(&self, peer: UCred) -> Option<&'static str> {
        const UNKNOWN: &str = "the program cannot be identified";
        let peer = peer.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0);
        let Some(peer) = peer else { return Some(UNKNOWN) };
        match processes::is_marked(peer) {
            Ok(false) => {}
            Ok(true) => return Some("a program that a tool has started may not answer"),
            Err(_) => return Some(UNKNOWN),
        }
        let mut process = peer;
        for _ in 0..MAX_ANCESTORS {
            if process == self.process {
                return Some("a program that this server has started may not answer");
            }
            if Some(process) == self.client {
                return Some(
                    "a program that the client has started may not answer; use a terminal outside of the client",
                );
            }
            match processes::parent(process) {
                // The first process, or one outside of this container.
                Ok(0) => return None,
                Ok(parent) => process = parent,
                Err(_) => return Some(UNKNOWN),
            }
        }
        Some(UNKNOWN)
    }
}

#[cfg(target_os = "linux")]
mod processes {
    use std::fs::{self, File};
    use std::io::{self, Read as _};

    use toolcrib_io::process::MARK_VARIABLE;

    use super::MAX_ENVIRONMENT_BYTES;

    /// Returns true if a process was started by a tool, or descends from one that was.
    pub(super) fn is_marked(process: u32) -> io::Result<bool> {
        let mut environment = Vec::new();
        File::open(format!("/proc/{process}/environ"))?
            .take(MAX_ENVIRONMENT_BYTES)
            .read_to_end(&mut environment)?;
        let mark = format!("{MARK_VARIABLE}=");
        Ok(environment.split(|byte| *byte == 0).any(|entry| entry.starts_with(mark.as_bytes())))
    }

    /// Returns the parent of a process, or 0 without a parent.
    pub(super) fn parent(process: u32) -> io::Result<u32> {
        let stat = fs::read(format!("/proc/{process}/stat"))?;
        // The name of the program, in parentheses, may contain any characters.
        let behind = stat.iter().rposition(|byte| *byte == b')').and_then(|at| stat.get(at + 1..));
        let fields = behind.and_then(|fields| std::str::from_utf8(fields).ok()).unwrap_or_default();
        let parent = fields.split_ascii_whitespace().nth(1).and_then(|field| field.parse().ok());
        parent.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no parent"))
    }
}
