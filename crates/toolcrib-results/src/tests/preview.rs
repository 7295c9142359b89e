//! What stands for a result that is not given whole.

#![expect(clippy::cast_precision_loss, clippy::format_collect, reason = "the texts and numbers are small")]

use proptest::prelude::*;
use serde_json::{Value, json};
use toolcrib_port::CallContext;

use super::{handle, reading, shaped};
use crate::preview::outline::Outline;
use crate::{MIN_RESULT_TOKENS, PREVIEW_TOKENS, ResultLimits, Results, TokenCounter};

/// Splits texts as tokenizers do, roughly: words, and single characters of anything else.
fn count(text: &str) -> u32 {
    let mut tokens = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c.is_ascii_alphabetic() { run + 1 } else { 0 };
        tokens += u32::from(run % 6 <= 1) * u32::from(run == 0 || run % 6 == 1);
    }
    tokens
}

fn results(tokens: u32) -> Results {
    Results::new(ResultLimits { tokens, ..ResultLimits::default() }).with_counter(TokenCounter::new(count))
}

fn context() -> CallContext {
    CallContext::new("s")
}

/// The tokens of a result as a model reads it.
fn tokens(result: &Value) -> u32 {
    match result {
        Value::String(text) => count(text),
        other => count(&other.to_string()),
    }
}

fn orders() -> Value {
    let status = ["open", "paid", "void"];
    let order = |at: usize| {
        let mut order = json!({
            "id": at, "status": status[at % 3], "total": at as f64 / 4.0, "day": format!("2026-{:02}-01", 1 + at % 12),
            "lines": vec![json!({"sku": format!("A-{at}"), "qty": at % 7}); at % 3],
        });
        if at.is_multiple_of(2) {
            order["note"] = Value::Null;
        }
        order
    };
    json!({"updated": "2026-11-01", "orders": (0..4_000).map(order).collect::<Vec<_>>(), "next": null})
}

#[test]
fn an_outline_tells_keys_types_counts_ranges_and_choices() {
    let outline = Outline::of(&orders()).within(1_000, &TokenCounter::default());
    insta::assert_snapshot!("outline", outline);
    let short = Outline::of(&orders()).within(40, &TokenCounter::default());
    insta::assert_snapshot!("short_outline", short);
    let map: serde_json::Map<_, _> = (0..500).map(|at| (format!("k{at}"), json!({"n": at}))).collect();
    let map = Outline::of(&Value::Object(map)).within(1_000, &TokenCounter::default());
    insta::assert_snapshot!("outline_of_a_map", map);
}

#[test]
fn a_preview_is_the_shape_the_first_three_items_and_how_to_ask_for_more() {
    // A handle has as many bytes as any other, so that a preview is the same each time.
    let results = Results::default();
    let list = shaped(&results, orders(), &context());
    let told = serde_json::to_string_pretty(&list.result).unwrap();
    insta::assert_snapshot!("preview_of_a_list", told.replace(&handle(&list), "r_…"));
    let log: String = (0..5_000)
        .map(|at| format!("2026-11-01T10:00:{:02} INFO gate {} opened\n", at % 60, at % 5))
        .collect();
    let log = shaped(&results, log, &context());
    insta::assert_snapshot!("preview_of_a_log", log.result.as_str().unwrap().replace(&handle(&log), "r_…"));
    let rows: String = (0..5_000)
        .map(|at| format!("A-{},2026-01-{:02},{},\"x, y\"\n", at % 50, 1 + at % 28, at % 9))
        .collect();
    let table = shaped(&results, format!("sku,day,qty,note\n{rows}"), &context());
    insta::assert_snapshot!(
        "preview_of_a_table",
        table.result.as_str().unwrap().replace(&handle(&table), "r_…")
    );
}

#[test]
fn pictures_stay_beside_a_long_text() {
    let blocks = json!([
        {"type": "text", "text": "word ".repeat(50_000)},
        {"type": "image", "mimeType": "image/png", "data": "QUJD".repeat(100)},
        {"type": "text", "text": "word ".repeat(50_000)},
        {"type": "text", "text": "word ".repeat(50_000)},
        {"type": "audio", "mimeType": "audio/wav", "data": "QUJD".repeat(100)},
    ]);
    let result = shaped(&results(6_000), blocks, &context()).result;
    let kinds: Vec<_> =
        toolcrib_model::result::media_handles(&result, 10).iter().map(|media| media.kind).collect();
    assert_eq!(kinds, ["image", "audio"], "{result}");
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f32>().prop_map(|number| json!(f64::from(number))),
        ".{0,40}".prop_map(Value::from),
        "[a-z ]{0,2000}".prop_map(Value::from),
    ];
    let small = leaf.prop_recursive(3, 20, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((".{0,30}", inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    });
    let repeated = |(item, count): (Value, usize)| Value::from(vec![item; count]);
    prop_oneof![
        1 => small.clone(),
        2 => (small.clone(), 1..100_usize).prop_map(repeated),
        1 => (small, 1..100_usize).prop_map(move |list| json!({"rows": repeated(list), "at": "2026-11-01"})),
    ]
}

/// Reads all pages of a handle, none of which may be over the bound.
fn pages(results: &Results, handle: &str, most: u32) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (mut whole, mut page) = (String::new(), 1);
    loop {
        let context = context();
        let read = runtime.block_on(reading(results, handle, json!({"page": page}), &context)).unwrap();
        let read = read.as_str().unwrap();
        assert!(count(read) <= most, "page {page} has {} tokens", count(read));
        let (part, note) = read.rsplit_once('[').unwrap();
        whole.push_str(part);
        if !note.contains("next_page") {
            return whole;
        }
        page += 1;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_over_its_bound_and_nothing_is_out_of_reach(value in values(), most in 250..2_000_u32) {
        prop_assert_eq!(MIN_RESULT_TOKENS, 250);
        let results = results(most);
        let result = shaped(&results, value.clone(), &context());
        prop_assert!(tokens(&result.result) <= most);
        if result.metadata.contains_key("handle") {
            prop_assert!(tokens(&result.result) <= PREVIEW_TOKENS);
            // A page that ends within a line has a break before its note. JSON has breaks between its tokens alone.
            let whole = pages(&results, &handle(&result), most).replace('\n', "");
            match value {
                Value::String(text) => prop_assert_eq!(whole, text.replace('\n', "")),
                value => prop_assert_eq!(serde_json::from_str::<Value>(&whole).unwrap(), value),
            }
        } else {
            prop_assert_eq!(result.result, value);
        }
    }
}
