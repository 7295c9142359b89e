//! The guard: a filter of results by regular expressions.

mod built_in;
mod detectors;
mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_exec::{Hook, ResultVerdict};
use toolcrib_model::{ErrorKind, Tool, ToolError, ToolResult};
use toolcrib_policy::Call;
use toolcrib_port::CallContext;

use self::detectors::{Detectors, Findings};
use crate::SettingError;
use crate::edit::edit_texts;
use crate::selection::Selection;

pub use self::detectors::MAX_PATTERNS;
pub use self::settings::{GuardAction, GuardRule, GuardSettings, MAX_RULES};

/// The name of the guard as a hook.
const NAME: &str = "guard";

/// A filter of results: regular expressions that allow, redact or block what they match. It finds accidents, such as a
/// customer's address in a log. It does not stop a server that hides what it sends, for example by another encoding.
#[derive(Debug)]
pub struct Guard {
    detectors: Arc<Detectors>,
    rules: Vec<CompiledRule>,
}

#[derive(Debug)]
struct CompiledRule {
    selection: Selection,
    action: GuardAction,
    /// The positions of its detectors.
    detectors: Vec<usize>,
}

impl Guard {
    /// Compiles the patterns.
    ///
    /// # Errors
    ///
    /// Returns the first setting that cannot be used.
    pub fn new(settings: &GuardSettings) -> Result<Self, SettingError> {
        let detectors = Detectors::new(&settings.patterns)?;
        if settings.rules.is_empty() {
            let message = "the guard needs `rules`, such as `{detect: [pii, keys], action: redact}`";
            return Err(SettingError::new("", message));
        }
        if settings.rules.len() > MAX_RULES {
            let message =
                format!("there are {} rules, and at most {MAX_RULES} are taken", settings.rules.len());
            return Err(SettingError::new("/rules", message));
        }
        let compiled = settings.rules.iter().enumerate().map(|(position, rule)| {
            let below = |error: SettingError| {
                SettingError::new(format!("/rules/{position}{}", error.pointer), error.message)
            };
            let selection = Selection::new(&rule.tools, rule.min_risk_level).map_err(below)?;
            let detectors = detectors.named(&rule.detect).map_err(below)?;
            Ok(CompiledRule { selection, action: rule.action, detectors })
        });
        let rules = compiled.collect::<Result<_, _>>()?;
        Ok(Self { detectors: Arc::new(detectors), rules })
    }

    /// Returns a text without what any rule redacts or blocks, as it would be in the result of a tool that all rules apply
    /// to.
    pub fn redact(&self, text: &str) -> String {
        let actions = self.actions(|_| true);
        self.detectors.redacted(text, &actions, &mut Findings::default()).unwrap_or_else(|| text.to_owned())
    }

    /// Returns the action of each detector; the first rule that names it decides.
    fn actions(&self, applies: impl Fn(&Selection) -> bool) -> Vec<GuardAction> {
        let mut actions = vec![None; self.detectors.len()];
        for rule in self.rules.iter().filter(|rule| applies(&rule.selection)) {
            for position in &rule.detectors {
                if let Some(action) = actions.get_mut(*position) {
                    action.get_or_insert(rule.action);
                }
            }
        }
        actions.into_iter().map(|action| action.unwrap_or(GuardAction::Allow)).collect()
    }
}

#[async_trait]
impl Hook for Guard {
    fn name(&self) -> &'static str {
        NAME
    }

    fn applies_to(&self, tool: &Tool) -> bool {
        let acts = |action| action != GuardAction::Allow;
        tool.forwarding().is_none() && self.actions(|selection| selection.fits(tool)).into_iter().any(acts)
    }

    async fn after(
        &self,
        call: &Call,
        result: &ToolResult,
        _context: &CallContext,
    ) -> Result<ResultVerdict, ToolError> {
        let actions = self.actions(|selection| selection.fits(&call.tool));
        let (detectors, mut result) = (Arc::clone(&self.detectors), result.clone());
        // The time is linear in the result, which may have megabytes.
        let scanning = tokio::task::spawn_blocking(move || {
            let mut found = Findings::default();
            edit_texts(&mut result, &mut |text| detectors.redacted(text, &actions, &mut found));
            (result, found)
        });
        let (result, found) = scanning.await.map_err(|error| {
            ToolError::new(
                ErrorKind::Internal,
                format!("the guard failed on `{}`: {error}", call.tool.name.shown()),
            )
        })?;
        Ok(if let Some(blocked) = found.blocked {
            ResultVerdict::Block { reason: format!("it matches the pattern `{blocked}`") }
        } else if found.redacted.is_empty() {
            ResultVerdict::Keep { note: None }
        } else {
            ResultVerdict::Redact { result: Box::new(result), note: Some(counts(&found.redacted)) }
        })
    }
}

/// Returns the number of matches of each pattern, in words.
fn counts(redacted: &BTreeMap<Arc<str>, usize>) -> String {
    let counts = redacted.iter().map(|(name, count)| format!("{name} ({count})"));
    counts.collect::<Vec<_>>().join(", ")
}
