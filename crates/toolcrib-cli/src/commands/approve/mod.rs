//! `toolcrib approve`.

mod answer;
mod interactive;

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::timeout;
use toolcrib_app::Extensions;
use toolcrib_server::Error;
use toolcrib_server::operator::{
    CallDecision, OperatorClient, QuestionReply, ServerMessage, WaitingCall, WaitingQuestion, serving,
};

use answer::{Answer, failure};

use crate::app_start::open;
use crate::arguments::Approve;
use crate::exit::{Exit, Failure};
use crate::ui::output::{self, say, tell};

/// The time that a process has to list its questions, or to confirm an answer.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) async fn run(arguments: &Approve, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let app = open(&arguments.app, extensions)?.app;
    if !app.config.serve.approve {
        return Err(Failure::bad_input(format!(
            "{}: its calls are not answered here; set `serve.approve: true` and serve it again, after reading docs/reference/serve.md, \
             \"Approve from another terminal\"",
            app.file.name
        )));
    }
    let path = &arguments.app;
    match (&arguments.allow, &arguments.deny) {
        (Some(id), _) => {
            let reply = arguments.with.as_deref().map(reply_of).transpose()?;
            answer(path, id, reply.map_or(Answer::Say(CallDecision::Once), Answer::Reply), json).await
        }
        (None, Some(id)) => {
            let feedback = arguments.feedback.clone().unwrap_or_default();
            answer(path, id, Answer::Say(CallDecision::Deny(feedback)), json).await
        }
        (None, None) if json => list(path).await,
        (None, None) => interactive::run(path).await,
    }
}

/// The pending approvals of a process.
#[derive(Default)]
struct PendingApprovals {
    calls: Vec<WaitingCall>,
    questions: Vec<WaitingQuestion>,
}

/// Reads what a question wants to be filled in.
fn reply_of(json: &str) -> Result<QuestionReply, Failure> {
    let wanted = "`content`, `choice`, `fields` or `feedback`, as '{\"choice\": \"blue\"}'";
    serde_json::from_str(json).map_err(|error| Failure::bad_input(format!("--with: {error}; give {wanted}")))
}

/// Lists what waits.
async fn list(app: &Path) -> Result<Exit, Failure> {
    let (mut hosts, mut calls, mut questions) = (Vec::new(), Vec::new(), Vec::new());
    for id in serving(app).map_err(|error| failure(&error))? {
        let visited = async {
            let Some(mut client) = OperatorClient::connect(app, &id, false).await? else { return Ok(None) };
            let waiting = waiting(&mut client).await?;
            Ok::<_, Error>(Some((client.host, waiting)))
        };
        match visited.await {
            Ok(None) => {}
            Ok(Some((host, waiting))) => {
                let process = host.process;
                hosts.push(json!({"id": id, "process": process, "app": host.app}));
                calls.extend(waiting.calls.iter().map(|call| shown(&id, process, call.id, call)));
                let shown = |one: &WaitingQuestion| shown(&id, process, one.id, one);
                questions.extend(waiting.questions.iter().map(shown));
            }
            Err(error) => tell(&format!("warning: {error}")),
        }
    }
    output::json(&json!({"serving": hosts, "waiting": calls, "questions": questions}));
    Ok(Exit::Ok)
}

/// Returns a call or a question as `--json` prints it.
fn shown(server: &str, process: u32, number: u64, waiting: &impl Serialize) -> Value {
    let mut shown = json!(waiting);
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("id".to_owned(), format!("{server}-{number}").into());
        fields.insert("process".to_owned(), process.into());
    }
    shown
}

/// Answers one call or question by its id: that of the process, and the number there.
async fn answer(app: &Path, id: &str, given: Answer, json: bool) -> Result<Exit, Failure> {
    let parts = id.split_once('-').and_then(|(server, number)| Some((server, number.parse().ok()?)));
    let Some((server, number)) = parts else {
        let message = format!("{id:?} is no id of a call or a question; `--json` lists those that wait");
        return Err(Failure::bad_input(message));
    };
    let is_there = serving(app).map_err(|error| failure(&error))?.iter().any(|other| other == server);
    let client = if is_there { OperatorClient::connect(app, server, false).await } else { Ok(None) };
    let Some(mut client) = client.map_err(|error| failure(&error))? else {
        let message =
            format!("the process of `{id}` does not serve the app any more, and its calls are over");
        return Err(Failure::new(Exit::Unavailable, message));
    };
    waiting(&mut client).await.map_err(|error| failure(&error))?;
    let (taken, why) = settled(&mut client, number, given).await.map_err(|error| failure(&error))?;
    if json {
        output::json(&json!({"id": id, "taken": taken, "why": why}));
    } else if taken {
        let more = why.map(|why| format!(": {why}")).unwrap_or_default();
        say(&format!("answered: {id}{more}"));
    } else {
        tell(&format!("error: {id}: {}", why.unwrap_or_default()));
    }
    Ok(if taken { Exit::Ok } else { Exit::Failed })
}

/// Reads what waits at a process.
async fn waiting(client: &mut OperatorClient) -> Result<PendingApprovals, Error> {
    let mut waiting = PendingApprovals::default();
    loop {
        match told(client).await? {
            ServerMessage::Waiting { call } => waiting.calls.push(*call),
            ServerMessage::Question { question } => waiting.questions.push(*question),
            ServerMessage::Gone { id } => {
                waiting.calls.retain(|call| call.id != id);
                waiting.questions.retain(|question| question.id != id);
            }
            ServerMessage::All => return Ok(waiting),
            ServerMessage::Refused { why } => return Err(Error::Operator { message: why }),
            _ => {}
        }
    }
}

/// Sends an answer and waits for its confirmation.
async fn settled(
    client: &mut OperatorClient,
    number: u64,
    given: Answer,
) -> Result<(bool, Option<String>), Error> {
    match given {
        Answer::Say(say) => client.answers.answer(number, say).await?,
        Answer::Reply(reply) => client.answers.reply(number, reply).await?,
    }
    loop {
        match told(client).await? {
            ServerMessage::Settled { id, taken, why } if id == number => return Ok((taken, why)),
            ServerMessage::Refused { why } => return Err(Error::Operator { message: why }),
            _ => {}
        }
    }
}

async fn told(client: &mut OperatorClient) -> Result<ServerMessage, Error> {
    let gone = |message: &str| Error::Operator { message: message.to_owned() };
    let told = timeout(PATIENCE, client.messages.next()).await.map_err(|_| gone("it says nothing"))??;
    told.ok_or_else(|| gone("it is gone"))
}
