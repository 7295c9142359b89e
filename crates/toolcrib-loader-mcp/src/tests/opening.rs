//! How a conversation begins with servers that say nothing to the point.

use std::time::Duration;

use serde_json::json;
use toolcrib_port::{ToolEngine as _, ToolLoader as _};

use super::server::ScriptServer;
use super::{authorized, context, invoke};

fn hurried(functions: &str) -> ScriptServer {
    // It is asked for its era for half of this.
    ScriptServer::with(functions, |source| source.with_startup_timeout(Duration::from_secs(4)))
}

#[tokio::test]
async fn a_server_that_passes_over_the_question_is_greeted_in_the_old_way_and_not_asked_again() {
    let server = hurried("on_discover() { :; }");
    assert_eq!(server.loader.load().await.tools.len(), 1);
    assert_eq!(server.process_ids().len(), 1);
    let (process, asked) = (server.process_ids()[0], || server.logged("server/discover").len());
    assert_eq!(asked(), 1);
    std::process::Command::new("kill").arg(process.to_string()).status().unwrap();
    super::eventually(async || (!server.connection.is_open()).then_some(())).await;
    let result = invoke(&server.engine, authorized("one", json!({})), &context()).await;
    assert_eq!(result.result, "called one", "{:?}", result.error);
    assert_eq!((server.process_ids().len(), asked()), (2, 1));
    server.engine.close().await;
}

#[tokio::test]
async fn a_server_that_ends_over_the_question_is_started_again_and_greeted_in_the_old_way() {
    let server = hurried("on_discover() { exit 1; }");
    assert_eq!(server.loader.load().await.tools.len(), 1);
    assert_eq!((server.process_ids().len(), server.logged("server/discover").len()), (2, 1));
    server.engine.close().await;
}

#[tokio::test]
async fn an_answer_with_nothing_in_it_is_that_of_an_old_server() {
    let server = hurried("on_discover() { reply '{}'; }");
    assert_eq!(server.loader.load().await.tools.len(), 1);
    assert_eq!(server.process_ids().len(), 1);
    server.engine.close().await;
}

/// Knows only the new revision, and takes until the old greeting to say so; the second time it is quick.
const SLOW: &str = r#"
discovered='{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}'
on_discover() {
  if [ -e "${LOG%log}slow" ]; then reply "$discovered"; return; fi
  : > "${LOG%log}slow"
  question=$id
  IFS= read -r line
  printf '%s\n' "$line" >> "$LOG"
  greeting=${line#*\"id\":}; greeting=${greeting%%[!0-9]*}
  id=$question; reply "$discovered"
  id=$greeting; fail -32022 'only 2026-07-28'
}
"#;

#[tokio::test]
async fn a_server_of_the_new_revision_that_is_slow_to_say_so_is_asked_again_for_as_long_as_it_takes() {
    let server = hurried(SLOW);
    let loaded = server.loader.load().await;
    assert_eq!(loaded.tools.len(), 1, "{:?}", loaded.rejected);
    assert_eq!(server.process_ids().len(), 2);
    server.engine.close().await;
}
