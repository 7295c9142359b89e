//! What `grep` promises.

use serde_json::{Value, json};
use toolcrib_model::ErrorKind;
use toolcrib_port::ToolEngine;
use toolcrib_sdk::CallContext;

use super::super::{MAX_GREP_FILE_BYTES, MAX_MATCHES, MAX_RESULT_BYTES};
use super::Place;
use crate::tests::authorized;

/// The matches as `path:line: text`.
async fn lines(place: &Place, arguments: Value) -> Vec<String> {
    let found = place.ok("grep", arguments).await;
    assert_eq!(found.get("notes"), None);
    let matches = found["matches"].as_array().unwrap().iter();
    let text = |found: &Value, key: &str| found[key].as_str().unwrap().to_owned();
    matches
        .map(|found| format!("{}:{}: {}", text(found, "path"), found["line"], text(found, "text")))
        .collect()
}

#[tokio::test]
async fn matching_lines_come_with_path_and_number() {
    let place = Place::with_notes();
    assert_eq!(
        lines(&place, json!({"pattern": "milk"})).await,
        ["notes/monday.md:2: Buy milk.", "todo.txt:1: milk"]
    );
    assert_eq!(lines(&place, json!({"pattern": "^m[il]+k$"})).await, ["todo.txt:1: milk"]);
    assert_eq!(
        lines(&place, json!({"pattern": "milk", "ignore_case": true, "path": "notes"})).await,
        ["notes/monday.md:2: Buy milk.", "notes/old/may.txt:1: No MILK left."]
    );
}

#[tokio::test]
async fn a_glob_or_a_file_narrows_the_search() {
    let place = Place::with_notes();
    assert_eq!(lines(&place, json!({"pattern": "milk", "glob": "*.txt"})).await, ["todo.txt:1: milk"]);
    assert_eq!(
        lines(&place, json!({"pattern": "^.*i.*$", "path": "notes", "glob": "old/*.md"})).await,
        ["notes/old/april.md:1: Nothing."]
    );
    assert_eq!(lines(&place, json!({"pattern": "milk", "path": "./todo.txt"})).await, ["todo.txt:1: milk"]);
    let found = place.ok("grep", json!({"pattern": "milk", "path": "todo.txt", "glob": "*.md"})).await;
    assert_eq!(
        found["notes"],
        json!(["`glob` does not match the name of `todo.txt`, which was not searched"])
    );
}

#[tokio::test]
async fn context_is_the_lines_around_as_far_as_there_are_any() {
    let place = Place::new();
    place.put("x.txt", "1\r\n2\r\n3\r\n4 here\r\n5\r\n6");
    let around = async |context| {
        let mut found = place.ok("grep", json!({"pattern": "here", "context": context})).await;
        (found["matches"][0]["before"].take(), found["matches"][0]["after"].take())
    };
    assert_eq!(around(0).await, (Value::Null, Value::Null));
    assert_eq!(around(1).await, (json!(["3"]), json!(["5"])));
    assert_eq!(around(10).await, (json!(["1", "2", "3"]), json!(["5", "6"])));
    let error = place.error("grep", json!({"pattern": "here", "context": 11})).await;
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::InvalidArgs, "`context` is 11, at most 10 lines are returned")
    );
}

#[tokio::test]
async fn a_match_has_all_the_lines_around_it_also_where_those_match_too() {
    let place = Place::new();
    place.put("x.txt", "a1\nb\na2\na3\nc\nd\ne\na4\n");
    let found = place.ok("grep", json!({"pattern": "a", "context": 2})).await;
    let lines = |found: &Value, key| found.get(key).cloned().unwrap_or(json!([]));
    let around = found["matches"].as_array().unwrap().iter();
    let around: Vec<_> =
        around.map(|found| json!([lines(found, "before"), found["text"], lines(found, "after")])).collect();
    assert_eq!(
        json!(around),
        json!([
            [[], "a1", ["b", "a2"]],
            [["a1", "b"], "a2", ["a3", "c"]],
            [["b", "a2"], "a3", ["c", "d"]],
            [["d", "e"], "a4", []],
        ])
    );
}

