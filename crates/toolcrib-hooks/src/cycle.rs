//! Chains of hooks that run one another, and the refusal of cycles.
//!
//! A hook may run Toolcrib, or call an app that a server runs. The chain of the hooks that are running is passed on to the
//! program in an environment variable, and to a webhook in a header.

use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};
use toolcrib_model::random::hex;
use toolcrib_port::CallContext;

/// The environment variable of a program with the ids of the hooks that run above it, separated by commas.
pub(crate) const CHAIN_VARIABLE: &str = "TOOLCRIB_HOOKS";

/// The header of a webhook request with the ids of the hooks that run above it. A receiver that calls an app over HTTP in
/// turn passes it on.
pub const CHAIN_HEADER: &str = "toolcrib-hooks";

/// The attribute of a [`CallScope`](toolcrib_model::CallScope) with the ids that a caller has passed on.
pub const CHAIN_ATTRIBUTE: &str = "toolcrib-hooks";

/// The maximum number of hooks that run one another.
const MAX_CHAIN: usize = 8;

/// The number of bytes of an id, before it is written in hexadecimal digits.
const ID_BYTES: usize = 8;

/// The chain that this process was started with.
static INHERITED: LazyLock<String> = LazyLock::new(|| std::env::var(CHAIN_VARIABLE).unwrap_or_default());

/// Returns the id of a hook of an app.
pub(crate) fn id(app: &str, hook: &str) -> String {
    let digest = Sha256::new().chain_update(app).chain_update([0]).chain_update(hook).finalize();
    hex(digest.get(..ID_BYTES).unwrap_or_default())
}

/// Returns the chain below a hook, or the reason why the hook may not run.
pub(crate) fn below(id: &str, context: &CallContext) -> Result<String, String> {
    extended(id, [INHERITED.as_str(), context.scope.get(CHAIN_ATTRIBUTE).unwrap_or_default()])
}

fn extended(id: &str, above: [&str; 2]) -> Result<String, String> {
    let mut ids: Vec<&str> = Vec::new();
    for id in above.iter().flat_map(|chain| chain.split(',')).map(str::trim).filter(|id| !id.is_empty()) {
        // A process that serves an app may inherit the chain that a caller passes on, too.
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    if ids.contains(&id) {
        return Err(
            "it is running already, and what it runs made this call: a cycle of hooks; exclude the tool \
                    from the hook under `tools`, or do not call it from the hook"
                .to_owned(),
        );
    }
    if ids.len() >= MAX_CHAIN {
        return Err(format!("{MAX_CHAIN} hooks run one another already, and no more may"));
    }
    ids.push(id);
    Ok(ids.join(","))
}

#[cfg(test)]
mod tests {
    use super::{MAX_CHAIN, extended, id};

    #[test]
    fn a_hook_that_is_running_already_is_refused() {
        let (one, two) = (id("app.yaml", "one"), id("app.yaml", "two"));
        let chain = extended(&one, ["", ""]).unwrap();
        assert_eq!(extended(&two, [&chain, ""]).unwrap(), format!("{one},{two}"));
        for above in [[chain.as_str(), ""], ["", chain.as_str()]] {
            assert!(extended(&one, above).unwrap_err().contains("a cycle of hooks"));
        }
        // A hook of the same name of another app is another one.
        assert_ne!(id("other.yaml", "one"), one);
    }

    #[test]
    fn a_chain_has_a_maximum_length() {
        let full: Vec<String> = (0..MAX_CHAIN).map(|number| id("app.yaml", &number.to_string())).collect();
        assert!(extended("x", [&full.join(","), ""]).unwrap_err().contains("no more may"));
    }
}
