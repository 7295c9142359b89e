//! What a script can compute and reach, and how it ends.

use serde_json::json;
use toolcrib_script::{Outcome, ScriptError};

use super::support::{Lab, Test, workers};
use crate::tests;

pub(crate) const TESTS: &[Test] = tests![
    a_script_returns_its_value,
    equal_scripts_see_the_same_time_and_random_numbers,
    a_mistake_is_reported_with_its_line_and_column,
    typescript_gets_a_hint,
    a_script_has_no_way_out_of_its_language,
    a_script_ends_at_each_of_its_limits,
    the_console_is_kept_up_to_its_limit,
    a_result_that_is_no_json_is_refused,
    the_worker_of_a_dropped_script_ends,
];

async fn a_script_returns_its_value() {
    let lab = Lab::new();
    assert_eq!(lab.value("return [1, 2].map(n => n * 2)").await, json!([2, 4]));
    assert_eq!(lab.value("const a = 1 // a comment").await, json!(null));
    assert_eq!(
        lab.value("return {a: undefined, b: new Date()}").await,
        json!({"b": "2027-01-15T08:00:00.000Z"})
    );
}

async fn equal_scripts_see_the_same_time_and_random_numbers() {
    let lab = Lab::new();
    let source =
        "return [Math.random(), Math.random(), Date.now(), new Date().getFullYear(), Date().length > 0]";
    let first = lab.value(source).await;
    assert_eq!(first, lab.value(source).await);
    assert_ne!(first[0], first[1]);
    assert_eq!(first[2], json!(1_800_000_000_000_u64));
}

async fn a_mistake_is_reported_with_its_line_and_column() {
    let lab = Lab::new();
    let thrown = lab.error("const a = 1;\nnull.x").await;
    let ScriptError::Thrown { name, line, .. } = thrown else {
        panic!("expected an exception, found {thrown:?}")
    };
    assert_eq!((name.as_str(), line), ("TypeError", Some(2)));
    let syntax = lab.error("const a = 1;\nconst b = ;").await;
    let ScriptError::Thrown { name, line, .. } = syntax else {
        panic!("expected a syntax error, found {syntax:?}")
    };
    assert_eq!((name.as_str(), line), ("SyntaxError", Some(2)));
    // An attempt to leave the function that the script is the body of.
    assert!(matches!(lab.error("})(); (() => {").await, ScriptError::Result { .. }));
}

async fn typescript_gets_a_hint() {
    let error = Lab::new().error("const a: number = 1; return a").await.to_tool_error();
    assert_eq!(error.hint.as_deref(), Some("write plain JavaScript, without types and imports"));
}

async fn a_script_has_no_way_out_of_its_language() {
    let lab = Lab::new();
    let globals = "return ['require', 'process', 'std', 'os', 'fetch', 'setTimeout', 'performance', 'WeakRef', 'Worker', \
                   'navigator', 'scriptArgs', 'print', '__loadScript'].filter(name => name in globalThis)";
    assert_eq!(lab.value(globals).await, json!([]));
    let import = lab.error("return await import('os')").await;
    assert!(matches!(import, ScriptError::Thrown { .. }), "{import:?}");
}

async fn a_script_ends_at_each_of_its_limits() {
    let lab = Lab::new();
    assert_eq!(lab.error("for (;;) {}").await, ScriptError::CpuTime { limit_ms: 1_000 });
    assert_eq!(
        lab.error("const all = []; for (;;) all.push('x'.repeat(9999))").await,
        ScriptError::Memory { limit: 33_554_432 }
    );
    let source = format!("/*{}*/", " ".repeat(65_536));
    assert!(matches!(lab.error(&source).await, ScriptError::SourceTooLong { limit: 65_536, .. }));
    assert_eq!(lab.error("await new Promise(() => {})").await, ScriptError::Stalled);
    let recursion = lab.error("const f = () => f() + 1; f()").await;
    assert!(
        matches!(&recursion, ScriptError::Thrown { name, .. } if name == "RangeError" || name == "InternalError"),
        "{recursion:?}"
    );
    // The next script starts as usual.
    assert_eq!(lab.value("return 1").await, json!(1));
}

async fn the_console_is_kept_up_to_its_limit() {
    let mut lab = Lab::new();
    lab.limits.console_bytes = 41;
    let report = lab
        .run("console.log('a', {b: 1}, [undefined]); for (let i = 0; i < 99; i++) console.log('0123456789')")
        .await;
    assert_eq!(report.console, "a {\"b\":1} [null]\n0123456789\n0123456789\n01\n(the console is full)\n");
    assert_eq!(report.outcome, Outcome::Ended(Ok(json!(null))));
}

async fn a_result_that_is_no_json_is_refused() {
    let lab = Lab::new();
    assert!(matches!(lab.error("const a = []; a.push(a); return a").await, ScriptError::Result { .. }));
    assert!(matches!(lab.error("return 1n").await, ScriptError::Result { .. }));
    assert!(matches!(lab.error("return 'x'.repeat(2 ** 20)").await, ScriptError::Result { .. }));
}

async fn the_worker_of_a_dropped_script_ends() {
    let lab = Lab::new();
    // The warm worker takes the place of the one that the script had.
    let cut = tokio::time::timeout(std::time::Duration::from_millis(100), lab.run("for (;;) {}")).await;
    assert!(cut.is_err());
    assert_eq!(lab.value("return 1").await, json!(1));
    drop(lab);
    workers::assert_gone().await;
}
