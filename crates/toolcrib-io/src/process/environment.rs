//! The environment of a child.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use super::command::Command;
use super::proxy_environment::PROXY_ENVIRONMENT;

/// The variables that a child inherits. All others, including any keys and tokens, are left out unless the command sets
/// them.
///
/// They describe the user, the locale, the trusted certificates and the locations of files. The proxy variables, such as
/// `HTTPS_PROXY`, are inherited too unless their value contains an `@` and therefore perhaps a password.
pub const INHERITED_ENVIRONMENT: &[&str] = &[
    "CURL_CA_BUNDLE",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "PATH",
    "REQUESTS_CA_BUNDLE",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

/// A variable that every child gets in addition to the inherited and configured ones. Its value is not secret. It
/// identifies descendants, which end with the child even if they have left its process group. A program that should
/// outlive the child must be started without the variable, in a separate session.
pub const MARK_VARIABLE: &str = "TOOLCRIB_CHILD";

/// The variable with the search path of programs.
const SEARCH_PATH: &str = "PATH";

/// Returns the absolute entries of a search path, or `None` without any. With a relative entry, a child would find programs
/// in its working directory.
fn absolute_entries(search_path: &OsStr) -> Option<OsString> {
    let entries = std::env::split_paths(search_path).filter(|entry| entry.is_absolute());
    std::env::join_paths(entries).ok().filter(|entries| !entries.is_empty())
}

/// A variable with the number of Toolcrib processes above a child, which detects a server that starts itself through its
/// sources. Commands cannot override it.
pub const DEPTH_VARIABLE: &str = "TOOLCRIB_DEPTH";

/// Returns the number of Toolcrib processes above this one; 0 if a user started it.
pub fn depth() -> usize {
    std::env::var(DEPTH_VARIABLE).ok().and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Returns the environment of a child: the inherited variables, looked up by `ours`, overridden by `given`.
pub(super) fn environment(
    ours: impl Fn(&str) -> Option<OsString>,
    given: &BTreeMap<String, String>,
) -> BTreeMap<String, OsString> {
    let plain = INHERITED_ENVIRONMENT.iter().filter_map(|name| Some((*name, ours(name)?)));
    let proxies = PROXY_ENVIRONMENT
        .iter()
        .filter_map(|name| Some((*name, ours(name)?)))
        .filter(|(_, value)| !value.as_encoded_bytes().contains(&b'@'));
    plain
        .chain(proxies)
        .filter_map(|(name, value)| match name {
            SEARCH_PATH => Some((name, absolute_entries(&value)?)),
            _ => Some((name, value)),
        })
        .map(|(name, value)| (name.to_owned(), value))
        .chain(given.iter().map(|(name, value)| (name.clone(), OsString::from(value))))
        .collect()
}

/// Returns the names of the variables that a command would find, in order, and nothing of their values.
pub fn environment_names(command: &Command) -> Vec<String> {
    environment(|name| command.inherited(name), &command.env).into_keys().collect()
}
