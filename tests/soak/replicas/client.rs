//! One client of the replicas, which writes down what it was promised.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::cluster::{Cluster, pause, token};
use super::ledger::{Expected, Ledger};
use crate::exchange::{Endpoint, Era, Request, opening};

/// The time for an answer: that of a call whose replica was killed, and of a store that restarts.
const ANSWER_TIME: Duration = Duration::from_mins(1);

/// The time for a background call to end, also one of a replica that was killed.
const TASK_TIME: Duration = Duration::from_mins(3);

/// The pause after a request without an answer.
const AFTER_LOSS: Duration = Duration::from_millis(200);

/// The number of times that a client answers the question of one call.
const MAX_ANSWERS: usize = 8;

/// The error code of a state that is used, forged, or too old.
const INVALID_PARAMS: i64 = -32602;

/// The kinds of errors that a call may meet while replicas are killed and the store restarts.
const EXPECTED_KINDS: [&str; 5] = ["unavailable", "timeout", "overloaded", "outcome_unknown", "failed"];

/// The beginnings of messages that name an outage.
const EXPECTED_MESSAGES: [&str; 4] = ["the store", "shutting down", "cannot be reached", "does not answer"];

/// The part of the note on a background call that the store does not have, since it cannot be reached.
const NOT_STORED: &str = "is lost when the program ends";

/// The answers of a client.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// As they have to be.
    pub(super) answered: u64,
    /// Those without an answer, since the replica was killed.
    pub(super) lost: u64,
    /// Those with an error, by its kind.
    pub(super) refused: BTreeMap<String, u64>,
    pub(super) longest: Duration,
    /// The states of answered questions that were sent again, and refused.
    pub(super) replayed: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.answered += other.answered;
        self.lost += other.lost;
        self.replayed += other.replayed;
        for (kind, count) in &other.refused {
            *self.refused.entry(kind.clone()).or_default() += count;
        }
        self.longest = self.longest.max(other.longest);
    }
}

/// What came back.
enum Answer {
    Result(Value),
    /// An error, and its code if it is one of the protocol.
    Refused {
        code: Option<i64>,
        text: String,
    },
    /// Nothing: the replica was killed, or could not be reached.
    Lost,
}

/// A client, half of which are of revision 2026-07-28.
pub(super) struct Client<'a> {
    cluster: &'a Cluster,
    ledger: &'a Ledger,
    name: String,
    token: String,
    is_modern: bool,
    session: Option<String>,
    requests: u64,
    /// The schedules of work that was not seen yet.
    schedules: BTreeMap<String, String>,
    pub(super) tally: Tally,
}

impl<'a> Client<'a> {
    pub(super) fn new(cluster: &'a Cluster, ledger: &'a Ledger, number: usize) -> Self {
        Self {
            cluster,
            ledger,
            name: format!("c{number}"),
            token: token(number),
            is_modern: number.is_multiple_of(2),
            session: None,
            requests: 0,
            schedules: BTreeMap::new(),
            tally: Tally::default(),
        }
    }

    /// Works until a time, beginning with a step that depends on the client.
    pub(super) async fn work(&mut self, first: usize, until: Instant) -> Result<()> {
        for step in first.. {
            if Instant::now() >= until {
                break;
            }
            match step % 8 {
                0 | 3 | 6 => self.price().await?,
                2 if self.is_modern => self.order().await?,
                1 | 2 => self.note().await?,
                4 => self.list().await?,
                5 => self.schedule().await?,
                _ => self.background().await?,
            }
        }
        Ok(())
    }

    fn new_work(&mut self, kind: &str) -> String {
        self.requests += 1;
        let id = format!("{kind}-{}-{}", self.name, self.requests);
        self.ledger.expect(&id, Expected::AtMostOnce);
        id
    }

    async fn price(&mut self) -> Result<()> {
        self.requests += 1;
        let item = format!("{}-{}", self.name, self.requests);
        let answer = self.call("ledger__price", json!({"item": item})).await?;
        self.text(answer, &format!("the price of {item}")).map(drop)
    }

    async fn note(&mut self) -> Result<()> {
        let id = self.new_work("note");
        let answer = self.call("ledger__note", json!({"item": id})).await?;
        if self.text(answer, &format!("noted {id}"))? {
            self.ledger.expect(&id, Expected::Once);
        }
        Ok(())
    }

    async fn list(&mut self) -> Result<()> {
        if let Answer::Result(result) = self.request("tools/list", json!({}), json!({})).await? {
            let text = result.to_string();
            ensure!(["ledger__price", "ledger__order"].iter().all(|name| text.contains(name)), "{text}");
            self.tally.answered += 1;
        }
        Ok(())
    }

