//! Where ONNX Runtime is looked for.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::runtime_library::LibrarySearchPaths;

/// The name of the library here, with something behind it.
fn library(version: &str) -> String {
    format!("{}onnxruntime{}{version}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
}

fn put(folder: &Path, name: &str) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(name), "").unwrap();
    folder.join(name)
}

#[test]
fn the_library_is_looked_for_in_every_place_in_order_and_the_newest_comes_first() {
    let root = tempfile::tempdir().unwrap();
    let folder = |name: &str| root.path().join(name);
    let package = folder("venv/lib/python3.11/site-packages/onnxruntime/capi");
    let mut around = LibrarySearchPaths {
        variable: None,
        program: Some(folder("bin")),
        cache: Some(folder("cache")),
        system: vec![folder("lib")],
        python: vec![folder("venv")],
    };
    assert_eq!(around.libraries(), []);

    let mut expected = vec![
        (put(&folder("bin"), &library("")), "next to the program"),
        (put(&folder("cache"), &library(".1.31.1")), "the cache folder"),
        (put(&folder("cache"), &library(".1.9.0")), "the cache folder"),
        (put(&folder("lib"), &library(".1.20.0")), "the system's library path"),
        (put(&package, &library(".1.31.1")), "a Python environment"),
    ];
    put(
        &package,
        &format!(
            "{}onnxruntime_providers_shared{}",
            std::env::consts::DLL_PREFIX,
            std::env::consts::DLL_SUFFIX
        ),
    );
    put(&folder("lib"), "readme");
    let found = |around: &LibrarySearchPaths| -> Vec<_> {
        around.libraries().into_iter().map(|library| (library.path, library.place)).collect()
    };
    assert_eq!(found(&around), expected);

    around.variable = Some(folder("own"));
    expected = vec![(folder("own"), "ORT_DYLIB_PATH")];
    assert_eq!(found(&around), expected, "what is named is taken at its word");
}
