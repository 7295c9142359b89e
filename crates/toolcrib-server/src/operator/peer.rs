//! Who comes in: a program of the same user, and none that the model has started, where that can be seen.
//!
//! On Linux a program is refused that descends from this process, that carries the mark of a tool's program, or, over standard
//! input and output, that descends from the client. That keeps a model from answering itself by the tools that it has. It is no
//! wall: a program that has left the tree of processes and taken the mark out of its environment looks like any other.

use std::io;

use tokio::net::UnixStream;
use tokio::net::unix::UCred;

use super::place::own_user;

/// Why somebody is refused.
const FOREIGN: &str = "only the user whose process this is answers";

/// The most ancestors of a process that are looked at.
#[cfg(target_os = "linux")]
const MAX_ANCESTORS: usize = 1024;

/// The most bytes of the environment of a process that are looked at; more than Linux lets a program have unless it is told to.
#[cfg(target_os = "linux")]
const MAX_ENVIRONMENT_BYTES: u64 = 8 * 1024 * 1024;

/// This process, as those who come in are compared with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    user: u32,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "ancestors are seen on Linux only"))]
    process: u32,
    /// The client that has started it, and whose programs do not answer.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "ancestors are seen on Linux only"))]
    client: Option<u32>,
}

impl Own {
    /// `has_client` is whether the parent of this process is a client.
    pub(super) fn new(has_client: bool) -> io::Result<Self> {
        let parent = std::os::unix::process::parent_id();
        // The first process is the parent of all whose own has died.
        let client = (has_client && parent > 1).then_some(parent);
        Ok(Self { user: own_user()?, process: std::process::id(), client })
    }

    /// Why the other side is refused, if it is.
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
        const UNKNOWN: &str = "it cannot be seen which program this is";
        let peer = peer.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0);
        let Some(peer) = peer else { return Some(UNKNOWN) };
        match processes::is_marked(peer) {
            Ok(false) => {}
            Ok(true) => return Some("a program that a tool has started does not answer"),
            Err(_) => return Some(UNKNOWN),
        }
        let mut process = peer;
        for _ in 0..MAX_ANCESTORS {
            if process == self.process {
                return Some("a program that this server has started does not answer");
            }
            if Some(process) == self.client {
                return Some(
                    "a program that the client has started does not answer; use a terminal outside of the client",
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

    /// Whether a process was started by a tool, or descends from one that was.
    pub(super) fn is_marked(process: u32) -> io::Result<bool> {
        let mut environment = Vec::new();
        File::open(format!("/proc/{process}/environ"))?
            .take(MAX_ENVIRONMENT_BYTES)
            .read_to_end(&mut environment)?;
        let mark = format!("{MARK_VARIABLE}=");
        Ok(environment.split(|byte| *byte == 0).any(|entry| entry.starts_with(mark.as_bytes())))
    }

    /// The parent of a process; 0 is none.
    pub(super) fn parent(process: u32) -> io::Result<u32> {
        let stat = fs::read(format!("/proc/{process}/stat"))?;
        // The name of the program, in parentheses, may hold anything.
        let behind = stat.iter().rposition(|byte| *byte == b')').and_then(|at| stat.get(at + 1..));
        let fields = behind.and_then(|fields| std::str::from_utf8(fields).ok()).unwrap_or_default();
        let parent = fields.split_ascii_whitespace().nth(1).and_then(|field| field.parse().ok());
        parent.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no parent"))
    }
}
