//! Scripts: programs whose calls pass the gate, from the command line, of clients, and after a crash.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio::time::{Duration, timeout};

use crate::support::{PATIENCE, RunOutput, TestDir, binary};

/// The number of times that a program is killed in the middle of a script.
const KILLS: usize = 20;

/// The tools of the scripts: `look` only reads, `make` and `sell` have side effects, and `sell` needs approval. Each
/// call writes down its number when it begins.
const TOOLS: &str = r"
name: shop
description: Makes things and sells them.
tools:
  - name: look
    description: Looks at a thing.
    argv: [sh, note.sh, look, '{number}']
    risk: low
    parameters: {type: object, properties: {number: {type: integer}}, required: [number]}
  - name: make
    description: Makes a thing.
    argv: [sh, note.sh, make, '{number}']
    risk: medium
    side_effects: [makes a thing]
    parameters: {type: object, properties: {number: {type: integer}}, required: [number]}
  - name: sell
    description: Sells a thing.
    argv: [sh, note.sh, sell, '{number}']
    risk: medium
    side_effects: [sells a thing]
    parameters: {type: object, properties: {number: {type: integer}}, required: [number]}
  - name: report
    description: Writes a report.
    argv: [sh, report.sh, '{text}']
    risk: low
    parameters: {type: object, properties: {text: {type: string}}, required: [text]}
";

const NOTE: &str = r#"echo "$1 $2" >> ../effects.txt
sleep 0.02
echo "{\"done\": \"$1 $2\"}"
"#;

const REPORT: &str = r#"printf %s "$1" > ../report.part && mv ../report.part ../report.json"#;

/// Ten calls, one after the other, three of which need approval. A call whose outcome is unknown does not end it.
pub(crate) const TEN_CALLS: &str = "
const kinds = ['look', 'make', 'sell', 'make', 'sell', 'look', 'make', 'sell', 'make', 'look'];
const unknown = [];
for (const [number, kind] of kinds.entries()) {
    try {
        await tools.shop[kind]({ number });
    } catch (error) {
        if (error.kind !== 'outcome_unknown') throw error;
        unknown.push(`${kind} ${number}`);
    }
}
return { unknown };
";

/// The kinds of these calls.
pub(crate) const KINDS: [&str; 10] =
    ["look", "make", "sell", "make", "sell", "look", "make", "sell", "make", "look"];

/// Returns a shop whose sales need approval.
pub(crate) fn dir() -> TestDir {
    let app = "
tools:
  registry: [{type: exec, path: ./shop}]
  capabilities:
    default_policy: approve
    grant: [{module: shop, actions: [look, make, report]}, {module: context_builder}]
store: tasks.db
serve: {approve: true}
audit: {path: audit.jsonl}
";
    TestDir::with_app(app)
        .with_file("shop/toolcrib.yaml", TOOLS)
        .with_file("shop/note.sh", NOTE)
        .with_file("shop/report.sh", REPORT)
}

/// Returns the number of times that each call began.
pub(crate) fn effects(dir: &TestDir) -> BTreeMap<String, usize> {
    let mut effects = BTreeMap::new();
    for line in std::fs::read_to_string(dir.path("effects.txt")).unwrap_or_default().lines() {
        *effects.entry(line.to_owned()).or_default() += 1;
    }
    effects
}

