//! Decisions about views of tools. Rules name a view by its own name, and what restricts an original tool restricts every
//! view of it: a view never widens access.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_model::tool::view::{Original, View};
use toolcrib_model::{JsonObject, Tool};

use crate::condition::{self, Arguments};
use crate::rules::rule::KnownArguments;
use crate::{Call, Decision, Effect, Policy, Principal, RuleMatch};

impl Policy {
    /// Decides about a call with its final arguments. Of the originals of a view, those that may not run are removed; the
    /// strictest decision about the others holds.
    pub(crate) fn evaluate_call(&self, call: &mut Call, principal: Principal<'_>) -> Decision {
        let Some(view) = call.tool.view() else {
            return self.evaluate(&call.tool, principal, Some(&call.arguments));
        };
        let decision = self.evaluate_tool(&call.tool, principal, Some(&call.arguments), None);
        let mut denied = None;
        let mut strictest = None;
        call.originals.retain(|original| {
            let restriction = self.original_restriction(&original.tool, principal, Some(&original.arguments));
            let may_run = restriction.effect != Effect::Deny;
            let place = if may_run { &mut strictest } else { &mut denied };
            *place = Some(match place.take() {
                None => restriction,
                Some(before) => Decision::and(before, restriction),
            });
            may_run
        });
        let restriction = strictest.or(denied);
        decision.and(restriction.unwrap_or_else(|| Decision::new(Effect::Deny, &view.place)))
    }

    /// Returns the most permissive decision about the originals of a view, before the arguments are known.
    pub(crate) fn restrict_view(&self, view: &View, principal: Principal<'_>) -> Decision {
        let restrictions =
            view.originals.iter().map(|original| self.original_restriction(&original.tool, principal, None));
        restrictions.reduce(Decision::or_better).unwrap_or_else(|| Decision::new(Effect::Deny, &view.place))
    }

    /// Returns the rules and settings that restrict the originals of a view, for some arguments.
    pub(crate) fn restrictions_of_originals(
        &self,
        tool: &Tool,
        principal: Principal<'_>,
    ) -> impl Iterator<Item = RuleMatch> {
        let originals = tool.view().into_iter().flat_map(|view| &view.originals);
        let restriction =
            move |original: &Original| self.original_restriction(&original.tool, principal, None);
        originals.map(restriction).filter_map(RuleMatch::restricting)
    }

    /// Decides about a call of an original tool by what restricts it, in the app and in the profiles of the caller. Where
    /// nothing does, the rules for the view decide.
    fn original_restriction(
        &self,
        tool: &Tool,
        principal: Principal<'_>,
        arguments: Option<&JsonObject>,
    ) -> Decision {
        let sent = arguments.and_then(|arguments| condition::sent(tool, arguments));
        let known = arguments.map(|arguments| Arguments::new(arguments, sent.as_ref()));
        let known = known.map_or(KnownArguments::None, KnownArguments::All);
        let own = self.restriction(tool, principal, known);
        let decision = self.restrictions_of_profiles(tool, principal, known).fold(own, Decision::and);
        let rule: Arc<str> = format!("{}, for `{}`", decision.rule, tool.name.dotted()).into();
        Decision { rule, ..decision }
    }
}

/// Returns the description of a tool for the person who is asked about a call. For a view, it begins with the original
/// tool and the values that the view adds.
pub(crate) fn described(call: &Call) -> String {
    let tool = &call.tool;
    let (Some(view), Some(original)) = (tool.view(), call.originals.first()) else {
        return tool.description.clone();
    };
    let mut text = format!("Calls `{}`", original.tool.name.dotted());
    let parameters = view.originals.iter().find(|known| known.tool.name == original.tool.name);
    let added: Vec<(&str, &Value)> = parameters
        .into_iter()
        .flat_map(|known| &known.parameters)
        .filter(|parameter| parameter.value.as_ref().is_some_and(|value| value.is_fixed))
        .filter_map(|parameter| Some((parameter.name.as_str(), original.arguments.get(&parameter.name)?)))
        .collect();
    for (position, (name, value)) in added.iter().enumerate() {
        let separator = if position == 0 { " with" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(text, "{separator} `{name}` = {value}");
    }
    if call.originals.len() > 1 {
        let others: Vec<_> =
            call.originals.iter().skip(1).map(|other| format!("`{}`", other.tool.name.dotted())).collect();
        let _ = write!(text, ", or {} if it is unavailable", others.join(", "));
    }
    format!("{text}. {}", tool.description).trim_end().to_owned()
}
