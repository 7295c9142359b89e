//! What the list of tools costs a client.

use serde::Serialize;
use toolcrib_prompt::{Injection, Tokenizer};

use super::Shown;

/// What a client pays for the answer to `tools/list`, beside what all tools would cost. Which model reads it is not known
/// here; `o200k_base` stands for all.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ListCost {
    /// How the tools are put before the client.
    pub mode: Injection,
    /// What the tokens were counted with.
    pub tokenizer: Tokenizer,
    /// The tokens of all that is listed, each tool counted for itself, as it is sent.
    pub tokens: u64,
    /// How many tools there would be, were all listed.
    pub direct_tools: usize,
    /// The tokens of those.
    pub direct_tokens: u64,
    /// What is listed, in the order of the list.
    pub tools: Vec<ListedCost>,
}

/// What one tool of the list costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ListedCost {
    /// Its name as it is sent.
    pub name: String,
    /// Its tokens.
    pub tokens: u32,
}

impl ListCost {
    pub(crate) fn new(shown: &Shown, direct: &Shown) -> Self {
        let tokenizer = Tokenizer::O200k;
        let (tools, all) = (costs(shown, tokenizer), costs(direct, tokenizer));
        let sum = |costs: &[ListedCost]| costs.iter().map(|tool| u64::from(tool.tokens)).sum();
        Self {
            mode: shown.surface.plan.mode,
            tokenizer,
            tokens: sum(&tools),
            direct_tools: all.len(),
            direct_tokens: sum(&all),
            tools,
        }
    }

    /// How much less that is than listing all, in percent; negative where it is more.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2⁵³")]
    pub fn saved_percent(&self) -> f64 {
        if self.direct_tokens == 0 {
            return 0.0;
        }
        (1.0 - self.tokens as f64 / self.direct_tokens as f64) * 100.0
    }
}

fn costs(shown: &Shown, tokenizer: Tokenizer) -> Vec<ListedCost> {
    let cost = |tool| serde_json::to_string(tool).map_or(u32::MAX, |text| tokenizer.count(&text));
    let listed = shown.tools.iter();
    listed.map(|tool| ListedCost { name: tool.name.to_string(), tokens: cost(tool) }).collect()
}
