//! What the measures say of rankings that can be worked out by hand.

use serde_json::json;

use super::name;
use crate::evaluation::{LabelledQuery, evaluate, ndcg_at, recall_at};

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

#[test]
fn a_report_counts_what_was_answered_and_what_was_not() {
    let index = super::workshop();
    let lines = [
        json!({"query": "warnings of storms", "relevant": ["weather_api::getWeatherAlerts"]}),
        json!({"query": "use files.read", "relevant_any": [["database::read", "files::read"], ["mail::send"]]}),
        json!({"query": "zirconium", "relevant": []}),
        json!({"query": "zirconium", "relevant": ["mail::send"]}),
    ];
    let queries: Vec<LabelledQuery> =
        lines.into_iter().map(|line| serde_json::from_value(line).unwrap()).collect();
    let report = evaluate(&index, &queries);
    assert_eq!(report.queries, 4);
    close(report.abstained, 0.5);
    close(report.hit_at_1, 2.0 / 3.0);
    close(report.mrr_at_10, 2.0 / 3.0);
    close(report.recall_at_1, 0.5);
    close(report.recall_at_10, 0.5);
    close(report.completeness_at_10, 1.0 / 3.0);
    assert_eq!(evaluate(&index, &[]), crate::evaluation::Report::default());
}
