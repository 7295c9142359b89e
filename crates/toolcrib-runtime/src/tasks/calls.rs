//! Which calls make tasks.

use toolcrib_policy::RUNTIME_NAMESPACE;

/// The beginnings of the names of all tools that make or change tasks.
const MAKERS: [&str; 4] = ["background_", "watch_", "schedule_", "remember"];

/// Whether a call by this name, in any spelling, may make something that is kept for later.
pub fn makes_tasks(name: &str) -> bool {
    let bare = match name.rsplit_once(['.', ':']) {
        Some((namespace, bare)) if namespace.trim_end_matches(':') == RUNTIME_NAMESPACE => bare,
        Some(_) => return false,
        None => name,
    };
    MAKERS.iter().any(|maker| bare.starts_with(maker))
}