    /// Orders: answers the question, each time at another replica, and twice at once. One answer counts at most.
    async fn order(&mut self) -> Result<()> {
        let id = self.new_work("order");
        let call = json!({"name": "ledger__order", "arguments": {"item": id}});
        let mut answer = self.ask(call.clone()).await?;
        for _ in 0..MAX_ANSWERS {
            let Answer::Result(result) = &answer else { break };
            let Some(state) = result.get("requestState").cloned() else { break };
            let keys = result.get("inputRequests").and_then(Value::as_object).context("no question")?.keys();
            let accepted = json!({"action": "accept", "content": {"decision": "once"}});
            let answers: serde_json::Map<_, _> = keys.map(|key| (key.clone(), accepted.clone())).collect();
            let mut again = call.clone();
            if let Some(again) = again.as_object_mut() {
                again.insert("requestState".to_owned(), state);
                again.insert("inputResponses".to_owned(), answers.into());
            }
            let first = self.ask(again.clone()).await?;
            if let Answer::Result(result) = &first
                && result.get("requestState").is_none()
            {
                // The state was used.
                match self.ask(again).await? {
                    Answer::Result(result) => bail!("a state was accepted twice: {result}"),
                    Answer::Refused { code: Some(INVALID_PARAMS), .. } => self.tally.replayed += 1,
                    Answer::Refused { .. } | Answer::Lost => {}
                }
            } else if let Answer::Lost = first {
                // Nobody knows if it was used. The second attempt may be the first that counts.
                answer = self.ask(again).await?;
                continue;
            }
            answer = first;
        }
        let is_question = matches!(&answer, Answer::Result(result) if result.get("requestState").is_some());
        if !is_question && self.text(answer, &format!("ordered {id}"))? {
            self.ledger.expect(&id, Expected::Once);
        }
        Ok(())
    }

    async fn schedule(&mut self) -> Result<()> {
        let id = self.new_work("scheduled");
        let action = json!({"type": "tool_call", "tool": "ledger.note", "params": {"item": id}});
        let answer = self.call("schedule_once", json!({"when": "in 2s", "action": action})).await?;
        if let Some(made) = self.value(answer)? {
            let schedule = made.get("schedule_id").and_then(Value::as_str);
            let schedule = schedule.with_context(|| format!("no schedule: {made}"))?;
            self.ledger.expect(&id, Expected::Scheduled);
            self.schedules.insert(id, schedule.to_owned());
        }
        for id in self.schedules.keys().cloned().collect::<Vec<_>>() {
            if self.ledger.count(&id)? > 0 {
                self.schedules.remove(&id);
            }
        }
        Ok(())
    }

    /// Looks at a schedule whose work was not done. Its run may have been interrupted, which it has to tell.
    pub(super) async fn explain(&mut self, id: &str) -> Result<bool> {
        let Some(schedule) = self.schedules.get(id).cloned() else { return Ok(false) };
        let answer = self.call("schedule_status", json!({"schedule_id": schedule})).await?;
        let Some(status) = self.value(answer)? else { return Ok(false) };
        let outcome = status.pointer("/last_run/outcome").and_then(Value::as_str).unwrap_or_default();
        let is_told = ["outcome_unknown", "failed"].contains(&outcome);
        if is_told {
            self.ledger.expect(id, Expected::AtMostOnce);
            *self.tally.refused.entry(format!("schedule {outcome}")).or_default() += 1;
        }
        Ok(is_told)
    }

    /// Starts a background call, and waits for its end. A call that was acknowledged has to have one.
    async fn background(&mut self) -> Result<()> {
        let id = self.new_work("task");
        let params = json!({"tool": "ledger.note", "params": {"item": id}});
        let answer = self.call("background_run", params).await?;
        let Some(made) = self.value(answer)? else { return Ok(()) };
        let task = made.get("task_id").and_then(Value::as_str).with_context(|| format!("no task: {made}"))?;
        let note = made.get("note").and_then(Value::as_str).unwrap_or_default();
        let is_stored = !note.contains(NOT_STORED);
        let wait = json!({"task_id": task, "wait": true, "timeout": 30});
        let begun = Instant::now();
        loop {
            ensure!(begun.elapsed() < TASK_TIME, "the task {task} of {id} does not end");
            match self.call("background_run", wait.clone()).await? {
                Answer::Refused { text, .. } if text.contains("not_found") => {
                    if !is_stored {
                        self.ledger.expect(&id, Expected::AtMostOnce);
                        *self.tally.refused.entry("task not stored".to_owned()).or_default() += 1;
                        return Ok(());
                    }
                    bail!("the task {task} of {id} was acknowledged, and is lost: {text}")
                }
                answer => {
                    let status = self.value(answer)?;
                    match status.as_ref().and_then(|status| status.get("status")?.as_str()) {
                        Some("completed") => {
                            self.ledger.expect(&id, Expected::Once);
                            return Ok(());
                        }
                        Some(state @ ("failed" | "outcome_unknown")) => {
                            *self.tally.refused.entry(format!("task {state}")).or_default() += 1;
                            return Ok(());
                        }
                        _ => pause(AFTER_LOSS).await,
                    }
                }
            }
        }
    }

