//! Explanations for searches without results, when sources or tools are missing.

use toolcrib_port::{Reject, RejectKind};
use toolcrib_search::Reason;

/// Returns the reason in view of the rejected sources and tools. A source that is missing as a whole may have had the
/// tool; a single rejected tool counts only if the query has a word of its name.
pub(crate) fn reason(found: Reason, query: &str, rejected: &[Reject]) -> Reason {
    if found != Reason::NothingSimilar {
        return found;
    }
    let reasons = rejected.iter().filter_map(|reject| of_reject(reject, query));
    // Reasons with a remedy come first.
    reasons
        .min_by_key(|reason| match reason {
            Reason::Quarantined => 0,
            Reason::NeedsLogin => 1,
            _ => 2,
        })
        .unwrap_or(found)
}

fn of_reject(reject: &Reject, query: &str) -> Option<Reason> {
    let is_meant = reject.name.as_deref().is_none_or(|name| shares_a_word(name, query));
    match reject.kind {
        RejectKind::Unavailable => Some(Reason::SourceDown),
        RejectKind::NeedsLogin => Some(Reason::NeedsLogin),
        RejectKind::Changed if is_meant => Some(Reason::Quarantined),
        _ => None,
    }
}

const SOURCE_DOWN: &str = "a source is down, and it may have the tool: tell the user";
const NEEDS_LOGIN: &str = "a source needs the user to log in: tell the user";
const QUARANTINED: &str = "the tool is held back until the user approves its changes: tell the user";

/// The advice if the results may not fit.
const WEAK: &str =
    "these come nearest, but may not fit: if none does, search with other words or answer without a tool";

/// Returns the advice if the results may not fit, with what may be missing, for a model and for a person.
pub(crate) fn weak_hint(reason: Option<Reason>) -> String {
    match reason {
        Some(Reason::SourceDown) => format!("{WEAK}; {SOURCE_DOWN}"),
        Some(Reason::NeedsLogin) => format!("{WEAK}; {NEEDS_LOGIN}"),
        Some(Reason::Quarantined) => format!("{WEAK}; {QUARANTINED}"),
        _ => WEAK.into(),
    }
}

/// Returns the advice if nothing matches, for a model and for a person.
pub(crate) fn hint(reason: Reason, withheld: usize) -> String {
    match reason {
        Reason::EmptyQuery => {
            "the query has no words; describe what the tool should do, or give its name".into()
        }
        Reason::SourceDown => format!("no tool matches; {SOURCE_DOWN}"),
        Reason::NeedsLogin => format!("no tool matches; {NEEDS_LOGIN}"),
        Reason::Quarantined => QUARANTINED.into(),
        Reason::NotPermitted if withheld == 1 => {
            "a matching tool is not permitted here: tell the user".into()
        }
        Reason::NotPermitted => format!("{withheld} matching tools are not permitted here: tell the user"),
        _ => "no tool matches; try other words once, or answer without a tool".into(),
    }
}

/// Returns true if a name and a query have a word of more than three letters in common.
fn shares_a_word(name: &str, query: &str) -> bool {
    const MIN_CHARS: usize = 4;
    let words = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        words.filter(|word| word.chars().count() >= MIN_CHARS).collect::<Vec<_>>()
    };
    let query = words(query);
    words(name).iter().any(|word| query.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_the_reason_only_where_it_may_be_what_was_asked_for() {
        let source = |kind| Reject::source("mcp crm", kind, "why");
        let tool = Reject::tool("mcp crm", "crm::delete_invoice", RejectKind::Changed, "its schema changed");
        let down = source(RejectKind::Unavailable);
        let login = source(RejectKind::NeedsLogin);
        let broken = source(RejectKind::Syntax);
        let table: [(&[Reject], &str, Reason); 7] = [
            (&[], "send money", Reason::NothingSimilar),
            (std::slice::from_ref(&broken), "send money", Reason::NothingSimilar),
            (std::slice::from_ref(&down), "send money", Reason::SourceDown),
            (&[down.clone(), login.clone()], "send money", Reason::NeedsLogin),
            (std::slice::from_ref(&tool), "send money", Reason::NothingSimilar),
            (std::slice::from_ref(&tool), "delete the invoice", Reason::Quarantined),
            (&[down.clone(), login.clone(), tool.clone()], "my Invoice", Reason::Quarantined),
        ];
        for (rejected, query, expected) in table {
            assert_eq!(reason(Reason::NothingSimilar, query, rejected), expected, "{query} {rejected:?}");
            assert_eq!(reason(Reason::EmptyQuery, query, rejected), Reason::EmptyQuery);
        }
    }
}
