//! The choice of the tools that a model is offered.

use std::collections::BTreeSet;

use toolcrib_model::tool::{DiscoveryStep, Presence};
use toolcrib_model::{QualifiedName, Tool};

use crate::injection::{Estimate, Reveal, list_budget, operational_budget};
use crate::listing::{ListedTool, listed};
use crate::offered_tool::Role;
use crate::system_prompt::call_style::CallStyle;
use crate::{Error, Injection, InjectionMode, InjectionSettings, OfferedTool, Tokenizer, WireNames};

/// The tools that a model is offered, and the form in which they are sent.
///
/// With [`InjectionMode::Auto`], the mode is the first of these that applies:
/// - *direct*, if all tools with their schemas fit the budget, or cost no more than discovery would;
/// - *compact*, if the rest fits and the list of all tools takes at most a quarter of the budget;
/// - *mixed*, if there are pinned tools;
/// - *discovery*.
///
/// With [`Estimate::PerTool`], the mode is direct if tools × tokens fit the budget, else discovery.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The injection mode.
    pub mode: Injection,
    /// The form in which the model calls tools.
    pub style: CallStyle,
    /// The context window of the model, in tokens.
    pub context_window: u32,
    /// The tokens that tools may take.
    pub budget_tokens: u32,
    /// The tokenizer that counts texts.
    pub tokenizer: Tokenizer,
    /// The form in which the model calls a tool that it found.
    pub reveal: Reveal,
    /// The number of visible tools, without those of the runtime.
    pub tool_count: usize,
    /// The namespaces of these tools, sorted.
    pub domains: Vec<String>,
    /// The tools that are offered with their schemas: those of the runtime in the order in which they came, then the
    /// others by name. The order in which sources load makes no difference, so that all requests begin with the same
    /// bytes.
    pub offered: Vec<OfferedTool>,
    /// The tools that are listed on a line each, by name.
    pub listed: Vec<ListedTool>,
    /// All tools that are not offered, with the schemas that would be sent.
    pub hidden: Vec<OfferedTool>,
    pub(crate) estimate: Estimate,
    pinned: BTreeSet<QualifiedName>,
    for_client: bool,
    pub(crate) defers_tools: bool,
    pub(crate) scripts: bool,
}

