//! What of our own environment a child may see.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use super::command::Command;

/// The variables that a child inherits. All others, and with them whatever keys and tokens stand there, are left out
/// unless the command names them.
///
/// They say who and where the user is, how to write text, which certificates to trust and where programs keep their
/// files. The usual proxy variables, `HTTPS_PROXY` and so on, are inherited too unless their value holds an `@`, and
/// with it perhaps a password.
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

/// Inherited as well, unless the value holds an `@`: a proxy URL may carry a user and a password.
pub(super) const PROXY_ENVIRONMENT: &[&str] = &[
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "all_proxy",
    "https_proxy",
    "http_proxy",
    "no_proxy",
];

/// Set for every child, beside what it inherits and what its command names. The value is no secret; descendants are
/// recognised by it, and ended with the child, also when they have left its process group. A program that is to outlive
/// the child has to be started without the variable, in a session of its own.
pub const MARK_VARIABLE: &str = "TOOLCRIB_CHILD";

/// The variable that says where programs are looked for.
const SEARCH_PATH: &str = "PATH";

/// The entries of a search path that mean the same in every directory; `None` where there is none. A relative one would
/// have a child find programs in the directory that it was started in.
fn absolute_entries(search_path: &OsStr) -> Option<OsString> {
    let entries = std::env::split_paths(search_path).filter(|entry| entry.is_absolute());
    std::env::join_paths(entries).ok().filter(|entries| !entries.is_empty())
}

/// Set for every child to the number of Toolcrib processes above it, so that one that starts itself through its own sources
/// can tell. No command can set it to something else.
pub const DEPTH_VARIABLE: &str = "TOOLCRIB_DEPTH";

/// Returns how many Toolcrib processes have started one another before this one; 0 for one that a user starts.
pub fn depth() -> usize {
    std::env::var(DEPTH_VARIABLE).ok().and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// The environment of a child: what it inherits of the variables that `ours` looks up, and over it what `given` says.
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

/// The names of the variables that a command would find, in order, and nothing of their values.
pub fn environment_names(command: &Command) -> Vec<String> {
    environment(|name| std::env::var_os(name), &command.env).into_keys().collect()
}
