//! When a match is weak, and when there is none.

use std::sync::Arc;

use toolcrib_model::Tool;

use super::{found, tool};
use crate::embedding::{BuiltinEmbedder, Embeddings};
use crate::{Outcome, SearchIndex, SearchOptions};

/// An index of a shop with the built-in vectors.
async fn shop() -> SearchIndex {
    let tools: Vec<Arc<Tool>> = [
        tool("orders::list", "Lists the orders of a customer."),
        tool("orders::cancel", "Cancels an order that was not shipped yet."),
        tool("billing::send_invoice", "Sends an invoice to a customer by mail."),
        tool("stock::count", "Counts the articles that are left in a warehouse."),
        tool("shipping::track", "Returns where a parcel is on its way."),
        tool("prices::convert", "Converts a price into another currency."),
    ]
    .map(Arc::new)
    .into();
    let index = SearchIndex::build(tools.iter().map(AsRef::as_ref)).unwrap();
    let embeddings = Embeddings::of_tools(Arc::new(BuiltinEmbedder::new().unwrap()), &tools);
    embeddings.finished().await;
    index.attach(embeddings.vectors().unwrap());
    index
}

fn ask(index: &SearchIndex, query: &str) -> Outcome {
    index.search(query, &SearchOptions::default())
}

#[tokio::test]
async fn a_request_that_a_tool_answers_is_neither_weak_nor_without_match() {
    let index = shop().await;
    for (query, first) in [
        ("what did this client order last month?", "orders::list"),
        ("cancel my order", "orders::cancel"),
        ("where is my package", "shipping::track"),
        ("how much is 20 euros in dollars", "prices::convert"),
    ] {
        let outcome = ask(&index, query);
        assert_eq!(found(&outcome).first().map(String::as_str), Some(first), "{query}: {outcome:?}");
        assert!(!outcome.is_weak(), "{query}: {:?}", outcome.evidence);
    }
}

#[tokio::test]
async fn a_request_that_no_tool_is_for_is_weak_or_without_match() {
    let index = shop().await;
    for query in [
        "chop wood",
        "tighten the strings of my violin",
        "are you afraid of the dark",
        "intubate the patient with respiratory failure",
        "rotate the TLS certificates of the load balancers",
    ] {
        let outcome = ask(&index, query);
        assert!(outcome.is_weak() || outcome.no_match.is_some(), "{query}: {:?}", outcome.evidence);
        assert_eq!(outcome.hits.is_empty(), outcome.no_match.is_some(), "{query}");
    }
}

#[tokio::test]
async fn a_named_tool_is_never_weak() {
    let outcome = ask(&shop().await, "chop wood with stock.count");
    assert_eq!(found(&outcome)[0], "stock::count");
    assert!(!outcome.is_weak(), "{:?}", outcome.evidence);
}

#[test]
fn words_alone_never_hide_a_tool_that_has_one_of_them() {
    let index = SearchIndex::build(&[tool("a::copy", "Copies a page."), tool("b::fax", "")]).unwrap();
    let outcome = ask(&index, "zorblatt quux frobnicate wibble page flumox grault garply");
    assert_eq!(found(&outcome), ["a::copy"]);
    assert!(outcome.is_weak(), "{:?}", outcome.evidence);
}
