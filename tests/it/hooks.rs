//! Hooks of an app file, in front of the real program.

use axum::Json;
use axum::response::IntoResponse as _;
use serde_json::json;
use toolcrib_testkit::{Canary, Hit};

use crate::serve::client::Served;
use crate::support::TestDir;

const TOOLS: &str = "shop: [{name: touch, description: Leaves a trace.}]\n";

fn dir(hooks: &str) -> TestDir {
    let app = format!(
        "
hooks:
{hooks}
audit: {{path: audit.jsonl}}
tools:
  registry: [{{type: file, path: tools.yaml, engine: shop}}]
  engines:
    shop: {{type: command, argv: [sh, -c, 'echo ran >> ran.txt; echo done', sh]}}
  capabilities: {{default_policy: grant}}
"
    );
    TestDir::with_app(&app).with_file("tools.yaml", TOOLS)
}

#[tokio::test]
async fn a_hook_that_runs_its_own_call_again_is_a_cycle_and_is_refused() {
    let dir = dir("  - {name: again, when: before, run: [sh, again.sh], env: {PROGRAM: \"${TOOLCRIB}\"}}")
        .with_file(
            "again.sh",
            "\"$PROGRAM\" call app.yaml shop.touch > said.txt 2>&1\necho '{\"verdict\": \"allow\"}'\n",
        );
    dir.run(["call", "app.yaml", "shop.touch"]).await.expect(0);
    let said = dir.read("said.txt");
    assert!(said.contains("the hook `again` denied the call") && said.contains("a cycle of hooks"), "{said}");
    assert_eq!(dir.read("ran.txt"), "ran\n", "only the call of the person ran");
}

#[tokio::test]
async fn a_webhook_that_calls_the_app_again_over_http_is_a_cycle_and_is_refused() {
    let server = Canary::start(|_: &Hit| Json(json!({"verdict": "allow"})).into_response()).await.unwrap();
    let dir = dir(&format!("  - {{name: again, when: before, url: {}}}", server.url("/")));
    let served = Served::start(&dir, &[]).await;
    let call = json!({"name": "shop__touch", "arguments": {}});
    let first = served.modern(&[], "tools/call", call.clone()).await;
    assert_eq!(first["result"]["isError"], json!(false), "{first:#}");
    let [hit] = server.hits().try_into().unwrap();
    let chain = hit.header("toolcrib-hooks").to_owned();
    let again = served.modern(&[("toolcrib-hooks", &chain)], "tools/call", call).await;
    assert!(again.to_string().contains("a cycle of hooks"), "{again:#}");
    assert_eq!(server.hits().len(), 1);
    assert_eq!(dir.read("ran.txt"), "ran\n");
}

#[tokio::test]
async fn what_is_wrong_with_a_hook_is_known_before_a_call() {
    let wrong = dir("  - {name: one, when: before, run: [./no-such-hook]}
  - {name: two, when: after, url: 'https://example.com', run: [cat]}
  - {name: two, when: after, run: [cat], timeout_seconds: 90}
  - {name: three, when: after, run: [cat], secret: '${NO_SUCH_SECRET}'}");
    let output = wrong.run(["validate", "app.yaml"]).await.expect(2);
    let report = output.report();
    for expected in [
        "app.yaml:3:31: program `./no-such-hook` not found",
        "app.yaml:4:30: a hook has either `run` or `url`, not both",
        "there is another hook `two`",
        "`NO_SUCH_SECRET` is not set",
    ] {
        assert!(report.contains(expected), "{expected}: {report}");
    }
    let misspelt = dir("  - {name: one, when: before, tols: [shop.touch], run: [cat]}");
    let report = misspelt.run(["validate", "app.yaml"]).await.expect(2).report();
    assert!(report.contains("unknown key `tols`, did you mean `tools`?"), "{report}");
}

#[tokio::test]
async fn why_names_the_hooks_of_a_tool() {
    let dir = dir("  - {name: one, when: before, tools: ['shop.*'], run: [cat]}
  - {name: two, when: after, tools: ['other.*'], run: [cat]}");
    let said = dir.run(["why", "app.yaml", "shop.touch"]).await.expect(0).stdout;
    assert!(said.contains("  then checked by the hooks: one\n"), "{said}");
    let why = dir.run(["why", "app.yaml", "shop.touch", "--json"]).await.expect(0).json();
    assert_eq!(why["decisions"][0]["hooks"], json!(["one"]));
}
