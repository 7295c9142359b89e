//! The ranking of operations of one noun by the verb of the query, on the documents of Twilio and Kubernetes, with the nouns
//! of the operations themselves.

use std::collections::BTreeMap;

use toolcrib_model::Tool;
use toolcrib_model::text::words_of_name;
use toolcrib_policy::Principal;

use crate::budget::forms::{discovery, operations};
use crate::support::shared;

/// The share of the queries whose operation stands first, and among the first five, in percent.
const FIRST: usize = 65;
const AMONG_FIVE: usize = 90;

/// The queries that are made, at least.
const QUERIES: usize = 300;

/// The verbs of names, and how a query asks for each.
const VERBS: [(&str, &str); 10] = [
    ("create", "create a"),
    ("delete", "delete the"),
    ("fetch", "get one"),
    ("read", "get one"),
    ("list", "list all"),
    ("patch", "change the"),
    ("replace", "change the"),
    ("update", "change the"),
    ("watch", ""),
    ("connect", ""),
];

/// Returns the query that an operation answers; `None` for one of no single noun.
fn query(tool: &Tool) -> Option<String> {
    let name = tool.name.name();
    if name.contains("Collection") || name.contains("APIResources") {
        return None;
    }
    let words = words_of_name(name);
    let (verb, mut nouns) = words.split_first()?;
    let (_, asked) = VERBS.iter().find(|(known, asked)| known == verb && !asked.is_empty())?;
    // Group and version stand between the verb and the noun of Kubernetes.
    let is_version = |word: &String| word.starts_with('v') && word[1..].starts_with(char::is_numeric);
    if let Some(at) = nouns.iter().position(is_version) {
        nouns = &nouns[at + 1..];
    }
    let nouns: Vec<&str> = nouns.iter().map(String::as_str).filter(|word| *word != "namespaced").collect();
    let nouns = nouns.join(" ").replace(" for all namespaces", "");
    let plural = |noun: &str| match noun.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if noun.ends_with('s') => format!("{noun}es"),
        None => format!("{noun}s"),
    };
    let nouns = if *asked == "list all" { plural(&nouns) } else { nouns };
    Some(format!("{asked} {nouns}"))
}

#[tokio::test]
async fn the_operation_that_is_meant_by_verb_and_noun_stands_first_among_those_of_its_noun() {
    let Some(shared) = shared() else { return };
    let tools = operations(&shared, &["_json_twilio_", "_apis_"]).await;
    let mut wanted: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for tool in &tools {
        if let Some(query) = query(tool) {
            wanted.entry((tool.name.namespace().to_owned(), query)).or_default().push(tool.name.dotted());
        }
    }
    assert!(wanted.len() >= QUERIES, "{}", wanted.len());
    let reads: Vec<String> = tools
        .iter()
        .filter(|tool| tool.metadata()["method"] == "GET")
        .map(|tool| tool.name.dotted())
        .collect();
    let (_registry, discovery) = discovery(tools).await;
    let (mut first, mut five, mut changed) = (0, 0, Vec::new());
    for ((_, query), names) in &wanted {
        let found = discovery.search(query, 5, Principal::new("s")).unwrap().results;
        let place = found.iter().position(|tool| names.contains(&tool.name));
        first += usize::from(place == Some(0));
        five += usize::from(place.is_some());
        let looks = query.starts_with("get") || query.starts_with("list");
        if looks && !reads.contains(&found[0].name) {
            changed.push(format!("{query}: {}", found[0].name));
        }
    }
    eprintln!("{first} first and {five} among five of {}", wanted.len());
    assert!(first * 100 >= wanted.len() * FIRST, "{first} of {}", wanted.len());
    assert!(five * 100 >= wanted.len() * AMONG_FIVE, "{five} of {}", wanted.len());
    assert!(changed.is_empty(), "{changed:#?}");
}
