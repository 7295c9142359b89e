//! What servers of revision 2026-07-28 want to know, under their own keys.

use serde_json::{Value, json};

use super::client::Served;
use crate::support::TestDir;

/// A server whose tool `pay` wants an account before it has a result, and leaves the account in a file.
const SCRIPT: &str = r#"
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%[!0-9]*}
  reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case $line in
    *'"method":"server/discover"'*)
      reply '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"},"ttlMs":0,"cacheScope":"private"}' ;;
    *'"method":"tools/list"'*)
      reply '{"resultType":"complete","tools":[{"name":"pay","description":"Pays.","inputSchema":{"type":"object"}}],"ttlMs":60000,"cacheScope":"private"}' ;;
    *'"method":"tools/call"'*'"account_number"'*)
      account=${line#*\"number\":\"}; account=${account%%\"*}
      echo "$account" >> "$HOME/$1"
      reply '{"resultType":"complete","content":[{"type":"text","text":"paid"}]}' ;;
    *'"method":"tools/call"'*)
      reply '{"resultType":"input_required","requestState":"s","inputRequests":{"account_number":{"method":"elicitation/create","params":{"mode":"form","message":"Which account?","requestedSchema":{"type":"object","properties":{"number":{"type":"string"}},"required":["number"]}}}}}' ;;
  esac
done
"#;

const APP: &str = "
tools:
  registry:
    - {type: mcp, namespace: bank, command: [sh, server.sh, bank], cwd: .}
    - {type: mcp, namespace: shop, command: [sh, server.sh, shop], cwd: .}
  capabilities: {default_policy: grant}
";

fn call(name: &str, arguments: &Value) -> Value {
    let mut params = json!({"name": name, "arguments": arguments});
    params["_meta"] = json!({"capabilities": {"elicitation": {"form": {}}}});
    params
}

fn number(number: &str) -> Value {
    json!({"account_number": {"action": "accept", "content": {"number": number}}})
}

#[tokio::test]
async fn a_client_answers_under_the_servers_key_and_may_do_so_with_its_call_to_that_server_alone() {
    let dir = TestDir::with_app(APP).with_file("server.sh", SCRIPT);
    let served = Served::start(&dir, &[]).await;
    let asked = served.modern(&[], "tools/call", call("bank__pay", &json!({}))).await;
    let question = &asked["result"]["inputRequests"]["account_number"]["params"]["message"];
    assert!(question.as_str().is_some_and(|text| text.contains("Which account?")), "{asked}");
    let mut again = call("bank__pay", &json!({}));
    again["requestState"] = asked["result"]["requestState"].clone();
    again["inputResponses"] = number("12");
    let paid = served.modern(&[], "tools/call", again).await;
    assert_eq!(paid["result"]["content"][0]["text"], "paid", "{paid}");

    let mut with_answer = call("bank__pay", &json!({}));
    with_answer["inputResponses"] = number("34");
    let paid = served.modern(&[], "tools/call", with_answer).await;
    assert_eq!(paid["result"]["content"][0]["text"], "paid", "{paid}");
    assert_eq!(dir.read("home/bank"), "12\n34\n");

    // Nobody has said to which of them it goes.
    let calls = json!({"calls": [{"name": "shop.pay", "params": {}}, {"name": "bank.pay", "params": {}}]});
    let mut both = call("run_parallel", &calls);
    both["inputResponses"] = number("56");
    let asked = served.modern(&[], "tools/call", both).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert!(!dir.path("home/shop").exists());
    assert_eq!(dir.read("home/bank"), "12\n34\n");
}
