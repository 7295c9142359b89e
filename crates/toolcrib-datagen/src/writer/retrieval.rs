//! Queries with the tools that they need, for search.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Rows;
use super::names::Names;
use crate::conversation::{Conversation, Message};

/// Renders each message of the user with the tools that are called until the next one. The other offered tools are hard
/// negatives. The second file has the tools.
pub(super) fn rows(conversation: &Conversation, names: &Names) -> Rows {
    let mut main = Vec::new();
    let mut query: Option<(&str, BTreeSet<&str>)> = None;
    for message in &conversation.messages {
        match message {
            Message::User { content } => {
                main.extend(query.take().and_then(|query| row(conversation, main.len(), &query, names)));
                query = Some((content, BTreeSet::new()));
            }
            Message::Assistant { calls, .. } => {
                if let Some((_, tools)) = &mut query {
                    tools.extend(calls.iter().map(|call| call.name.as_str()));
                }
            }
            _ => {}
        }
    }
    main.extend(query.and_then(|query| row(conversation, main.len(), &query, names)));
    let second = conversation.tools.iter().map(|tool| {
        json!({
            "namespace": tool.name.namespace(),
            "name": tool.name.name(),
            "description": tool.description,
            "parameters": tool.parameters,
        })
    });
    Rows { second: second.collect(), main }
}

fn row(
    conversation: &Conversation,
    number: usize,
    (query, called): &(&str, BTreeSet<&str>),
    names: &Names,
) -> Option<Value> {
    let offered: Vec<String> = conversation.tools.iter().map(|tool| tool.name.to_string()).collect();
    let is_called = |name: &&String| called.contains(name.as_str());
    let relevant: Vec<String> = offered.iter().filter(is_called).map(|name| names.of(name)).collect();
    let negatives: Vec<String> =
        offered.iter().filter(|name| !is_called(name)).map(|name| names.of(name)).collect();
    (!relevant.is_empty()).then(|| {
        json!({
            "id": format!("{}-{number}", conversation.id),
            "query": query,
            "relevant": relevant,
            "hard_negatives": negatives,
        })
    })
}
