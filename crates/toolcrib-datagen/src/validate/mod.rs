//! Validation of conversations: calls that fit their tools, and arguments that come from somewhere.

mod finding;
mod grounding;
mod numbers;
mod references;
mod structure;
pub(crate) mod tools;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::Value;
use toolcrib_meta::names::SEARCH_TOOLS;
use toolcrib_model::name::NAMESPACE_SEPARATOR;
use toolcrib_model::text::canonical_json;

pub use finding::{Finding, Location, Reason};

use crate::conversation::{Call, Conversation, Message};
use grounding::Context;
use tools::OfferedTools;

/// The maximum number of findings of one conversation.
pub const MAX_FINDINGS: usize = 100;

/// The maximum number of leaf values of one call that are checked for their origin.
const MAX_LEAVES: usize = 1_000;

/// Returns everything that is wrong with a conversation, in the order of its messages, at most [`MAX_FINDINGS`].
///
/// A call is checked against all overloads of its name; it needs to fit one of them. A value has to come from an earlier
/// message or result. Booleans, dates, values that the schema lists, the words of a search for tools, and numbers that
/// the conversation writes as words are excused.
///
/// ```
/// use serde_json::json;
/// use toolcrib_datagen::conversation::{Call, Conversation, ConversationTool, Kind, Message};
/// use toolcrib_datagen::validate::{Reason, validate};
/// use toolcrib_model::{QualifiedName, Tool};
///
/// let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
/// let tool = Tool::new(QualifiedName::new("weather", "forecast")?).with_parameters(schema);
/// let conversation = Conversation {
///     tools: vec![ConversationTool::from(&tool)],
///     messages: vec![
///         Message::user("Will it rain in Oslo?"),
///         Message::calls([Call::new("1", "weather::forecast", json!({"city": "Paris"}))]),
///         Message::result("1", "No rain."),
///         Message::assistant("No."),
///     ],
///     ..Conversation::new("c1", Kind::Single)
/// };
/// let findings = validate(&conversation);
/// assert_eq!(findings[0].reason, Reason::UngroundedValue);
/// assert_eq!(findings[0].location.to_string(), "message 1, call 0, /city");
/// # Ok::<(), toolcrib_model::NameError>(())
/// ```
pub fn validate(conversation: &Conversation) -> Vec<Finding> {
    let tools = OfferedTools::new(&conversation.tools);
    let mut findings = structure::check(&conversation.messages);
    check_calls(&conversation.messages, &tools, &mut findings);
    if let Some(branch) = &conversation.rejected
        && branch.from > conversation.messages.len()
    {
        let detail =
            format!("`from` is {}, but there are {} messages", branch.from, conversation.messages.len());
        findings.push(Finding::new(Reason::Malformed, Location::conversation(), detail));
    }
    findings.sort_by_key(|finding| (finding.location.message, finding.location.call));
    findings.truncate(MAX_FINDINGS);
    findings
}

fn check_calls(messages: &[Message], tools: &OfferedTools<'_>, findings: &mut Vec<Finding>) {
    let mut context = Context::of_tools(tools);
    // The calls since the last message of the user whose results did not fail.
    let mut made: HashSet<(String, String)> = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        match message {
            Message::System { content } => context.add_text(content),
            Message::User { content } => {
                made.clear();
                context.add_text(content);
            }
            Message::Tool { call_id, content, failed } => {
                if *failed {
                    forget(&mut made, messages, call_id);
                }
                context.add_value(content);
            }
            Message::Assistant { content, calls } => {
                for (number, call) in calls.iter().enumerate() {
                    let location = Location::call(at, number);
                    if let Some(key) = key(call)
                        && !made.insert(key)
                    {
                        let detail = format!("`{}` was already called with these arguments", call.name);
                        findings.push(Finding::new(Reason::DuplicateCall, location.clone(), detail));
                    }
                    findings.extend(tools.check(call, &location));
                    check_values(
                        call,
                        &location,
                        &context,
                        messages.get(at + 1..).unwrap_or_default(),
                        tools,
                        findings,
                    );
                }
                context.add_text(content);
            }
        }
        if findings.len() >= MAX_FINDINGS {
            return;
        }
    }
}

/// Lets a failed call be repeated.
fn forget(made: &mut HashSet<(String, String)>, messages: &[Message], call_id: &str) {
    let calls = messages.iter().filter_map(|message| match message {
        Message::Assistant { calls, .. } => Some(calls),
        _ => None,
    });
    if let Some(key) = calls.flatten().find(|call| call.id == call_id).and_then(key) {
        made.remove(&key);
    }
}

fn key(call: &Call) -> Option<(String, String)> {
    call.arguments.is_object().then(|| (call.name.clone(), canonical_json(&call.arguments)))
}

/// Checks the origin of each leaf value.
fn check_values(
    call: &Call,
    location: &Location,
    context: &Context,
    later: &[Message],
    tools: &OfferedTools<'_>,
    findings: &mut Vec<Finding>,
) {
    // The structure check reports arguments that are not an object.
    if !call.arguments.is_object() {
        return;
    }
    let mut leaves = Vec::new();
    collect_leaves(&call.arguments, &mut String::new(), &mut leaves);
    for (path, value) in leaves {
        let location = location.at(&path);
        if let Some(reference) = value.as_str().and_then(references::reference) {
            let detail = format!("`{reference}` refers to a result instead of holding its value");
            findings.push(Finding::new(Reason::IndirectReference, location, detail));
        } else if !tools.lists(&call.name, &path, value)
            && !is_search_word(&call.name, &path)
            && !context.has(value)
        {
            let mut following = Context::default();
            for message in later {
                if let Message::Tool { content, .. } = message {
                    following.add_value(content);
                }
            }
            let (reason, detail) = if following.has(value) {
                (Reason::FutureReference, format!("{value} is known only from a later result"))
            } else {
                (Reason::UngroundedValue, format!("{value} is in no earlier message or result"))
            };
            findings.push(Finding::new(reason, location, detail));
        }
    }
}

/// Returns true for the words that an assistant searches for a tool with: it chooses them. Formats that write no
/// namespace for the tools of the runtime are read with another one.
fn is_search_word(tool: &str, path: &str) -> bool {
    let is_search = tool.rsplit(NAMESPACE_SEPARATOR).next() == Some(SEARCH_TOOLS);
    is_search && (path == "/query" || path.starts_with("/queries/"))
}

fn collect_leaves<'a>(value: &'a Value, path: &mut String, leaves: &mut Vec<(String, &'a Value)>) {
    if leaves.len() >= MAX_LEAVES {
        return;
    }
    let length = path.len();
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                path.push('/');
                path.push_str(&name.replace('~', "~0").replace('/', "~1"));
                collect_leaves(member, path, leaves);
                path.truncate(length);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push('/');
                path.push_str(&index.to_string());
                collect_leaves(item, path, leaves);
                path.truncate(length);
            }
        }
        Value::Null => {}
        leaf => leaves.push((path.clone(), leaf)),
    }
}
