//! Third-party test peers: MCP servers, MCP clients, the TypeScript compiler, a model server, SDKs of model vendors,
//! readers of training data, and ONNX Runtime.
//!
//! They are installed under `TOOLCRIB_PEERS` and start as
//! - `$TOOLCRIB_PEERS/npm/node_modules/.bin/mcp-server-everything stdio`
//! - `$TOOLCRIB_PEERS/npm/node_modules/.bin/tsc --noEmit`
//! - `PYTHONPATH=$TOOLCRIB_PEERS/python python3 -m mcp_server_time`
//! - `PYTHONPATH=$TOOLCRIB_PEERS/python python3 tests/peers/mcp_client.py …`
//! - `$TOOLCRIB_PEERS/clients/node_modules/.bin/node tests/peers/typescript_client.mjs …`
//! - `$TOOLCRIB_PEERS/clients/node_modules/.bin/node tests/peers/app_host.mjs $TOOLCRIB_PEERS/clients/node_modules URL`
//! - `$TOOLCRIB_PEERS/clients/node_modules/.bin/node tests/peers/browser.mjs chromium PROFILE`, with the script
//!   `$TOOLCRIB_PEERS/axe/node_modules/axe-core/axe.min.js`
//! - `PYTHONPATH=$TOOLCRIB_PEERS/model_sdks python3 tests/peers/model_sdks.py …`
//! - `PYTHONPATH=$TOOLCRIB_PEERS/llama python3 tests/peers/llama_server.py MODEL`
//! - `PYTHONPATH=$TOOLCRIB_PEERS/training_data python3 tests/peers/training_data.py FORMAT FILE`
//! - `PYTHONPATH=$TOOLCRIB_PEERS/bfcl python3 tests/peers/bfcl.py QUESTIONS ANSWERS CALLS`
//!
//! `pytest` runs the tests of the project's Python package. `ORT_DYLIB_PATH` names the ONNX Runtime library.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use crate::install::{Manager, Packages};

const PEERS: &[Packages] = &[
    Packages { name: "npm", manager: Manager::Npm },
    Packages { name: "clients", manager: Manager::Npm },
    Packages { name: "axe", manager: Manager::Npm },
    Packages { name: "python", manager: Manager::Pip },
    Packages { name: "llama", manager: Manager::PipAlone },
    Packages { name: "model_sdks", manager: Manager::Pip },
    Packages { name: "pytest", manager: Manager::Pip },
    Packages { name: "training_data", manager: Manager::Pip },
    Packages { name: "bfcl", manager: Manager::PipAlone },
    Packages { name: "onnxruntime", manager: Manager::PipAlone },
];

/// Installs the missing peers in parallel, and returns those that cannot be installed, each with the reason.
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

/// Returns the ONNX Runtime library among the peers.
pub(crate) fn onnx_runtime(folder: &Path) -> Option<PathBuf> {
    let start = format!("{}onnxruntime.", std::env::consts::DLL_PREFIX);
    let entries = fs::read_dir(folder.join("onnxruntime/onnxruntime/capi")).ok()?;
    let mut files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    files.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start)))
}
