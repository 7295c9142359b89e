//! The token cost of the tool list for a client.

use rmcp::model::Tool as WireTool;
use serde::Serialize;
use toolcrib_prompt::{Injection, Tokenizer};

use super::visible_tools::VisibleTools;

/// The token cost of the answer to `tools/list`, compared to that of all tools. The model of the client is unknown;
/// `o200k_base` is used as an estimate for all models.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ListCost {
    /// The mode in which the tools are offered to the client.
    pub mode: Injection,
    /// The tokenizer of the counts.
    pub tokenizer: Tokenizer,
    /// The tokens of the list. Each tool is counted separately, as it is sent.
    pub tokens: u64,
    /// The number of tools if all were listed.
    pub direct_tools: usize,
    /// The tokens if all were listed.
    pub direct_tokens: u64,
    /// The listed tools, in the order of the list.
    pub tools: Vec<ListedCost>,
}

/// The token cost of one listed tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ListedCost {
    /// The name as it is sent.
    pub name: String,
    /// The number of tokens.
    pub tokens: u32,
}

impl ListCost {
    pub(crate) fn new(shown: &VisibleTools, direct: &VisibleTools) -> Self {
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

    /// Returns the savings compared to listing all tools, in percent. Negative if the list costs more.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2⁵³")]
    pub fn saved_percent(&self) -> f64 {
        if self.direct_tokens == 0 {
            return 0.0;
        }
        (1.0 - self.tokens as f64 / self.direct_tokens as f64) * 100.0
    }
}

fn costs(shown: &VisibleTools, tokenizer: Tokenizer) -> Vec<ListedCost> {
    let cost = |tool: &WireTool| {
        // It is for clients, which do not show it to models.
        let mut told = tool.clone();
        told.meta = None;
        serde_json::to_string(&told).map_or(u32::MAX, |text| tokenizer.count(&text))
    };
    let listed = shown.tools.iter();
    listed.map(|tool| ListedCost { name: tool.name.to_string(), tokens: cost(tool) }).collect()
}