    /// Returns true if an answer has a text that it has to have.
    fn text(&mut self, answer: Answer, expected: &str) -> Result<bool> {
        let Answer::Result(result) = answer else { return Ok(false) };
        ensure!(result.to_string().contains(expected), "expected {expected:?}, found {result}");
        self.tally.answered += 1;
        Ok(true)
    }

    /// Returns the value of a result.
    fn value(&mut self, answer: Answer) -> Result<Option<Value>> {
        let Answer::Result(result) = answer else { return Ok(None) };
        self.tally.answered += 1;
        if let Some(value) = result.get("structuredContent") {
            return Ok(Some(value.clone()));
        }
        let text = result.pointer("/content/0/text").and_then(Value::as_str);
        let text = text.with_context(|| format!("no text: {result}"))?;
        Ok(Some(serde_json::from_str(text).with_context(|| format!("no value: {text}"))?))
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Result<Answer> {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}), json!({})).await
    }

    /// Sends a call of a client that can ask its user.
    async fn ask(&mut self, call: Value) -> Result<Answer> {
        self.request("tools/call", call, json!({"elicitation": {"form": {}}})).await
    }

    async fn request(&mut self, method: &str, params: Value, capabilities: Value) -> Result<Answer> {
        if !self.is_modern && self.session.is_none() && !self.open().await? {
            return Ok(Answer::Lost);
        }
        let answer = self.exchange(method, params, capabilities).await?;
        match &answer {
            Answer::Lost => {
                self.tally.lost += 1;
                pause(AFTER_LOSS).await;
            }
            Answer::Refused { code: Some(INVALID_PARAMS), .. } | Answer::Result(_) => {}
            Answer::Refused { text, .. } => {
                let known =
                    EXPECTED_KINDS.iter().chain(&EXPECTED_MESSAGES).find(|part| text.contains(**part));
                if let Some(known) = known {
                    *self.tally.refused.entry((*known).to_owned()).or_default() += 1;
                    pause(AFTER_LOSS).await;
                } else if !text.contains("not_found") {
                    bail!("`{method}` of {} was refused in a way that nobody expects: {text}", self.name);
                }
            }
        }
        Ok(answer)
    }

    /// Begins a session.
    async fn open(&mut self) -> Result<bool> {
        let name = self.name.clone();
        self.session = None;
        Ok(matches!(self.exchange("initialize", opening(&name), json!({})).await?, Answer::Result(_)))
    }

    async fn exchange(&mut self, method: &str, params: Value, capabilities: Value) -> Result<Answer> {
        self.requests += 1;
        let (id, url) = (self.requests, self.cluster.url());
        let endpoint =
            Endpoint { http: &self.cluster.http, url: &url, token: Some(&self.token), client: &self.name };
        let session = self.session.clone();
        let era = match &session {
            _ if self.is_modern => Era::Modern,
            Some(session) => Era::Session(session),
            None => Era::Opening,
        };
        let begun = Instant::now();
        let sent = endpoint.send(Request { id, method, params, capabilities, era });
        let sent = timeout(ANSWER_TIME, sent).await;
        let sent = sent.with_context(|| format!("`{method}` of {} hangs", self.name))?;
        self.tally.longest = self.tally.longest.max(begun.elapsed());
        // A replica that is killed breaks the connection off.
        let Ok(reply) = sent else { return Ok(Answer::Lost) };
        match reply.status {
            404 if session.is_some() => {
                self.session = None;
                return Ok(Answer::Lost);
            }
            502 | 503 => return Ok(Answer::Lost),
            _ => {}
        }
        if let Some(session) = &reply.session {
            self.session = Some(session.clone());
        }
        let Some(message) = reply.message(id) else {
            ensure!(
                (200..300).contains(&reply.status),
                "`{method}` was answered with {}: {}",
                reply.status,
                reply.text
            );
            return Ok(Answer::Lost);
        };
        if let Some(error) = message.get("error") {
            let code = error.get("code").and_then(Value::as_i64);
            return Ok(Answer::Refused { code, text: error.to_string() });
        }
        let result = message.get("result").with_context(|| format!("no result: {message}"))?;
        if result.get("isError") == Some(&json!(true)) {
            return Ok(Answer::Refused { code: None, text: result.to_string() });
        }
        Ok(Answer::Result(result.clone()))
    }
}
