//! Loading of ONNX Runtime, once per process.

use std::path::Path;

use parking_lot::Mutex;

use crate::embedding::{EmbedError, RuntimeLibrary, runtime_libraries};

/// The library that was loaded. A process cannot load another one.
static LOADED: Mutex<Option<RuntimeLibrary>> = Mutex::new(None);

/// Loads the first library that works: those that [`runtime_libraries`] finds, and then the one that the system's
/// loader finds by its usual name. The error lists the cause for each of them.
pub fn load_library(cache: Option<&Path>) -> Result<RuntimeLibrary, EmbedError> {
    let mut loaded = LOADED.lock();
    if let Some(library) = &*loaded {
        return Ok(library.clone());
    }
    if cfg!(not(feature = "fastembed")) {
        let library = RuntimeLibrary { path: "onnxruntime".into(), place: "a part of the program" };
        return Ok(loaded.insert(library).clone());
    }
    if cfg!(target_env = "musl") {
        let message =
            "this program is static, and loads no libraries; use the tier `model`, or a program for glibc";
        return Err(EmbedError::Library { message: message.into() });
    }
    let mut found = runtime_libraries(cache);
    let is_anywhere = !found.is_empty();
    if !is_anywhere {
        let usual = format!("{}onnxruntime{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        found.push(RuntimeLibrary { path: usual.into(), place: "the system's loader" });
    }
    let mut reasons = Vec::new();
    if !is_anywhere {
        reasons.push(
            "it was not found next to the program, in the cache folder, in the system's library path or in a Python \
             environment"
                .to_owned(),
        );
    }
    for library in found {
        match try_load(&library.path) {
            Ok(()) => return Ok(loaded.insert(library).clone()),
            Err(reason) => reasons.push(format!("{} ({}): {reason}", library.path.display(), library.place)),
        }
    }
    reasons.push("set ORT_DYLIB_PATH to its library".into());
    Err(EmbedError::Library { message: reasons.join("; ") })
}

#[cfg(feature = "fastembed")]
fn try_load(path: &Path) -> Result<(), String> {
    // The crate panics on a library that exports the expected symbol but does not provide the API.
    let loading =
        std::panic::catch_unwind(|| ort::init_from(path).map(drop).map_err(|error| error.to_string()));
    loading.unwrap_or_else(|_| Err("it is not ONNX Runtime".into()))
}

#[cfg(not(feature = "fastembed"))]
fn try_load(_: &Path) -> Result<(), String> {
    Ok(())
}
