//! What the measures say of rankings that can be worked out by hand.

use serde_json::json;

use super::name;
use crate::evaluation::{LabelledQuery, ndcg_at, recall_at};

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9, "{a} is not {b}");
}

#[test]
fn ndcg_and_recall_are_those_of_the_literature() {
    let needed = [vec!["a"], vec!["b"]];
    let ideal = 1.0 + 1.0 / 3f64.log2();
    for (ranked, ndcg, recall) in [
        (vec!["a", "b", "x"], 1.0, 1.0),
        (vec!["b", "a"], 1.0, 1.0),
        (vec!["x", "a", "y", "b"], (1.0 / 3f64.log2() + 1.0 / 5f64.log2()) / ideal, 1.0),
        (vec!["a", "x"], 1.0 / ideal, 0.5),
        (vec!["x", "y"], 0.0, 0.0),
        (vec![], 0.0, 0.0),
    ] {
        close(ndcg_at(10, &ranked, &needed), ndcg);
        close(recall_at(10, &ranked, &needed), recall);
    }
    close(ndcg_at(1, &["a"], &needed), 1.0);
    close(recall_at(1, &["x", "a", "b"], &needed), 0.0);
}

#[test]
fn a_group_counts_once_at_its_best_member() {
    let needed = [vec!["a", "b"], vec!["c"]];
    close(ndcg_at(10, &["b", "a", "c"], &needed), (1.0 + 0.5) / (1.0 + 1.0 / 3f64.log2()));
    close(recall_at(10, &["b", "a"], &needed), 0.5);
}

#[test]
fn a_tool_serves_one_group_only() {
    let needed = [vec!["a"], vec!["a", "b"]];
    close(ndcg_at(10, &["a", "b"], &needed), 1.0);
    close(recall_at(10, &["a"], &needed), 0.5);
}

#[test]
fn nothing_needed_is_zero() {
    close(ndcg_at(10, &["a"], &[]), 0.0);
    close(recall_at(10, &["a"], &[]), 0.0);
}

#[test]
fn both_forms_of_a_line_are_read() {
    let read = |line| serde_json::from_value::<LabelledQuery>(line).unwrap().needed;
    assert_eq!(
        read(json!({"query": "q", "relevant": ["a::b", "c::d"], "lang": "en"})),
        [[name("a::b")], [name("c::d")]]
    );
    assert_eq!(
        read(json!({"query": "q", "relevant_any": [["a::b", "c::d"]]})),
        [[name("a::b"), name("c::d")]]
    );
    assert!(read(json!({"query": "q", "relevant": []})).is_empty());
}
