//! The variables of this process.

/// The variable with the path of the running program, so that an app can start another one.
const OWN_PROGRAM: &str = "TOOLCRIB";

/// Returns a variable of this process.
pub(crate) fn environment(name: &str) -> Option<String> {
    let own = || Some(std::env::current_exe().ok()?.to_str()?.to_owned()).filter(|_| name == OWN_PROGRAM);
    std::env::var(name).ok().or_else(own)
}
