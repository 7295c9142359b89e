//! Access rules as the guard of a root.

use toolcrib_io::files::{Purpose, Root};
use toolcrib_policy::Access;
use toolcrib_policy::access::Mode;

/// Restricts a root to the paths that the rules allow, in addition to its present restrictions.
pub(crate) fn restricted(root: &Root, access: &Access) -> Root {
    let root = root.clone();
    if access.is_unlimited() {
        return root;
    }
    let (access, is_workspace) = (access.clone(), !root.is_outside_workspace());
    let folder = root.path().to_string_lossy().into_owned();
    root.with_guard(move |path, purpose| {
        let mode = match purpose {
            Purpose::Read => Mode::Read,
            Purpose::Write => Mode::Write,
        };
        // A path that is not UTF-8 cannot be compared with the rules.
        path.to_str().is_some_and(|path| {
            if is_workspace {
                access.allows_path_below(&folder, path, mode)
            } else {
                access.allows_path(&format!("{folder}/{path}"), mode)
            }
        })
    })
}
