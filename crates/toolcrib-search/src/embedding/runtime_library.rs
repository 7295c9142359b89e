//! The search for ONNX Runtime, the library that runs ONNX models. It is not a part of this program.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The environment variable that contains the path of the library.
pub const LIBRARY_VARIABLE: &str = "ORT_DYLIB_PATH";

/// The most entries of a folder that are examined.
const MAX_ENTRIES: usize = 4096;

/// A library file that exists, and the rule by which it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeLibrary {
    /// The file.
    pub path: PathBuf,
    /// A description of the place, for display.
    pub place: &'static str,
}

/// The places that are searched, as given by the environment.
#[derive(Clone, Debug, Default)]
pub(crate) struct LibrarySearchPaths {
    pub(crate) variable: Option<PathBuf>,
    pub(crate) program: Option<PathBuf>,
    pub(crate) cache: Option<PathBuf>,
    pub(crate) system: Vec<PathBuf>,
    pub(crate) python: Vec<PathBuf>,
}

/// Returns the existing libraries in the order in which they are tried.
///
/// If `ORT_DYLIB_PATH` is set, that is the only one. Otherwise they are the libraries in the program's folder, in the
/// folder `cache`, in the library path of the system, and in the `onnxruntime` package of a Python environment that is
/// active or in `PATH`.
pub fn runtime_libraries(cache: Option<&Path>) -> Vec<RuntimeLibrary> {
    LibrarySearchPaths::of_process(cache).libraries()
}

impl LibrarySearchPaths {
    fn of_process(cache: Option<&Path>) -> Self {
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let paths = |name: &str| variable(name).map(|value| env::split_paths(&value).collect::<Vec<_>>());
        let mut system: Vec<PathBuf> = ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"]
            .into_iter()
            .filter_map(paths)
            .flatten()
            .filter(|folder| folder.is_absolute())
            .collect();
        let machine = format!("/usr/lib/{}-linux-gnu", env::consts::ARCH);
        let usual = ["/usr/local/lib", &machine, "/usr/lib64", "/usr/lib", "/opt/homebrew/lib"];
        system.extend(usual.map(PathBuf::from));
        let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable).map(PathBuf::from);
        let in_path = paths("PATH").unwrap_or_default().into_iter();
        let in_path =
            in_path.filter(|folder| folder.join("python3").is_file() || folder.join("python.exe").is_file());
        let python = active.chain(in_path.filter_map(|folder| Some(folder.parent()?.to_owned())));
        Self {
            variable: variable(LIBRARY_VARIABLE).map(PathBuf::from),
            program: env::current_exe().ok().and_then(|program| Some(program.parent()?.to_owned())),
            cache: cache.map(Path::to_owned),
            system,
            python: python.filter(|folder| folder.is_absolute()).collect(),
        }
    }

    pub(crate) fn libraries(&self) -> Vec<RuntimeLibrary> {
        if let Some(path) = &self.variable {
            return vec![RuntimeLibrary { path: path.clone(), place: LIBRARY_VARIABLE }];
        }
        let places = [
            ("next to the program", self.program.iter().cloned().collect::<Vec<_>>()),
            ("the cache folder", self.cache.iter().cloned().collect()),
            ("the system's library path", self.system.clone()),
            ("a Python environment", self.python.iter().flat_map(|prefix| packages(prefix)).collect()),
        ];
        let mut found: Vec<RuntimeLibrary> = Vec::new();
        for (place, folders) in places {
            for path in folders.iter().flat_map(|folder| libraries_in(folder)) {
                if !found.iter().any(|library| library.path == path) {
                    found.push(RuntimeLibrary { path, place });
                }
            }
        }
        found
    }
}

/// Returns the folders in which Python environments with this prefix have the libraries of `onnxruntime`.
fn packages(prefix: &Path) -> Vec<PathBuf> {
    let mut homes = vec![prefix.join("Lib")];
    for lib in ["lib", "lib64", "local/lib"] {
        homes.extend(entries(&prefix.join(lib)).into_iter().filter(|path| name(path).starts_with("python3")));
    }
    let kinds = ["site-packages", "dist-packages"];
    let folders = homes.iter().flat_map(|home| kinds.map(|kind| home.join(kind).join("onnxruntime/capi")));
    folders.filter(|folder| folder.is_dir()).collect()
}

/// Returns the libraries in a folder, the newest first. Their names may end with a version.
fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let start = format!("{}onnxruntime.", env::consts::DLL_PREFIX);
    let is_library = |path: &PathBuf| {
        let name = name(path);
        name.starts_with(&start) && name.contains(env::consts::DLL_SUFFIX) && path.is_file()
    };
    let mut found: Vec<PathBuf> = entries(folder).into_iter().filter(is_library).collect();
    found.sort_by_key(|path| std::cmp::Reverse(version(&name(path))));
    found
}

/// Returns the numbers in a name.
fn version(name: &str) -> Vec<u64> {
    name.split(|character: char| !character.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut paths: Vec<_> = entries.take(MAX_ENTRIES).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
