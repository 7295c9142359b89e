//! What programs promise.

use serde_json::{Value, json};
use toolcrib_model::ErrorKind;

use super::meter::Limits;
use super::{run, run_within};
use crate::read_result::cancellable_search::CancelFlag;

fn jq(program: &str, input: Value) -> Result<Vec<Value>, String> {
    run(program, input, &CancelFlag::default()).map_err(|error| error.to_string())
}

#[test]
fn programs_of_the_manual_give_what_the_manual_says() {
    for (program, input, expected) in [
        (".", json!({"a": [1, 2.5, null]}), json!([{"a": [1, 2.5, null]}])),
        (".foo.bar?", json!({"foo": {"bar": 42}}), json!([42])),
        (".[2:4]", json!(["a", "b", "c", "d", "e"]), json!([["c", "d"]])),
        (".[-1]", json!([1, 2]), json!([2])),
        (".[]", json!([1, [2]]), json!([1, [2]])),
        ("[.[] | tostring]", json!([1, "1", [1]]), json!([["1", "1", "[1]"]])),
        ("map(.a + 1)", json!([{"a": 1}, {"a": null}]), json!([[2, 1]])),
        ("map(select(.stock < 2) | .sku) | length", json!([{"stock": 1}, {"stock": 2}]), json!([1])),
        ("map(.qty * .price) | add", json!([{"qty": 2, "price": 1.5}, {"qty": 1, "price": 4}]), json!([7.0])),
        (
            "group_by(.a) | map({a: .[0].a, n: length})",
            json!([{"a": 2}, {"a": 1}, {"a": 2}]),
            json!([[{"a": 1, "n": 1}, {"a": 2, "n": 2}]]),
        ),
        ("to_entries", json!({"a": 1}), json!([[{"key": "a", "value": 1}]])),
        ("with_entries(.value += 1)", json!({"a": 1}), json!([{"a": 2}])),
        ("[paths]", json!({"a": [1]}), json!([[["a"], ["a", 0]]])),
        (".a.b |= . + 1", json!({"a": {"b": 1}}), json!([{"a": {"b": 2}}])),
        ("del(.[1, 2])", json!([1, 2, 3, 4]), json!([[1, 3]])),
        ("sort_by(-.n) | first.n", json!([{"n": 1}, {"n": 3}]), json!([3])),
        (
            "min_by(.n).n, max_by(.n).n, (map(.n) | unique)",
            json!([{"n": 3}, {"n": 1}, {"n": 3}]),
            json!([1, 3, [1, 3]]),
        ),
        ("[.[] | test(\"^a\"; \"i\")]", json!(["Ab", "b"]), json!([[true, false]])),
        ("capture(\"(?<y>\\\\d+)-(?<m>\\\\d+)\")", json!("2026-11"), json!([{"y": "2026", "m": "11"}])),
        ("gsub(\"a\"; \"b\")", json!("banana"), json!(["bbnbnb"])),
        ("split(\", \") | join(\"-\")", json!("a, b"), json!(["a-b"])),
        ("[limit(3; repeat(1))]", json!(null), json!([[1, 1, 1]])),
        ("reduce .[] as $x (0; . + $x)", json!([1, 2, 3]), json!([6])),
        ("[.[] as {a: $x} | $x]", json!([{"a": 1}]), json!([[1]])),
        ("def twice: . * 2; map(twice)", json!([1, 2]), json!([[2, 4]])),
        ("try error(\"no\") catch .", json!(null), json!(["no"])),
        ("if . > 1 then \"many\" else \"few\" end", json!(2), json!(["many"])),
        ("\"\\(.a) items\"", json!({"a": 3}), json!(["3 items"])),
        ("[range(0; 10; 3)]", json!(null), json!([[0, 3, 6, 9]])),
        (
            "flatten, (.[1] | tojson), ([.[] | numbers])",
            json!([1, [2, [3]]]),
            json!([[1, 2, 3], "[2,[3]]", [1]]),
        ),
        ("tonumber? // \"none\"", json!("12"), json!([12])),
        ("any(. > 2), all(. > 0), (. - [1]), index(2)", json!([1, 2, 3]), json!([true, true, [2, 3], 1])),
    ] {
        assert_eq!(jq(program, input).map(Value::from), Ok(expected), "{program}");
    }
}

#[test]
fn a_program_that_is_none_or_fails_says_where_and_why() {
    for (program, expected) in [
        (".items[", "at the arrow"),
        ("map(select(.a)", "at the arrow"),
        (".a b", "at the arrow: .a →b"),
        ("mapp(.a)", "`jq` has no filter `mapp` here, did you mean `map`?"),
        ("$ENV.PATH", "has no filter `$ENV`"),
        ("env", "has no filter `env`"),
        ("input", "has no filter `input`"),
        ("now", "has no filter `now`"),
        ("halt", "has no filter `halt`"),
        ("import \"a\" as a; .", "cannot import modules"),
        (".a.b", "cannot index [1,2] with \"a\""),
        ("error(\"mine\")", "`jq` failed: \"mine\""),
    ] {
        let error = jq(program, json!([1, 2])).unwrap_err();
        assert!(error.contains(expected), "{program}: {error}");
    }
}

#[test]
fn a_program_that_costs_too_much_is_ended() {
    let limits = Limits { steps: 300_000, bytes: 1 << 20 };
    for program in [
        "def f: f; f",
        "def f: 1 + f; f",
        "def f: [f]; f",
        "def f: ., f; last(f)",
        "last(repeat(1))",
        "try (def f: f; f) catch 1",
        "until(false; . + 1)",
        "[range(1e12)]",
        "[repeat(1)] | length",
        "reduce range(1e12) as $x (\"\"; . + \"aaaaaaaaaaaaaaaa\")",
        "\"aaaaaaaa\" * 1000000000",
        "reduce range(1e9) as $i (null; [.])",
        "reduce range(1e9) as $i (0; {a: .})",
        "[recurse([., .])] | length",
        "[range(300)] | [combinations(5)]",
        "[range(100000)] | [.[] as $a | .[] as $b | select($a == $b)]",
        "repeat(1)",
    ] {
        let error = run_within(program, json!(0), &CancelFlag::default(), limits).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::LimitReached | ErrorKind::InvalidArgs), "{program}: {error}");
        assert!(
            error.message.contains("more than") || error.message.contains("too deep"),
            "{program}: {error}"
        );
    }
}

#[test]
fn a_deep_program_is_refused_or_runs_and_takes_no_more_stack_than_there_is() {
    for (open, close) in
        [("(", ")"), ("[", "]"), ("-", ""), ("try ", ""), (".a|", ""), ("{a:", "}"), ("\"\\(", ")\"")]
    {
        let count = 1_900 / (open.len() + close.len());
        let program = format!("{}1{}", open.repeat(count), close.repeat(count));
        let _ = jq(&program, json!(null));
    }
    assert!(jq(&"1,".repeat(5_000), json!(null)).unwrap_err().contains("longer than"));
}

#[test]
fn a_program_that_nobody_waits_for_any_more_ends() {
    let cancel = CancelFlag::default();
    drop(cancel.cancel_on_drop());
    let error = run("def f: f; f", json!(null), &cancel).unwrap_err();
    assert!(error.message.contains("was cancelled"), "{error}");
}
