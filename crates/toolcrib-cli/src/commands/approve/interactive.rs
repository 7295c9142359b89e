//! The operator at this terminal, who is asked about each call and each question that waits, one after the other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use toolcrib_model::UserAnswer;
use toolcrib_policy::Remember;
use toolcrib_server::Error;
use toolcrib_server::operator::{
    AnswerSender, CallDecision, OperatorClient, ProcessInfo, QuestionReply, ServerMessage, WaitingCall,
    WaitingQuestion, serving,
};

use super::answer::{Answer, failure};
use crate::approver::ask_operator;
use crate::approver::reply::{Confirmation, Reach, Reply, reply};
use crate::approver::show::{self, Sizes};
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupts;

use crate::terminal::{CAN_DISCARD, console};
use crate::ui::output::tell;
use crate::ui::printable::excerpt;

/// The interval of the search for processes that serve the app.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// The number of queued events before their processes wait.
const MAX_NEWS: usize = 64;

/// The number of unclear answers before the question counts as denied.
const MAX_UNCLEAR: usize = 10;

/// The most bytes of a session's name, or of an app's, that are shown.
const MAX_NAME_BYTES: usize = 100;

/// A call or a question at a process: the id of the process, and the number of the call.
type QuestionKey = (String, u64);

/// An event of a process.
enum ProcessEvent {
    /// It lets us in, or has died meanwhile.
    Came(Box<Result<Option<OperatorClient>, Error>>),
    Told(ServerMessage),
    /// It has ended, or says nothing that can be understood.
    Lost(Option<Error>),
}

/// The processes that serve the app, and what waits there.
struct ServingProcesses<'a> {
    app: &'a Path,
    serving: BTreeMap<String, ServingProcess>,
    /// Those that we are on the way to.
    coming: BTreeSet<String>,
    /// Those that did not let us in so far. They are told of once.
    closed: BTreeSet<String>,
    waiting: VecDeque<(String, PendingItem)>,
    /// The answers that their processes have not confirmed yet: the name of the item and the answer.
    answered: BTreeMap<QuestionKey, (String, &'static str)>,
    news: mpsc::Sender<(String, ProcessEvent)>,
    /// True if the user was told that no process serves.
    is_alone: bool,
}

struct ServingProcess {
    host: ProcessInfo,
    answers: AnswerSender,
}

/// A call or a question that waits for an answer.
enum PendingItem {
    Call(Box<WaitingCall>),
    Question(WaitingQuestion),
}

/// The call or question that is asked about.
struct CurrentQuestion {
    place: QuestionKey,
    answer: BoxFuture<'static, Answered>,
    retry: Retry,
}

/// The answer of the person.
enum Answered {
    /// The line that was typed, and what it takes to approve.
    Line(Option<String>, Confirmation),
    /// The answer to a question; `None` at the end of the input.
    Question(Option<UserAnswer>),
}

/// The state of a repeated question.
#[derive(Clone)]
struct Retry {
    sizes: Sizes,
    note: String,
    unclear: usize,
    /// The confirmation that the last question required.
    confirmation: Option<Confirmation>,
}

impl Default for Retry {
    fn default() -> Self {
        Self { sizes: Sizes::ONE, note: String::new(), unclear: 0, confirmation: None }
    }
}

/// The consequence of an answer.
enum Next {
    Ask(Retry),
    Said(Answer),
    Leave,
}

