//! Rows and figures.

#![expect(clippy::cast_precision_loss, clippy::format_collect, reason = "the texts and numbers are small")]

use serde_json::{Value, json};
use toolcrib_port::CallContext;

use super::{handle, reading, results, shaped};

fn context() -> CallContext {
    CallContext::new("s")
}

/// Asks something of a value that is too large.
async fn ask(value: impl Into<Value>, how: Value) -> Result<Value, String> {
    let results = results();
    let cut = handle(&shaped(&results, value, &context()));
    reading(&results, &cut, how, &context()).await.map_err(|error| error.to_string())
}

fn items() -> Value {
    let item = |at: usize| {
        json!({
            "sku": format!("A-{at}"), "stock": at % 50, "price": (at % 7) as f64 / 10.0, "kind": (if at.is_multiple_of(2) { "big" } else { "small" }),
            "of": {"maker": at % 3},
        })
    };
    json!({"at": "2026", "page": {"items": (0..1_000).map(item).collect::<Vec<_>>()}, "few": [1, 2]})
}

#[tokio::test]
async fn rows_are_chosen_sorted_and_cut_to_fields() {
    for (how, expected) in [
        (
            json!({"where": "stock < 1 && kind == 'big'", "fields": ["sku"], "limit": 2}),
            json!({"matches": 20, "of": "$.page.items", "values": [{"sku": "A-0"}, {"sku": "A-50"}]}),
        ),
        (
            json!({"where": "stock >= 49 and not (of.maker = 0)", "sort": "-of.maker, -sku", "fields": ["sku", "of.maker"], "limit": 1}),
            json!({"matches": 13, "of": "$.page.items", "values": [{"sku": "A-899", "of.maker": 2}]}),
        ),
        (json!({"where": "sku =~ '-99$'", "count": true}), json!({"matches": 1, "of": "$.page.items"})),
        (json!({"jsonpath": "$.few", "sort": "-."}), json!({"matches": 2, "of": "$.few", "values": [2, 1]})),
        (
            json!({"limit": 1, "fields": ["sku,stock"]}),
            json!({"matches": 1000, "of": "$.page.items", "values": [{"sku": "A-0", "stock": 0}]}),
        ),
    ] {
        assert_eq!(ask(items(), how.clone()).await.unwrap(), expected, "{how}");
    }
}

#[tokio::test]
async fn figures_are_computed_over_all_rows_or_by_group() {
    for (how, expected) in [
        (json!({"sum": "price"}), json!({"matches": 1000, "of": "$.page.items", "sum": 299.7})),
        (
            json!({"sum": "price * stock", "max": "sku", "mean": "stock", "min": "stock"}),
            json!({"matches": 1000, "of": "$.page.items", "sum": 7330.4, "min": 0, "max": "A-999", "mean": 24.5}),
        ),
        (
            json!({"group_by": "kind", "sum": "stock"}),
            json!({"matches": 1000, "of": "$.page.items", "groups": 2, "values": [
                {"kind": "big", "count": 500, "sum": 12000}, {"kind": "small", "count": 500, "sum": 12500}]}),
        ),
        (
            json!({"group_by": "of.maker,kind", "where": "stock > 48", "limit": 1}),
            json!({"matches": 20, "of": "$.page.items", "groups": 3, "values": [{"of.maker": 1, "kind": "small", "count": 7}]}),
        ),
        (
            json!({"sum": "sku"}),
            json!({"matches": 1000, "of": "$.page.items", "sum": 0, "sum_skipped": 1000}),
        ),
    ] {
        assert_eq!(ask(items(), how.clone()).await.unwrap(), expected, "{how}");
    }
}

#[tokio::test]
async fn tables_and_lines_of_text_have_rows_too() {
    let table: String =
        (0..500).map(|at| format!("A-{at};{};\"x;\"\"y\"\"\";{:03}\n", at % 10, at)).collect();
    let table = format!("sku;qty;note;code\n{table}");
    let found = ask(table.clone(), json!({"where": "qty == 9 && code == 19"})).await.unwrap();
    let row = json!({"sku": "A-19", "qty": 9, "note": "x;\"y\"", "code": "019"});
    assert_eq!(found, json!({"matches": 1, "values": [row]}));
    assert_eq!(ask(table, json!({"sum": "qty"})).await.unwrap(), json!({"matches": 500, "sum": 2250}));
    let lines: String = (0..500).map(|at| format!("{{\"n\": {at}, \"text\": \"line\"}}\n")).collect();
    assert_eq!(ask(lines, json!({"max": "n"})).await.unwrap(), json!({"matches": 500, "max": 499}));
    let log: String = (0..500)
        .map(|at| format!("gate {} {}\n", at % 4, if at % 5 == 0 { "timeout" } else { "ok" }))
        .collect();
    assert_eq!(
        ask(log.clone(), json!({"grep": "gate 3 timeout", "count": true})).await.unwrap(),
        json!({"count": 25, "lines": 500})
    );
    let first = ask(log.clone(), json!({"grep": "gate 3 timeout", "limit": 1})).await.unwrap();
    assert_eq!(
        first,
        "16: gate 3 timeout\n[25 matching lines in 500 lines, of which the first 1 are listed]"
    );
    let found =
        ask(log, json!({"where": "text =~ 'gate 3 timeout'", "fields": ["line"], "limit": 1})).await.unwrap();
    assert_eq!(found, json!({"matches": 25, "values": [{"line": 16}]}));
}

#[tokio::test]
async fn what_cannot_be_asked_is_told_with_what_can() {
    for (how, expected) in [
        (
            json!({"sum": "prise"}),
            "no row has a field `prise`, did you mean `price`?; the fields are: sku, stock, price, kind, of",
        ),
        (json!({"where": "stok < 2"}), "no row has a field `stok`, did you mean `stock`?"),
        (json!({"where": "stock <"}), "`where` is not a valid condition"),
        (json!({"fields": ["nothing"]}), "no row has a field `nothing`"),
        (json!({"jq": ".", "count": true}), "`jq` cannot be combined with other arguments"),
        (json!({"jq": ".", "grep": "x"}), "only one of"),
    ] {
        let error = ask(items(), how.clone()).await.unwrap_err();
        assert!(error.contains(expected), "{how}: {error}");
    }
    assert_eq!(
        ask(items(), json!({"where": "stock > 100", "fields": ["sku"]})).await.unwrap(),
        json!({"matches": 0, "of": "$.page.items", "values": []})
    );
}

#[tokio::test]
async fn rows_that_do_not_fit_come_in_pages_a_line_each() {
    let page = ask(items(), json!({"fields": ["sku"], "page": 2})).await.unwrap();
    let text = page.as_str().unwrap();
    assert!(text.starts_with("{\"sku\":\"A-"), "{text}");
    assert!(text.contains("[page 2 of about ") && text.contains("next_page=3"), "{text}");
}
