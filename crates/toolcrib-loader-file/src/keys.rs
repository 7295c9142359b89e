//! The keys of a tool in a file: those that mean something here, and those of other formats.

use std::collections::BTreeMap;

use toolcrib_document::nearest;
use toolcrib_model::JsonObject;

/// Keys that are read, beside the name or in `metadata`.
const OWN: [&str; 27] = [
    "name",
    "namespace",
    "description",
    "parameters",
    "input_schema",
    "inputSchema",
    "output_parameters",
    "output_schema",
    "outputSchema",
    "metadata",
    "function",
    "title",
    "risk",
    "aliases",
    "tags",
    "category",
    "side_effects",
    "examples",
    "access",
    "cacheable",
    "confirmation_required",
    "exposed_when_granted",
    "user_selectable",
    "idempotent",
    "timeout_seconds",
    "max_concurrency",
    "max_result_tokens",
];

/// Keys that the formats of others have in every tool, so that nothing is said of them.
const FOREIGN: [&str; 8] =
    ["type", "strict", "annotations", "icons", "_meta", "execution", "cache_control", "input_examples"];

/// The most unknown keys of one file that are named.
const MAX_UNKNOWN_KEYS: usize = 10;

/// How many characters a key may have beyond the known key that it begins with to be taken for it: `tagss`, but not
/// `name_for_people`.
const MAX_BEYOND_PREFIX: usize = 2;

/// The unknown keys of a file, with the number of the tools that have them and the name of the first.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnknownKeys {
    keys: BTreeMap<String, (usize, String)>,
}

impl UnknownKeys {
    /// Notes the unknown keys of a tool. An error is the first key that is a known one misspelt, with what it should be.
    pub(crate) fn check(&mut self, tool: &str, rest: &JsonObject) -> Result<(), (String, &'static str)> {
        let is_known = |key: &str| OWN.contains(&key) || FOREIGN.contains(&key);
        for key in rest.keys().filter(|key| !is_known(key)) {
            if let Some(meant) = meant(key) {
                return Err((key.clone(), meant));
            }
            if let Some((count, _)) = self.keys.get_mut(key) {
                *count += 1;
            } else if self.keys.len() < MAX_UNKNOWN_KEYS {
                self.keys.insert(key.clone(), (1, tool.to_owned()));
            }
        }
        Ok(())
    }

    /// Returns a line for each key.
    pub(crate) fn warnings(&self, file: &str) -> Vec<String> {
        let line = |(key, (count, tool)): (&String, &(usize, String))| {
            let tools = if *count == 1 {
                format!("`{tool}` has")
            } else {
                format!("{count} tools, the first of them `{tool}`, have")
            };
            format!("{file}: {tools} the unknown key `{key}`; it is kept as metadata and changes nothing")
        };
        self.keys.iter().map(line).collect()
    }
}

/// The known key that an unknown one is near to.
fn meant(key: &str) -> Option<&'static str> {
    let near = nearest(key, OWN)?;
    let is_longer = key.starts_with(near) && key.len() - near.len() > MAX_BEYOND_PREFIX;
    (!is_longer).then_some(near)
}
