//! The endpoints of profiles, and clients that are limited to one.

use super::*;

const APP: &str = "
serve:
  tokens:
    - {name: any, token: aaaaaaaaaaaaaaaa}
    - {name: till, token: tttttttttttttttt, profile: till}
    - {name: narrow, token: nnnnnnnnnnnnnnnn, profile: till, max_risk_level: low, namespaces: [other]}
profiles:
  till: {tools: [shop.price], surface: direct}
  stock: {tools: [shop.stock, shop.orders], surface: direct, policy: {deny: [{module: shop, actions: [orders]}]}}
  empty: {tools: []}
";

impl Served {
    /// Returns the tools of the shop that a client is listed at a path, or the status of the refusal.
    async fn listed_at(&self, path: &str, client: &str) -> Result<Vec<String>, String> {
        let token = client.chars().next().unwrap().to_string().repeat(16);
        let text = String::from_utf8(list()).unwrap();
        let text = text.replacen("POST /mcp ", &format!("POST {path} "), 1);
        let text = text.replacen("\r\n", &format!("\r\nauthorization: Bearer {token}\r\n"), 1);
        let answer = self.answer(text.as_bytes()).await;
        let status = answer.split(' ').nth(1).unwrap().to_owned();
        if status != "200" {
            return Err(status);
        }
        let tools = message(&answer)["result"]["tools"].as_array().unwrap().clone();
        let names = tools.iter().filter_map(|tool| tool["name"].as_str()?.strip_prefix("shop__"));
        Ok(names.map(str::to_owned).collect())
    }
}

#[tokio::test]
async fn an_endpoint_has_the_tools_of_its_profile_for_the_clients_that_may_use_it() {
    let served = Served::start_with(APP).await;
    let unknown = || Err("404".to_owned());
    let tools = |names: &[&str]| Ok(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    for (path, client, listed) in [
        ("/mcp/till", "any", tools(&["price"])),
        ("/mcp/stock", "any", tools(&["stock"])),
        ("/mcp/empty", "any", tools(&[])),
        ("/mcp/gone", "any", unknown()),
        ("/mcp/till/more", "any", unknown()),
        ("/mcp", "till", tools(&["price"])),
        ("/mcp/till", "till", tools(&["price"])),
        ("/mcp/stock", "till", unknown()),
        ("/mcp", "narrow", tools(&[])),
        ("/mcp/till", "wrong", Err("401".to_owned())),
    ] {
        assert_eq!(served.listed_at(path, client).await, listed, "{path} {client}");
    }
    assert!(served.listed_at("/mcp", "any").await.unwrap().len() > 4);
    served.end().await;
}

#[tokio::test]
async fn a_session_exists_at_the_endpoint_where_it_began_only() {
    let served =
        Served::start_with("profiles: {till: {tools: [shop.price]}, stock: {tools: [shop.stock]}}").await;
    let text = String::from_utf8(initialize()).unwrap().replacen("POST /mcp ", "POST /mcp/till ", 1);
    let answer = served.answer(text.as_bytes()).await;
    let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let headers = format!("mcp-session-id: {id}\r\nmcp-protocol-version: 2025-11-25\r\n");
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}}).to_string();
    for (path, is_there) in [("/mcp/till", true), ("/mcp/stock", false), ("/mcp", false)] {
        let answer = served.answer(&request("POST", path, &headers, &body)).await;
        let status = if is_there { "HTTP/1.1 200" } else { "HTTP/1.1 404" };
        assert!(answer.starts_with(status), "{path}: {answer}");
    }
    served.end().await;
}
