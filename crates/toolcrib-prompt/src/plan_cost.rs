//! The cost of a plan in tokens, and the plan as JSON.

use serde::Serialize;
use serde_json::{Value, json};

use crate::injection::Estimate;
use crate::listing::ListedTool;
use crate::plan::per_tool;
use crate::system_prompt::RenderedPrompt;
use crate::system_prompt::call_style::CallStyle;
use crate::{Injection, Plan};

/// The cost of a tool, in tokens, if only its name and the first sentence of its description are shown and nothing is
/// counted.
const COMPACT_TOKENS_PER_TOOL: u32 = 30;

/// The cost of the injection modes, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlanTokens {
    /// Direct: all tools with their schemas.
    pub direct: u64,
    /// Compact: those with schemas and the list.
    pub compact: u64,
    /// Discovery: the tools that find and run others. Only where the API of the model defers tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovery: Option<u64>,
    /// Native: the tool that searches. Only where the API of the model defers tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<u64>,
    /// The chosen mode, always counted on what is sent.
    pub chosen: u64,
}

impl Plan {
    /// Returns the cost of the injection modes. With [`Estimate::PerTool`], direct and compact are tools × tokens.
    pub fn tokens(&self) -> PlanTokens {
        let of = |mode: Injection| {
            if mode == self.mode { self.chosen_tokens() } else { self.clone().in_mode(mode).chosen_tokens() }
        };
        let (direct, compact) = match self.estimate {
            Estimate::Payload => (of(Injection::Direct), of(Injection::Compact)),
            Estimate::PerTool(tokens) => {
                (per_tool(self.tool_count, tokens), per_tool(self.tool_count, COMPACT_TOKENS_PER_TOOL))
            }
        };
        let [discovery, native] =
            [Injection::Discovery, Injection::Native].map(|mode| self.defers_tools.then(|| of(mode)));
        PlanTokens { direct, compact, discovery, native, chosen: self.chosen_tokens() }
    }

    /// Returns the tokens of what is offered and listed, with each tool and each line counted separately.
    pub(crate) fn chosen_tokens(&self) -> u64 {
        self.offered_tokens() + self.list_tokens() + self.declaration_tokens()
    }

    /// Returns the tokens of the declarations for scripts.
    pub(crate) fn declaration_tokens(&self) -> u64 {
        self.tokenizer.count(&self.declarations()).into()
    }

    /// Returns the tokens of the offered tools with their schemas.
    pub fn offered_tokens(&self) -> u64 {
        self.offered.iter().map(|tool| u64::from(tool.tokens(self.style, self.tokenizer))).sum()
    }

    pub(crate) fn list_tokens(&self) -> u64 {
        self.listed.iter().map(|line| self.line_tokens(line)).sum()
    }

    pub(crate) fn line_tokens(&self, line: &ListedTool) -> u64 {
        self.tokenizer.count(&line.line()).into()
    }

    /// Returns the plan as `toolcrib plan --json` prints it, with names as `namespace.name`. In addition to the keys of
    /// the contract, it has the tokenizer, the tokens of each part of the request, and the listed tools.
    pub fn to_json(&self, prompt: &RenderedPrompt) -> Value {
        let tools: Vec<_> = self
            .offered
            .iter()
            .map(|tool| {
                json!({
                    "wire_name": tool.wire_name,
                    "name": tool.name.dotted(),
                    "description": tool.description,
                    "tokens": tool.tokens(self.style, self.tokenizer),
                })
            })
            .collect();
        let listed: Vec<_> = self.listed.iter().map(|line| line.name.dotted()).collect();
        let mut plan = json!({
            "mode": self.mode,
            "context_window": self.context_window,
            "budget_tokens": self.budget_tokens,
            "tokens": self.tokens(),
            "tokenizer": self.tokenizer,
            "parts": self.parts(prompt).into_iter().map(|(part, tokens)| json!({"part": part, "tokens": tokens})).collect::<Vec<_>>(),
            "tools": tools,
        });
        if let Some(plan) = plan.as_object_mut() {
            if !listed.is_empty() {
                plan.insert("listed".into(), listed.into());
            }
            plan.insert("system_prompt".into(), prompt.text.as_str().into());
        }
        plan
    }

    /// Returns the tokens of each part of a request before the conversation: the tools that go through the API, each
    /// section of the system prompt, the system prompt as a whole, and the total.
    pub fn parts(&self, prompt: &RenderedPrompt) -> Vec<(&'static str, u64)> {
        let tools = match self.style {
            CallStyle::Native => self.offered_tokens(),
            CallStyle::Text => 0,
        };
        let count = |text: &str| u64::from(self.tokenizer.count(text));
        let whole = count(&prompt.text);
        let sections = prompt.sections().map(|(section, text)| (section.as_str(), count(text)));
        std::iter::once(("tools", tools))
            .chain(sections)
            .chain([("system_prompt", whole), ("total", tools + whole)])
            .collect()
    }
}
