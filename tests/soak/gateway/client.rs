//! One client of the gateway, which knows what each answer has to be.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::served::{DEADLINE_SECONDS, Served, note};
use crate::exchange::{Endpoint, Era, Request, opening};

/// The tools that are called, one of each server.
pub(super) const TOOLS: [&str; 5] = [
    "everything__echo",
    "filesystem__read_text_file",
    "memory__read_graph",
    "time__get_current_time",
    "git__git_status",
];

/// How much later than its deadline an answer may come: it has to be written, sent and read beside two hundred others.
const GRACE: Duration = Duration::from_secs(5);

/// The kinds of error that a call may meet whose server was killed beneath it.
const EXPECTED: [&str; 5] = ["unavailable", "timeout", "overloaded", "failed", "outcome_unknown"];

/// What came of the calls.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// By their tools, and rightly.
    pub(super) answered: u64,
    /// By the gateway, by the kind of the error.
    pub(super) refused: BTreeMap<String, u64>,
    pub(super) longest: Duration,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.answered += other.answered;
        for (kind, count) in &other.refused {
            *self.refused.entry(kind.clone()).or_default() += count;
        }
        self.longest = self.longest.max(other.longest);
    }
}

pub(super) struct Client<'a> {
    served: &'a Served,
    number: usize,
    /// That of a client before revision 2026-07-28.
    session: Option<String>,
    requests: u64,
    name: String,
    tally: Tally,
}

impl<'a> Client<'a> {
    pub(super) async fn new(served: &'a Served, round: u32, number: usize) -> Result<Self> {
        let name = format!("client-{round}-{number}");
        let mut client = Self { served, number, session: None, requests: 0, name, tally: Tally::default() };
        if number % 2 == 1 {
            let (_, session) = client.request("initialize", opening(&client.name), true).await?;
            client.session = Some(session.context("there is no session")?);
        }
        Ok(client)
    }

    /// Calls one tool after the other.
    pub(super) async fn work(&mut self, until: Instant) -> Result<()> {
        for step in self.number.. {
            if Instant::now() >= until {
                break;
            }
            match step % 13 {
                11 => self.list().await?,
                12 => self.search().await?,
                other => {
                    let tool = TOOLS.get(other % TOOLS.len()).context("a tool")?;
                    self.call(tool).await?;
                }
            }
        }
        Ok(())
    }

    /// Ends its session.
    pub(super) async fn leave(self) -> Result<Tally> {
        if let Some(session) = &self.session {
            let url = format!("http://{}/mcp", self.served.address);
            let gone = self
                .served
                .http
                .reqwest_client()
                .delete(url)
                .header("mcp-session-id", session)
                .send()
                .await?;
            ensure!(gone.status().is_success(), "the session did not end: {}", gone.status());
        }
        Ok(self.tally)
    }

    /// Calls a tool, and says whether it was the tool that answered. Its answer has to be the one to this call.
    pub(super) async fn call(&mut self, tool: &str) -> Result<bool> {
        let note = note(self.served.folder.path(), self.number);
        let said = format!("{} says {}", self.name, self.requests);
        let (arguments, expected) = match tool {
            "everything__echo" => (json!({"message": said}), said.clone()),
            "filesystem__read_text_file" => (json!({"path": note}), format!("for client {}.", self.number)),
            "memory__read_graph" => (json!({}), "entities".to_owned()),
            "time__get_current_time" => (json!({"timezone": "UTC"}), "UTC".to_owned()),
            "git__git_status" => (json!({"repo_path": note.parent()}), "note-0.txt".to_owned()),
            other => bail!("nobody knows what `{other}` answers"),
        };
        let (answer, _) =
            self.request("tools/call", json!({"name": tool, "arguments": arguments}), false).await?;
        let result = answer.get("result").with_context(|| format!("`{tool}` has no result: {answer}"))?;
        let text = result.pointer("/content/0/text").and_then(Value::as_str);
        let text = text.with_context(|| format!("`{tool}` says nothing: {answer}"))?;
        if result.get("isError") == Some(&json!(true)) {
            let kind = EXPECTED.iter().find(|kind| text.contains(**kind));
            let kind =
                kind.with_context(|| format!("`{tool}` failed in a way that nobody expects: {text}"))?;
            *self.tally.refused.entry((*kind).to_owned()).or_default() += 1;
            return Ok(false);
        }
        ensure!(text.contains(&expected), "a wrong answer of `{tool}` to {}: {text}", self.name);
        self.tally.answered += 1;
        Ok(true)
    }

    async fn list(&mut self) -> Result<()> {
        let (answer, _) = self.request("tools/list", json!({}), false).await?;
        let tools = answer.pointer("/result/tools").and_then(Value::as_array).context("no list of tools")?;
        let has = |name: &str| tools.iter().any(|tool| tool.get("name") == Some(&json!(name)));
        ensure!(has("search_tools") && has("execute_tool"), "a wrong list: {answer}");
        Ok(())
    }

    async fn search(&mut self) -> Result<()> {
        let params = json!({"name": "search_tools", "arguments": {"query": "what time is it"}});
        let (answer, _) = self.request("tools/call", params, false).await?;
        ensure!(answer.to_string().contains("get_current_time"), "a wrong search: {answer}");
        Ok(())
    }

    /// Sends a request, and waits for its answer no longer than it may take.
    async fn request(&mut self, method: &str, params: Value, opens: bool) -> Result<(Value, Option<String>)> {
        self.requests += 1;
        let began = Instant::now();
        let most = Duration::from_secs(DEADLINE_SECONDS) + GRACE;
        let answer = timeout(most, self.exchange(method, params, opens)).await;
        let answer = answer.with_context(|| format!("`{method}` of {} hangs", self.name))??;
        self.tally.longest = self.tally.longest.max(began.elapsed());
        Ok(answer)
    }

    async fn exchange(&self, method: &str, params: Value, opens: bool) -> Result<(Value, Option<String>)> {
        let url = format!("http://{}/mcp", self.served.address);
        let endpoint = Endpoint { http: &self.served.http, url: &url, token: None, client: &self.name };
        let era = match &self.session {
            Some(session) => Era::Session(session),
            None if opens => Era::Opening,
            None => Era::Modern,
        };
        let id = self.requests;
        let reply = endpoint.send(Request { id, method, params, capabilities: json!({}), era }).await?;
        ensure!(
            (200..300).contains(&reply.status),
            "`{method}` was answered with {}: {}",
            reply.status,
            reply.text
        );
        let answer = reply.message(id);
        Ok((answer.with_context(|| format!("`{method}` has no answer: {}", reply.text))?, reply.session))
    }
}
