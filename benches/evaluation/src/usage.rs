//! The cost of a task: calls, and the tokens that the agent writes and reads.

use std::ops::AddAssign;

use serde_json::{Value, json};
use toolcrib_prompt::Tokenizer;

/// The tokenizer that all texts are counted with.
pub(crate) const TOKENIZER: Tokenizer = Tokenizer::O200k;

/// The purpose of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Looks for tools.
    Search,
    /// Looks at a tool or at a list of tools.
    Inspect,
    /// Runs a tool.
    Execute,
    /// Reads more of a result.
    Read,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Search, Self::Inspect, Self::Execute, Self::Read];

    /// Returns the purpose of a call of a listed tool.
    pub(crate) fn of(tool: &str) -> Self {
        match tool {
            "search_tools" => Self::Search,
            "get_tool" | "list_categories" | "browse_category" => Self::Inspect,
            "read_result" => Self::Read,
            _ => Self::Execute,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Inspect => "inspect",
            Self::Execute => "execute",
            Self::Read => "read",
        }
    }
}

/// Calls and tokens of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) calls: u32,
    pub(crate) tokens: u32,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.tokens += other.tokens;
    }
}

/// The costs of a task, or of all, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    costs: [Cost; 4],
}

impl Usage {
    /// Adds a call: the request as a model writes it, and the blocks of the answer as it reads them.
    pub(crate) fn add(&mut self, tool: &str, arguments: &Value, blocks: &[Value]) {
        let request = json!({"name": tool, "arguments": arguments}).to_string();
        let tokens = TOKENIZER.count(&request) + blocks.iter().map(tokens).sum::<u32>();
        if let Some(cost) = self.costs.get_mut(Kind::of(tool) as usize) {
            *cost += Cost { calls: 1, tokens };
        }
    }

    pub(crate) fn of(&self, kind: Kind) -> Cost {
        self.costs.get(kind as usize).copied().unwrap_or_default()
    }

    pub(crate) fn total(&self) -> Cost {
        let mut total = Cost::default();
        for cost in self.costs {
            total += cost;
        }
        total
    }

    pub(crate) fn json(&self) -> Value {
        let kinds = Kind::ALL.map(|kind| {
            let Cost { calls, tokens } = self.of(kind);
            (kind.name().to_owned(), json!({"calls": calls, "tokens": tokens}))
        });
        let Cost { calls, tokens } = self.total();
        json!({"calls": calls, "tokens": tokens, "by_kind": serde_json::Map::from_iter(kinds)})
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        for (mine, theirs) in self.costs.iter_mut().zip(other.costs) {
            *mine += theirs;
        }
    }
}

/// Returns the tokens of a block. Pictures and sounds are not text to a model and count as none.
fn tokens(block: &Value) -> u32 {
    match block.get("type").and_then(Value::as_str) {
        Some("text") => TOKENIZER.count(block.get("text").and_then(Value::as_str).unwrap_or_default()),
        Some("image" | "audio") => 0,
        _ => TOKENIZER.count(&block.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_what_they_are_for() {
        let mut usage = Usage::default();
        let text = json!({"type": "text", "text": "Read a file."});
        usage.add("search_tools", &json!({"query": "read"}), std::slice::from_ref(&text));
        usage.add("get_tool", &json!({"name": "a.b"}), &[]);
        usage.add("watch_start", &json!({}), &[json!({"type": "image", "data": "AAAA"})]);
        assert_eq!(Kind::ALL.map(|kind| usage.of(kind).calls), [1, 1, 1, 0]);
        let request = TOKENIZER.count(r#"{"name":"search_tools","arguments":{"query":"read"}}"#);
        assert_eq!(usage.of(Kind::Search).tokens, request + 4);
        assert_eq!(usage.total().calls, 3);
    }
}