/// Returns the ids of the scripts that are not over.
async fn unfinished(dir: &TestDir) -> Vec<String> {
    let listed = dir.run(["tasks", "app.yaml", "--json"]).await.expect(0).json();
    let tasks = listed["tasks"].as_array().unwrap().iter();
    tasks
        .filter(|task| task["kind"] == "script")
        .map(|task| task["id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_script_is_explained_paused_and_resumed_on_the_command_line() {
    let dir = dir().with_file(
        "sale.js",
        "const { done } = await tools.shop.look({ number: 1 });\n\
         console.log('looked at', done);\n\
         await Promise.all([tools.shop.make({ number: 2 }), tools.shop.sell({ number: 3 })]);\n\
         return 'sold';\n",
    );
    let paused = dir.run(["script", "app.yaml", "sale.js", "--explain"]).await.expect(4);
    let [id] = unfinished(&dir).await.try_into().expect("one paused script");
    let again = dir.run(["script", "app.yaml", "--resume", &id]).await.expect(4);
    let resumed = dir.run(["script", "app.yaml", "--resume", &id, "--yes", "--explain"]).await.expect(0);
    assert_eq!(resumed.stdout, "sold\n");
    let gone = dir.run(["script", "app.yaml", "--resume", &id]).await.expect(1);
    let mut settings = dir.snapshot_settings();
    settings.add_filter(r"script_[0-9a-f]{16}", "[script]");
    settings.add_filter(r"\d+\.\d ms", "[ms]");
    let reports = [&paused, &again, &resumed, &gone].map(RunOutput::report).join("\n");
    settings.bind(|| insta::assert_snapshot!("a_script_is_explained_paused_and_resumed", reports));
    assert_eq!(effects(&dir).into_values().collect::<Vec<_>>(), [1, 1, 1], "each call was made once");
    assert!(unfinished(&dir).await.is_empty());
}

#[tokio::test]
async fn a_script_that_is_wrong_says_where_and_how_to_mend_it() {
    let dir = dir()
        .with_file("syntax.js", "const a = 1;\nconst b: number = 2;\n")
        .with_file("thrown.js", "const a = {};\n\nreturn a.b.c;\n")
        .with_file("loop.js", "for (;;) {}\n")
        .with_file("denied.js", "await tools.shop.burn({});\n")
        .with_file("wrong.js", "await tools.shop.look({ numbr: 'x' });\n");
    let mut reports = Vec::new();
    for file in ["syntax.js", "thrown.js", "loop.js", "denied.js", "wrong.js", "missing.js"] {
        reports.push(format!("# {file}\n{}", dir.run(["script", "app.yaml", file]).await.report()));
    }
    let off =
        TestDir::with_app("runtime: {scripts: off}\nserve: {scripts: off}\n").with_file("a.js", "return 1");
    reports.push(format!("# off\n{}", off.run(["script", "app.yaml", "a.js"]).await.report()));
    dir.snapshot_settings().bind(|| insta::assert_snapshot!("a_script_that_is_wrong", reports.join("\n")));
}

#[tokio::test]
async fn the_limits_of_scripts_are_those_of_the_app() {
    let app = "execution: {scripts: {calls: 2, cpu_seconds: 1, source_bytes: 200}}";
    let dir = TestDir::with_app(app)
        .with_file("calls.js", "for (;;) await tools.context_builder.list_categories({})")
        .with_file("loop.js", "for (;;) {}")
        .with_file("long.js", format!("return '{}'", "x".repeat(200)));
    let mut errors = Vec::new();
    for file in ["calls.js", "loop.js", "long.js"] {
        errors.push(dir.run(["script", "app.yaml", file]).await.expect(1).report());
    }
    dir.snapshot_settings().bind(|| insta::assert_snapshot!("the_limits_of_scripts", errors.join("\n")));
}

#[tokio::test]
async fn a_record_of_each_call_names_its_script() {
    let dir = dir().with_file(
        "three.js",
        "for (let number = 0; number < 3; number++) await tools.shop.look({ number })",
    );
    let report = dir.run(["script", "app.yaml", "three.js", "--json"]).await.expect(0).json();
    let id = report["script_id"].as_str().unwrap();
    let calls: Vec<_> = report["calls"].as_array().unwrap().iter().map(|call| call["tool"].clone()).collect();
    assert_eq!(calls, ["shop.look"; 3]);
    let records: Vec<Value> =
        dir.read("audit.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<_> = records.iter().map(|record| record["call_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, [0, 1, 2].map(|number| format!("{id}.{number}")));
}

/// Runs the binary and kills it when this number of calls has begun, or after a time that differs from case to case.
async fn killed(dir: &TestDir, arguments: &[&str], number: usize, after: usize) {
    let mut child = dir.command(binary(), &dir.path(".")).args(arguments).spawn().unwrap();
    let begun = || effects(dir).values().sum::<usize>();
    let ended = async {
        loop {
            if begun() >= after {
                // Before, during and after the call, and while its result is stored.
                let moment = u64::try_from(number % 5).unwrap() * 9;
                if timeout(Duration::from_millis(moment), child.wait()).await.is_err() {
                    child.kill().await.unwrap();
                }
                return;
            }
            if child.try_wait().unwrap().is_some() {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, ended).await.expect("the script runs");
}

/// Checks that each of the ten calls with a side effect happened once, or is reported as unknown. Returns the number of
/// those reported.
pub(crate) fn assert_each_once_or_unknown(dir: &TestDir, number: usize, unknown: &Value) -> usize {
    let effects = effects(dir);
    for (call, times) in &effects {
        assert!(*times == 1 || call.starts_with("look"), "kill {number}: `{call}` happened {times} times");
    }
    let unknown = unknown.as_array().unwrap_or_else(|| panic!("kill {number}: {unknown} is no list"));
    for (place, kind) in KINDS.into_iter().enumerate() {
        let call = format!("{kind} {place}");
        let is_known = effects.contains_key(&call) || unknown.contains(&call.as_str().into());
        assert!(is_known, "kill {number}: `{call}` neither happened nor is reported");
    }
    unknown.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_side_effect_of_a_script_happens_twice_when_its_program_is_killed() {
    let (mut over, mut unknown) = (0, 0);
    for number in 0..KILLS {
        let dir = dir().with_file("ten.js", TEN_CALLS);
        // Every other script pauses first, without an approver.
        if number % 2 == 1 {
            dir.run(["script", "app.yaml", "ten.js"]).await.expect(4);
        }
        let waiting = unfinished(&dir).await;
        let after = number / 5 + 1;
        match waiting.first() {
            Some(id) => killed(&dir, &["script", "app.yaml", "--resume", id, "--yes"], number, after).await,
            None => killed(&dir, &["script", "app.yaml", "ten.js", "--yes"], number, after).await,
        }
        dir.assert_nothing_is_left(&[]).await;
        let resumed = match unfinished(&dir).await.first() {
            Some(id) => Some(
                dir.run(["script", "app.yaml", "--resume", id, "--yes", "--json"]).await.expect(0).json(),
            ),
            None => None,
        };
        match resumed {
            Some(resumed) => {
                unknown += assert_each_once_or_unknown(&dir, number, &resumed["result"]["unknown"]);
            }
            // It had made no call with a side effect, or had ended.
            None => over += 1,
        }
    }
    eprintln!(
        "{KILLS} kills: no side effect twice; {unknown} reported as unknown; {over} had nothing to resume"
    );
}