pub(super) async fn run(app: &Path) -> Result<Exit, Failure> {
    if !(CAN_DISCARD && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        let message = "expected a terminal; `--json` lists what waits, and `--allow` and `--deny` answer one";
        return Err(Failure::bad_input(message));
    }
    let interrupts = Interrupts::watch();
    let (news, mut incoming) = mpsc::channel(MAX_NEWS);
    let mut room = ServingProcesses {
        app,
        serving: BTreeMap::new(),
        coming: BTreeSet::new(),
        closed: BTreeSet::new(),
        waiting: VecDeque::new(),
        answered: BTreeMap::new(),
        news,
        is_alone: false,
    };
    let mut looks = tokio::time::interval(LOOK_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut asking: Option<CurrentQuestion> = None;
    loop {
        // What became of the last answer is shown before the next question.
        let may_ask = asking.is_none() && room.answered.is_empty();
        asking = if may_ask { room.ask(Retry::default()) } else { asking };
        let answered = async {
            match &mut asking {
                Some(asking) => (&mut asking.answer).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = interrupts.left() => break,
            _ = looks.tick() => room.look()?,
            // We have a sender of our own.
            Some((server, news)) = incoming.recv() => {
                room.heed(server, news);
                if asking.as_ref().is_some_and(|asking| !room.waits(&asking.place)) {
                    asking = None;
                    tell("\nit was answered elsewhere, or given up");
                }
            }
            answered = answered => {
                let Some(last) = asking.take() else { continue };
                let next = match answered {
                    Answered::Line(line, confirmation) => next(&last.retry, line, confirmation),
                    Answered::Question(None) => Next::Leave,
                    Answered::Question(Some(answer)) => Next::Said(given(answer)),
                };
                match next {
                    Next::Leave => break,
                    Next::Ask(retry) => asking = room.ask(retry),
                    Next::Said(answer) => room.answer(last.place, answer).await,
                }
            }
        }
    }
    tell("\nyou have left; calls and questions without another person to answer them are denied");
    Ok(Exit::Ok)
}

/// Returns what follows from a line. The end of the input is no answer: the operator has left.
fn next(last: &Retry, line: Option<String>, confirmation: Confirmation) -> Next {
    let Some(line) = line else { return Next::Leave };
    let note = confirmation.note();
    let again = Retry { confirmation: Some(confirmation), note: String::new(), ..last.clone() };
    match reply(Some(&line), again.confirmation.as_ref().unwrap_or(&Confirmation::Letter)) {
        Reply::Yes(Remember::Once) => Next::Said(Answer::Say(CallDecision::Once)),
        Reply::Yes(Remember::Tool) => Next::Said(Answer::Say(CallDecision::Tool)),
        Reply::No(said) => Next::Said(Answer::Say(CallDecision::Deny(said.unwrap_or_default()))),
        Reply::All => Next::Ask(Retry { sizes: Sizes::ALL, ..again }),
        Reply::Yes(Remember::Arguments) | Reply::WriteRule | Reply::Edit | Reply::Undo | Reply::Unclear => {
            if last.unclear >= MAX_UNCLEAR {
                return Next::Said(Answer::Say(CallDecision::Deny(String::new())));
            }
            Next::Ask(Retry { note, unclear: last.unclear + 1, ..again })
        }
    }
}

/// Returns what the process is sent for an answer to a question.
fn given(answer: UserAnswer) -> Answer {
    match answer {
        UserAnswer::Approved { content, choice, fields, feedback } => {
            Answer::Reply(QuestionReply { content, choice, fields, feedback })
        }
        UserAnswer::Denied(said) => Answer::Say(CallDecision::Deny(said.unwrap_or_default())),
        UserAnswer::Nobody => Answer::Say(CallDecision::Deny(String::new())),
    }
}

impl PendingItem {
    fn id(&self) -> u64 {
        match self {
            Self::Call(call) => call.id,
            Self::Question(question) => question.id,
        }
    }

    /// Returns the name by which its end is told.
    fn name(&self) -> String {
        match self {
            Self::Call(call) => show::name(&call.tool),
            Self::Question(question) => format!("question {}", question.id),
        }
    }
}

impl ServingProcesses<'_> {
    /// Comes to the processes that are new.
    fn look(&mut self) -> Result<(), Failure> {
        let ids = serving(self.app).map_err(|error| failure(&error))?;
        self.closed.retain(|id| ids.contains(id));
        for id in ids {
            if self.serving.contains_key(&id) {
                continue;
            }
            if self.coming.insert(id.clone()) {
                // A slow process delays no other.
                let (app, sender) = (self.app.to_owned(), self.news.clone());
                tokio::spawn(async move {
                    let client = Box::new(OperatorClient::connect(&app, &id, true).await);
                    // Sending fails only when this process is ending.
                    let _ = sender.send((id, ProcessEvent::Came(client))).await;
                });
            }
        }
        let is_alone = self.serving.is_empty() && self.coming.is_empty();
        if is_alone && !std::mem::replace(&mut self.is_alone, true) {
            tell("no process that can be answered serves the app now; waiting for one, until Ctrl-C");
        }
        Ok(())
    }

    fn enter(&mut self, id: String, client: OperatorClient) {
        let OperatorClient { host, mut messages, answers } = client;
        self.is_alone = false;
        self.closed.remove(&id);
        let (sender, server) = (self.news.clone(), id.clone());
        tokio::spawn(async move {
            let lost = loop {
                let told = match messages.next().await {
                    Ok(Some(told)) => told,
                    Ok(None) => break None,
                    Err(error) => break Some(error),
                };
                if sender.send((server.clone(), ProcessEvent::Told(told))).await.is_err() {
                    return;
                }
            };
            // Sending fails only when this process is ending.
            let _ = sender.send((server, ProcessEvent::Lost(lost))).await;
        });
        self.serving.insert(id, ServingProcess { host, answers });
    }

    fn heed(&mut self, server: String, news: ProcessEvent) {
        match news {
            ProcessEvent::Came(client) => {
                self.coming.remove(&server);
                match *client {
                    Ok(Some(client)) => self.enter(server, client),
                    Ok(None) => {}
                    Err(error) => {
                        if self.closed.insert(server) {
                            tell(&format!("warning: {error}"));
                        }
                    }
                }
            }
            ProcessEvent::Told(ServerMessage::Waiting { call }) => {
                self.waiting.push_back((server, PendingItem::Call(call)));
            }
            ProcessEvent::Told(ServerMessage::Question { question }) => {
                self.waiting.push_back((server, PendingItem::Question(*question)));
            }
            ProcessEvent::Told(ServerMessage::Gone { id }) => self.forget(&(server, id)),
            ProcessEvent::Told(ServerMessage::Settled { id, taken, why }) => {
                let Some((name, said)) = self.answered.remove(&(server, id)) else { return };
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                let said = if taken { said } else { "not taken" };
                tell(&format!("{said}: {name}{why}"));
            }
            ProcessEvent::Told(ServerMessage::Refused { why }) => {
                tell(&format!("warning: {why}"));
            }
            ProcessEvent::Told(ServerMessage::All) => {
                // Not before: calls wait for us from now on.
                let Some(ServingProcess { host, .. }) = self.serving.get(&server) else { return };
                let app = excerpt(&host.app, MAX_NAME_BYTES);
                tell(&format!("you answer for the process {}, which serves {app}", host.process));
            }
            ProcessEvent::Told(_) => {}
            ProcessEvent::Lost(error) => {
                let Some(lost) = self.serving.remove(&server) else { return };
                let why = error.map(|error| format!(": {error}")).unwrap_or_default();
                tell(&format!("\nthe process {} does not serve the app any more{why}", lost.host.process));
                self.waiting.retain(|(other, _)| *other != server);
                self.answered.retain(|(other, _), _| *other != server);
            }
        }
    }

    fn waits(&self, place: &QuestionKey) -> bool {
        self.waiting.iter().any(|(server, waiting)| *server == place.0 && waiting.id() == place.1)
    }

    fn forget(&mut self, place: &QuestionKey) {
        self.waiting.retain(|(server, waiting)| *server != place.0 || waiting.id() != place.1);
    }

    /// Asks about what has been waiting for longest.
    fn ask(&self, retry: Retry) -> Option<CurrentQuestion> {
        let (server, waiting) = self.waiting.front()?;
        let answer = match waiting {
            PendingItem::Call(call) => ask_about_call(server, call, &retry),
            PendingItem::Question(question) => ask_question(server, question, &retry),
        };
        Some(CurrentQuestion { place: (server.clone(), waiting.id()), answer, retry })
    }

    async fn answer(&mut self, place: QuestionKey, answer: Answer) {
        let answered =
            self.waiting.iter().find(|(server, waiting)| *server == place.0 && waiting.id() == place.1);
        let name = answered.map(|(_, waiting)| waiting.name()).unwrap_or_default();
        self.forget(&place);
        let said = match answer {
            Answer::Say(CallDecision::Once) => "allowed",
            Answer::Say(CallDecision::Tool) => "allowed from now on",
            Answer::Say(CallDecision::Deny(_)) => "denied",
            Answer::Reply(_) => "answered",
        };
        let Some(server) = self.serving.get_mut(&place.0) else { return };
        let sent = match answer {
            Answer::Say(say) => server.answers.answer(place.1, say).await,
            Answer::Reply(reply) => server.answers.reply(place.1, reply).await,
        };
        // A process that does not take it is gone, which is told.
        if sent.is_ok() {
            self.answered.insert(place, (name, said));
        }
    }
}

fn ask_about_call(server: &str, call: &WaitingCall, retry: &Retry) -> BoxFuture<'static, Answered> {
    let shown = show::call(call, retry.sizes);
    let mut text = format!("{}\n  {}", shown.text, place_of("call", server, call.id, &call.session));
    if !retry.note.is_empty() {
        text.extend(["\n", &retry.note]);
    }
    let all = if shown.is_cut { "a all of it, " } else { "" };
    let reach = if call.script.is_some() { Reach::Script } else { Reach::Tool };
    let reach = call.arguments.is_some().then_some(reach);
    ask_for_line(text, "run it?", call.tool.clone(), reach, all, retry.confirmation.clone())
}

