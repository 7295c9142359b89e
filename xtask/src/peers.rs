//! The outside peers that integration tests talk to: MCP servers that others have written.
//!
//! They are installed under `TOOLCRIB_PEERS` and start as
//! - `$TOOLCRIB_PEERS/npm/node_modules/.bin/mcp-server-everything stdio`
//! - `PYTHONPATH=$TOOLCRIB_PEERS/python python3 -m mcp_server_time`

use std::path::Path;
use std::thread;

use crate::install::{Manager, Packages};

const PEERS: &[Packages] =
    &[Packages { name: "npm", manager: Manager::Npm }, Packages { name: "python", manager: Manager::Pip }];

/// Installs the peers that are not there yet, side by side, and returns those that cannot be, each with the reason.
pub(crate) fn install_all(root: &Path, folder: &Path) -> Vec<String> {
    let install = |packages: &'static Packages| {
        packages.install(root, folder).err().map(|error| format!("the {} peers ({error:#})", packages.name))
    };
    thread::scope(|scope| {
        let started: Vec<_> = PEERS.iter().map(|packages| scope.spawn(move || install(packages))).collect();
        let ended =
            started.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Some("a panic".to_owned())));
        ended.flatten().collect()
    })
}
