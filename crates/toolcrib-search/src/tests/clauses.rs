//! What the clauses of a query are, and what they are for.

use std::sync::Arc;

use super::tool;
use crate::embedding::{BuiltinEmbedder, Embeddings};
use crate::query::Query;
use crate::query::clauses::{MAX_CLAUSES, clauses};
use crate::{SearchIndex, SearchOptions};

#[test]
fn a_query_is_cut_at_marks_and_at_and() {
    for (query, expected) in [
        ("list open issues", &[][..]),
        ("List open issues.", &[]),
        ("", &[]),
        ("pay 3.5 euros by math.sqrt", &[]),
        ("Read the file, then send mail to Ann", &["Read the file", "then send mail to Ann"]),
        ("weather in Rome and flights from Oslo", &["weather in Rome", "flights from Oslo"]),
        // One word is no clause.
        ("Hello! Show stock prices? Thanks", &["Show stock prices"]),
        ("查询天气，预订机票", &["查询天气", "预订机票"]),
    ] {
        assert_eq!(clauses(&Query::new(query)), expected, "{query}");
    }
}

#[test]
fn the_first_clauses_of_a_long_query_are_looked_at() {
    let query = "open the door. ".repeat(50);
    assert_eq!(clauses(&Query::new(&query)).len(), MAX_CLAUSES);
}

#[tokio::test]
async fn a_tool_for_one_clause_is_like_the_query_as_far_as_it_is_like_the_clause() {
    let tools = [
        tool("a::currency", "Converts an amount of money to another currency."),
        tool("b::restaurants", "Finds places to eat nearby."),
    ];
    let tools = tools.map(Arc::new);
    let index = SearchIndex::build(tools.iter().map(AsRef::as_ref)).unwrap();
    let embeddings = Embeddings::of_tools(Arc::new(BuiltinEmbedder::new().unwrap()), &tools);
    embeddings.finished().await;
    index.attach(embeddings.vectors().unwrap());
    let similarity = |query: &str| {
        let evidence = index.search(query, &SearchOptions::default()).evidence;
        evidence.similarity.unwrap()
    };
    let whole =
        similarity("we go hiking in alpine valleys with our grandparents then convert euros into dollars");
    let clause =
        similarity("we go hiking in alpine valleys with our grandparents, then convert euros into dollars");
    assert!(clause > whole + 0.05, "{clause} {whole}");
}