#[tokio::test]
async fn many_files_are_searched_in_order_whichever_thread_does_it() {
    let place = Place::new();
    for number in 0..1500 {
        place.put(&format!("d{:02}/x{number:04}.txt", number % 40), format!("hay\nneedle {number}\n"));
    }
    let found = place.ok("grep", json!({"pattern": "needle .*7$"})).await;
    let paths = found["matches"].as_array().unwrap().iter();
    let paths: Vec<_> = paths.map(|found| found["path"].as_str().unwrap()).collect();
    assert_eq!(paths.len(), 150);
    assert!(paths.is_sorted());
    let all = place.ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!(all["matches"].as_array().unwrap().len(), MAX_MATCHES);
    for _ in 0..5 {
        assert_eq!(place.ok("grep", json!({"pattern": "needle"})).await, all);
    }
}

#[tokio::test]
async fn only_the_beginning_of_a_long_line_is_searched_and_it_is_counted() {
    let place = Place::new();
    place.put("x.txt", format!("{}needle\nneedle\n", "x".repeat(70_000)));
    let found = place.ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!(
        found,
        json!({
            "matches": [{"path": "x.txt", "line": 2, "text": "needle"}],
            "notes": ["1 line was searched in the first 65536 bytes only"],
        })
    );
}

#[tokio::test]
async fn a_wrong_regular_expression_is_an_error_with_the_words_of_its_parser() {
    let place = Place::new();
    let error = place.error("grep", json!({"pattern": "a(b"})).await;
    assert_eq!(error.kind, ErrorKind::InvalidArgs);
    assert!(error.message.contains("unclosed group"), "{error}");
    let error = place.error("grep", json!({"pattern": "(?=x)"})).await;
    assert!(error.message.contains("look-around"), "{error}");
    let error = place.error("grep", json!({"pattern": r"\w{1000}{1000}"})).await;
    assert!(error.message.contains("exceeds size limit"), "{error}");
}

#[tokio::test]
async fn what_is_not_searched_is_counted() {
    let place = Place::new();
    place.put("x.bin", b"needle\0");
    place.put("y.bin", b"\0needle");
    let mut large = b"hay\n".repeat(usize::try_from(MAX_GREP_FILE_BYTES).unwrap() / 4);
    large.extend(b"needle\n");
    place.put("z.txt", large);
    let found = place.ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!(
        found,
        json!({"matches": [], "notes": [
            "2 files were skipped: binary",
            "1 file was searched in the first 8388608 bytes only",
        ]})
    );
}

#[tokio::test]
async fn a_long_line_is_shown_around_the_match_and_cut_between_characters() {
    let place = Place::new();
    place.put("x.txt", format!("{}needle{}", "é".repeat(500), "ü".repeat(500)));
    let found = place.ok("grep", json!({"pattern": "needle"})).await;
    let text = found["matches"][0]["text"].as_str().unwrap();
    assert_eq!(text, format!("…{}needle{}…", "é".repeat(50), "ü".repeat(147)));
}

#[tokio::test]
async fn matches_are_cut_in_number_and_size_and_say_so() {
    let more = json!(["there are more matches: make `pattern`, `path` or `glob` narrower"]);
    let place = Place::new();
    place.put("x.txt", "needle\n".repeat(MAX_MATCHES));
    assert_eq!(lines(&place, json!({"pattern": "needle"})).await.len(), MAX_MATCHES);
    place.put("y.txt", "needle\n");
    let found = place.ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!((found["matches"].as_array().unwrap().len(), &found["notes"]), (MAX_MATCHES, &more));

    let place = Place::new();
    place.put("x.txt", format!("{}\n", "needle".repeat(50)).repeat(MAX_MATCHES));
    let found = place.ok("grep", json!({"pattern": "needle", "context": 10})).await;
    assert!(found["matches"].as_array().unwrap().len() < MAX_MATCHES);
    assert!(found.to_string().len() < 2 * MAX_RESULT_BYTES);
    assert_eq!(found["notes"], more);
}

#[tokio::test]
async fn a_call_that_has_been_cancelled_searches_nothing() {
    let place = Place::with_notes();
    let context = CallContext::new("test");
    context.cancel.cancel();
    let call = authorized(&place.module, "grep", &json!({"pattern": "milk"})).await;
    let result = place.module.invoke(&call, &context).await;
    assert_eq!(result.error.map(|error| error.kind), Some(ErrorKind::Cancelled));
}
