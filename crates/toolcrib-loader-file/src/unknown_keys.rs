//! The keys of a tool in a file: known ones, those of other formats, and misspelt ones.

use std::collections::BTreeMap;

use toolcrib_document::nearest;
use toolcrib_model::JsonObject;

/// The known keys, at the top level of a tool or in `metadata`.
const KNOWN: [&str; 27] = [
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

/// Keys that other formats have in every tool. They cause no warnings.
const FOREIGN: [&str; 8] =
    ["type", "strict", "annotations", "icons", "_meta", "execution", "cache_control", "input_examples"];

/// The largest number of unknown keys of one file in warnings.
const MAX_UNKNOWN_KEYS: usize = 10;

/// The number of characters that a key may have beyond a known key that it begins with to count as its misspelling:
/// `tagss`, but not `name_for_people`.
const MAX_BEYOND_PREFIX: usize = 2;

/// The unknown keys of a file, with the number of tools that have them and the name of the first.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnknownKeys {
    keys: BTreeMap<String, (usize, String)>,
}

impl UnknownKeys {
    /// Records the unknown keys of a tool. The error is the first misspelt key, with its correction.
    pub(crate) fn check(&mut self, tool: &str, rest: &JsonObject) -> Result<(), (String, &'static str)> {
        let is_known = |key: &str| KNOWN.contains(&key) || FOREIGN.contains(&key);
        for key in rest.keys().filter(|key| !is_known(key)) {
            if let Some(correction) = correction(key) {
                return Err((key.clone(), correction));
            }
            if let Some((count, _)) = self.keys.get_mut(key) {
                *count += 1;
            } else if self.keys.len() < MAX_UNKNOWN_KEYS {
                self.keys.insert(key.clone(), (1, tool.to_owned()));
            }
        }
        Ok(())
    }

    /// Returns a warning for each key.
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

/// Returns the known key that an unknown one resembles.
fn correction(key: &str) -> Option<&'static str> {
    let near = nearest(key, KNOWN)?;
    let is_longer = key.starts_with(near) && key.len() - near.len() > MAX_BEYOND_PREFIX;
    (!is_longer).then_some(near)
}