impl Plan {
    /// Plans for these tools, which are the visible ones and have their wire names.
    pub fn new<'a>(
        tools: impl IntoIterator<Item = &'a Tool>,
        settings: &InjectionSettings,
        wire_names: &WireNames,
    ) -> Result<Self, Error> {
        let (runtime, mut others): (Vec<_>, Vec<_>) =
            tools.into_iter().partition(|tool| wire_names.is_runtime(&tool.name));
        // Stable, so that overloads stay in their order.
        others.sort_by(|a, b| a.name.cmp(&b.name));
        let domains: BTreeSet<_> = others.iter().map(|tool| tool.name.namespace()).collect();
        let mut plan = Self {
            mode: Injection::Direct,
            style: settings.style,
            context_window: settings.context_window,
            budget_tokens: settings.budget_tokens()?,
            tokenizer: settings.tokenizer,
            reveal: settings.reveal,
            tool_count: others.len(),
            domains: domains.into_iter().map(str::to_owned).collect(),
            offered: Vec::new(),
            listed: Vec::new(),
            hidden: Vec::new(),
            estimate: settings.estimate,
            pinned: settings.pinned.clone(),
            for_client: settings.for_client,
            defers_tools: settings.defers_tools && settings.style == CallStyle::Native,
            scripts: settings.scripts,
        };
        let mut all = Vec::with_capacity(runtime.len() + others.len());
        for (place, tool) in runtime.into_iter().chain(others).enumerate() {
            let wire_name =
                wire_names.wire_name_of(tool).ok_or_else(|| Error::NoWireName { name: tool.name.clone() })?;
            let is_runtime = wire_names.is_runtime(&tool.name);
            let mut offered = OfferedTool::new(tool, wire_name, is_runtime, settings.profile);
            offered.place = place;
            all.push(offered);
        }
        Ok(match settings.mode {
            InjectionMode::Direct => plan.with_mode(Injection::Direct, all),
            InjectionMode::Compact => plan.with_mode(Injection::Compact, all),
            InjectionMode::Discovery => plan.with_mode(Injection::Discovery, all),
            InjectionMode::Mixed => plan.with_mode(Injection::Mixed, all),
            InjectionMode::Native if !plan.defers_tools => return Err(Error::NotDeferred),
            InjectionMode::Native => plan.with_mode(Injection::Native, all),
            InjectionMode::Auto => {
                plan.hidden = all;
                plan.choose_mode()
            }
        })
    }

    /// Chooses the mode that the budget allows.
    fn choose_mode(mut self) -> Self {
        let budget = u64::from(self.budget_tokens);
        let all = std::mem::take(&mut self.hidden);
        let direct = self.with_mode(Injection::Direct, all);
        if let Estimate::PerTool(tokens) = direct.estimate {
            let fits = per_tool(direct.tool_count, tokens) <= budget;
            return if fits { direct } else { direct.in_mode(Injection::Discovery) };
        }
        if direct.fits(budget) {
            return direct;
        }
        let compact = direct.in_mode(Injection::Compact);
        if compact.unlisted() == 0
            && compact.list_tokens() <= list_budget(budget)
            && compact.chosen_tokens() <= budget
        {
            return compact;
        }
        let has_pinned = !compact.pinned.is_empty();
        let discovery = compact.in_mode(Injection::Discovery);
        let tokens = discovery.chosen_tokens();
        // The hidden tools would be smaller than the tools to find them.
        let direct = discovery.in_mode(Injection::Direct);
        if direct.fits(tokens) {
            direct
        } else if has_pinned {
            direct.in_mode(Injection::Mixed)
        } else {
            direct.in_mode(Injection::Discovery)
        }
    }

    /// Returns the same tools in another mode.
    pub(crate) fn in_mode(mut self, mode: Injection) -> Self {
        let mut all = std::mem::take(&mut self.offered);
        all.append(&mut self.hidden);
        self.with_mode(mode, all)
    }

    fn with_mode(mut self, mode: Injection, mut all: Vec<OfferedTool>) -> Self {
        self.mode = mode;
        for tool in &mut all {
            tool.describe_search(mode == Injection::Native);
        }
        let offered_operational = self.offered_operational(&all);
        let (offered, hidden): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|tool| self.is_offered(tool, &offered_operational));
        (self.offered, self.hidden, self.listed) = (offered, hidden, Vec::new());
        self.sort();
        self.listed = match mode {
            Injection::Direct | Injection::Discovery | Injection::Native => Vec::new(),
            Injection::Compact => listed(self.findable(), |_| true),
            Injection::Mixed => {
                let budget = u64::from(self.budget_tokens);
                let mut left = budget.saturating_sub(self.offered_tokens()).min(list_budget(budget));
                listed(self.findable(), |line| {
                    let tokens = self.line_tokens(line);
                    let fits = tokens <= left;
                    left = left.saturating_sub(tokens);
                    fits
                })
            }
        };
        if mode == Injection::Compact && self.unlisted() > 0 {
            let (found_with, hidden) =
                self.hidden.into_iter().partition::<Vec<_>, _>(|tool| tool.role == Role::Discovery);
            self.hidden = hidden;
            self.offered.extend(found_with);
            self.sort();
        }
        self
    }

    /// Sorts the tools of the runtime in the order in which they came, then the others by name, overloads in their
    /// order.
    fn sort(&mut self) {
        self.offered.sort_by_key(|tool| tool.place);
        self.hidden.sort_by_key(|tool| tool.place);
    }

    /// Returns the indexes of the operational tools that are offered: the essential ones, then the optional ones in
    /// their order, within the budget.
    fn offered_operational(&self, all: &[OfferedTool]) -> BTreeSet<usize> {
        let operational = || all.iter().filter(|tool| tool.role == Role::Operational);
        let is_essential = |tool: &&OfferedTool| {
            let is_of_use = tool.is_runtime || !self.for_client;
            self.mode == Injection::Direct || tool.presence == Presence::Essential && is_of_use
        };
        let tokens = |tool: &OfferedTool| u64::from(tool.tokens(self.style, self.tokenizer));
        let mut offered_operational: BTreeSet<usize> =
            operational().filter(is_essential).map(|tool| tool.place).collect();
        if self.mode == Injection::Direct || self.for_client {
            return offered_operational;
        }
        let mut optional: Vec<_> = operational().filter(|tool| tool.presence == Presence::Optional).collect();
        optional.sort_by_key(|tool| tool.place);
        let taken: u64 = operational().filter(is_essential).map(tokens).sum();
        let mut left = operational_budget(self.budget_tokens.into()).saturating_sub(taken);
        for tool in optional {
            if let Some(rest) = left.checked_sub(tokens(tool)) {
                left = rest;
                offered_operational.insert(tool.place);
            }
        }
        offered_operational
    }

    fn is_offered(&self, tool: &OfferedTool, offered_operational: &BTreeSet<usize>) -> bool {
        let is_direct = self.mode == Injection::Direct;
        match tool.role {
            Role::Operational => {
                offered_operational.contains(&tool.place) || self.pinned.contains(&tool.name)
            }
            Role::Tool => is_direct || self.pinned.contains(&tool.name),
            // Listed tools do not have to be found.
            Role::Discovery if self.mode == Injection::Native => tool.finds_tools,
            Role::Discovery if self.mode == Injection::Compact => tool.step != Some(DiscoveryStep::Discover),
            Role::Discovery => !is_direct,
        }
    }

    /// Returns the tools that a model cannot call before it has found them.
    pub(crate) fn findable(&self) -> impl Iterator<Item = &OfferedTool> {
        self.hidden.iter().filter(|tool| match tool.role {
            Role::Tool => !tool.is_runtime,
            Role::Operational => true,
            Role::Discovery => false,
        })
    }

    /// Returns the number of tools, by name, that are neither offered nor listed.
    pub fn unlisted(&self) -> usize {
        let names: BTreeSet<_> = self.findable().map(|tool| &tool.name).collect();
        names.len().saturating_sub(self.listed.len())
    }

    /// Returns the tool that searches, in native mode.
    pub fn search_tool(&self) -> Option<&OfferedTool> {
        self.offered.iter().find(|tool| self.mode == Injection::Native && tool.finds_tools)
    }

    /// Returns true if the offered tools take at most this number of tokens.
    fn fits(&self, tokens: u64) -> bool {
        // Few tools are looked at where many do not fit, and their schemas are made for nothing else.
        let mut bytes = 0;
        let certainly_fits = self.offered.iter().all(|tool| {
            bytes += tool.sent(self.style).len() + ROUNDED_UP;
            self.tokenizer.fits(bytes, tokens)
        });
        let mut left = tokens;
        let fits_without_declarations = certainly_fits && !self.scripts
            || self.offered.iter().all(|tool| {
                let tokens = u64::from(tool.tokens(self.style, self.tokenizer));
                let fits = tokens <= left;
                left = left.saturating_sub(tokens);
                fits
            });
        fits_without_declarations && (!self.scripts || self.declaration_tokens() <= left)
    }
}

/// The bytes that rounding up each summand can add to a sum.
const ROUNDED_UP: usize = 3;

pub(crate) fn per_tool(tools: usize, tokens: u32) -> u64 {
    u64::try_from(tools).unwrap_or(u64::MAX).saturating_mul(tokens.into())
}