/// Asks a question of an agent or a server, part by part. One that is too long to be shown can only be denied.
fn ask_question(server: &str, question: &WaitingQuestion, retry: &Retry) -> BoxFuture<'static, Answered> {
    let place = place_of("question", server, question.id, &question.session);
    if let Some(question) = question.to_question() {
        return async move { Answered::Question(ask_operator(console(), &place, &question).await) }.boxed();
    }
    let mut text = format!(
        "\n{place}\n{}\nit is too long to be shown whole, so it can only be denied here",
        show::quoted(&question.question)
    );
    if !retry.note.is_empty() {
        text.extend(["\n", &retry.note]);
    }
    ask_for_line(text, "deny it?", String::new(), None, "", retry.confirmation.clone())
}

/// Asks for a line in a separate dialogue. Without a reach, only a denial is offered.
fn ask_for_line(
    text: String,
    question: &'static str,
    tool: String,
    reach: Option<Reach>,
    all: &'static str,
    confirmation: Option<Confirmation>,
) -> BoxFuture<'static, Answered> {
    async move {
        let dialogue = console().dialogue().await;
        let confirmation =
            confirmation.unwrap_or_else(|| Confirmation::of(&tool, dialogue.is_interruption()));
        let choices = reach.map(|reach| confirmation.choices(reach)).unwrap_or_default();
        let line = dialogue.ask(&text, &format!("{question} [{choices}{all}n no, or say why not] ")).await;
        dialogue.close();
        Answered::Line(line, confirmation)
    }
    .boxed()
}

/// Returns where something waits: its session, and the id that `--allow` and `--deny` take.
fn place_of(what: &str, server: &str, id: u64, session: &str) -> String {
    format!("session: {}, {what} {server}-{id}", excerpt(session, MAX_NAME_BYTES))
}
