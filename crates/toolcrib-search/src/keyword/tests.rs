//! That what is kept of the posting lists changes no result.

use serde_json::json;
use toolcrib_model::Tool;

use super::*;
use crate::keyword::builder::build;
use crate::text::Analyzer;

fn tools() -> Vec<Tool> {
    let tool = |number: usize| {
        let description =
            ["Reads a file", "Removes a document and reads it"][number % 2].repeat(1 + number % 3);
        let tool =
            json!({"namespace": "files", "name": format!("read_{number}"), "description": description});
        serde_json::from_value(tool).unwrap()
    };
    (0..40).map(tool).collect()
}

fn found(index: &KeywordIndex) -> Vec<Candidate> {
    let term = |word: &str, variants: &[(&str, f32)]| QueryTerm {
        word: word.into(),
        variants: variants.iter().map(|(text, share)| ((*text).into(), *share)).collect(),
    };
    let terms = [
        term("read", &[("read", 1.0)]),
        term("delete", &[("delete", 1.0), ("remov", 0.3), ("document", 0.3)]),
        term("nowhere", &[("nowhere", 1.0)]),
    ];
    index.search(&terms).unwrap().best.into_sorted_vec()
}

#[test]
fn a_search_finds_the_same_whether_or_not_posting_lists_were_kept() {
    let tools = tools();
    let overloads: Vec<Vec<&Tool>> = tools.iter().map(|tool| vec![tool]).collect();
    let overloads: Vec<&[&Tool]> = overloads.iter().map(Vec::as_slice).collect();
    let [mut keeping, mut without] = [(); 2].map(|()| build(&overloads, Analyzer::new()).unwrap().keyword);
    without.postings.cache_at_most(0);
    let first = found(&keeping);
    assert_eq!(first.len(), 40);
    assert!(first.iter().any(|candidate| candidate.terms == 0b11), "both terms are in some");
    assert_eq!(found(&keeping), first, "now they are kept");
    assert_eq!((found(&without), found(&without)), (first.clone(), first.clone()));
    keeping.postings.cache_at_most(0);
    assert_eq!(found(&keeping), first, "what was kept stays");
}
