//! The operator at this terminal: asked about each call that waits, one after the other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use toolcrib_policy::Remember;
use toolcrib_server::{Answers, Error, Host, Say, Told, Visit, WaitingCall, WaitingQuestion, serving};

use super::failure;
use crate::approver::reply::{Confirmation, Reply, reply};
use crate::approver::show::{self, Sizes};
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupts;

use crate::output::tell;
use crate::printable::excerpt;
use crate::terminal::{CAN_DISCARD, console};

/// How often processes are looked for that have begun to serve the app.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// How many pieces of news are taken in before their processes wait.
const MAX_NEWS: usize = 64;

/// How often something unclear is asked again before it counts as a no.
const MAX_UNCLEAR: usize = 10;

/// The most bytes of a session's name, or of an app's, that are shown.
const MAX_NAME_BYTES: usize = 100;

/// A call at a process: the id of the process, and the number of the call.
type Place = (String, u64);

/// What comes from a process.
enum News {
    /// It lets us in, or has died meanwhile.
    Came(Box<Result<Option<Visit>, Error>>),
    Told(Told),
    /// It has ended, or says nothing that can be understood.
    Lost(Option<Error>),
}

/// The processes that serve the app, and what waits there.
struct Room<'a> {
    app: &'a Path,
    serving: BTreeMap<String, Server>,
    /// Those that we are on the way to.
    coming: BTreeSet<String>,
    /// Those that did not let us in so far. They are told of once.
    closed: BTreeSet<String>,
    calls: VecDeque<(String, WaitingCall)>,
    /// What was answered, until the process says what became of it: the tool, and what was said.
    answered: BTreeMap<Place, (String, &'static str)>,
    news: mpsc::Sender<(String, News)>,
    /// Whether it was said that no process serves.
    is_alone: bool,
}

struct Server {
    host: Host,
    answers: Answers,
}

/// The call that is asked about.
struct Asking {
    place: Place,
    /// The line that was typed, and what it takes to approve.
    answer: BoxFuture<'static, (Option<String>, Confirmation)>,
    retry: Retry,
}

/// How a call is asked about again.
#[derive(Clone)]
struct Retry {
    sizes: Sizes,
    note: String,
    unclear: usize,
    /// What it took to approve the last time.
    confirmation: Option<Confirmation>,
}

impl Default for Retry {
    fn default() -> Self {
        Self { sizes: Sizes::ONE, note: String::new(), unclear: 0, confirmation: None }
    }
}

/// What an answer leads to.
enum Next {
    Ask(Retry),
    Said(Say),
    Leave,
}

pub(super) async fn run(app: &Path) -> Result<Exit, Failure> {
    if !(CAN_DISCARD && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        let message = "this wants a terminal; `--json` lists the calls that wait, and `--allow` and `--deny` answer one";
        return Err(Failure::bad_input(message));
    }
    let interrupts = Interrupts::watch();
    let (news, mut incoming) = mpsc::channel(MAX_NEWS);
    let mut room = Room {
        app,
        serving: BTreeMap::new(),
        coming: BTreeSet::new(),
        closed: BTreeSet::new(),
        calls: VecDeque::new(),
        answered: BTreeMap::new(),
        news,
        is_alone: false,
    };
    let mut looks = tokio::time::interval(LOOK_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut asking: Option<Asking> = None;
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
                    tell("\nthat call is over: somebody else has answered it, or it was given up");
                }
            }
            (line, confirmation) = answered => {
                let Some(last) = asking.take() else { continue };
                match next(&last.retry, line, confirmation) {
                    Next::Leave => break,
                    Next::Ask(retry) => asking = room.ask(retry),
                    Next::Said(answer) => room.answer(last.place, answer).await,
                }
            }
        }
    }
    tell("\nyou have left; calls that nobody else can answer are denied");
    Ok(Exit::Ok)
}

/// Returns what follows from a line. The end of the input is no answer: the operator has left.
fn next(last: &Retry, line: Option<String>, confirmation: Confirmation) -> Next {
    let Some(line) = line else { return Next::Leave };
    let note = confirmation.note();
    let again = Retry { confirmation: Some(confirmation), note: String::new(), ..last.clone() };
    match reply(Some(&line), again.confirmation.as_ref().unwrap_or(&Confirmation::Letter)) {
        Reply::Yes(Remember::Once) => Next::Said(Say::Once),
        Reply::Yes(Remember::Tool) => Next::Said(Say::Tool),
        Reply::No(said) => Next::Said(Say::Deny(said.unwrap_or_default())),
        Reply::All => Next::Ask(Retry { sizes: Sizes::ALL, ..again }),
        Reply::Yes(Remember::Arguments) | Reply::Edit | Reply::Undo | Reply::Unclear => {
            if last.unclear >= MAX_UNCLEAR {
                return Next::Said(Say::Deny(String::new()));
            }
            Next::Ask(Retry { note, unclear: last.unclear + 1, ..again })
        }
    }
}

impl Room<'_> {
    /// Comes to the processes that are new.
    fn look(&mut self) -> Result<(), Failure> {
        let ids = serving(self.app).map_err(|error| failure(&error))?;
        self.closed.retain(|id| ids.contains(id));
        for id in ids {
            if self.serving.contains_key(&id) {
                continue;
            }
            if self.coming.insert(id.clone()) {
                // One that is slow holds nobody up.
                let (app, sender) = (self.app.to_owned(), self.news.clone());
                tokio::spawn(async move {
                    let visit = Box::new(Visit::to(&app, &id, true).await);
                    // Where nobody takes it in, this process has left.
                    let _ = sender.send((id, News::Came(visit))).await;
                });
            }
        }
        let is_alone = self.serving.is_empty() && self.coming.is_empty();
        if is_alone && !std::mem::replace(&mut self.is_alone, true) {
            tell("no process that can be answered serves the app now; waiting for one, until Ctrl-C");
        }
        Ok(())
    }

    fn enter(&mut self, id: String, visit: Visit) {
        let Visit { host, mut news, answers } = visit;
        self.is_alone = false;
        self.closed.remove(&id);
        let (sender, server) = (self.news.clone(), id.clone());
        tokio::spawn(async move {
            let lost = loop {
                let told = match news.next().await {
                    Ok(Some(told)) => told,
                    Ok(None) => break None,
                    Err(error) => break Some(error),
                };
                if sender.send((server.clone(), News::Told(told))).await.is_err() {
                    return;
                }
            };
            // Where nobody takes it in, this process has left.
            let _ = sender.send((server, News::Lost(lost))).await;
        });
        self.serving.insert(id, Server { host, answers });
    }

    fn heed(&mut self, server: String, news: News) {
        match news {
            News::Came(visit) => {
                self.coming.remove(&server);
                match *visit {
                    Ok(Some(visit)) => self.enter(server, visit),
                    Ok(None) => {}
                    Err(error) => {
                        if self.closed.insert(server) {
                            tell(&format!("warning: {error}"));
                        }
                    }
                }
            }
            News::Told(Told::Waiting { call }) => self.calls.push_back((server, *call)),
            News::Told(Told::Question { question }) => tell_question(&server, &question),
            News::Told(Told::Gone { id }) => self.forget(&(server, id)),
            News::Told(Told::Settled { id, taken, why }) => {
                let Some((tool, said)) = self.answered.remove(&(server, id)) else { return };
                if taken {
                    tell(&format!("{said}: {tool}"));
                } else {
                    tell(&format!("not taken: {tool}: {}", why.unwrap_or_default()));
                }
            }
            News::Told(Told::Refused { why }) => {
                tell(&format!("warning: {why}"));
            }
            News::Told(Told::All) => {
                // Not before: calls wait for us from now on.
                let Some(Server { host, .. }) = self.serving.get(&server) else { return };
                let app = excerpt(&host.app, MAX_NAME_BYTES);
                tell(&format!("you answer for the process {}, which serves {app}", host.process));
            }
            News::Told(_) => {}
            News::Lost(error) => {
                let Some(lost) = self.serving.remove(&server) else { return };
                let why = error.map(|error| format!(": {error}")).unwrap_or_default();
                tell(&format!("\nthe process {} does not serve the app any more{why}", lost.host.process));
                self.calls.retain(|(other, _)| *other != server);
                self.answered.retain(|(other, _), _| *other != server);
            }
        }
    }

    fn waits(&self, place: &Place) -> bool {
        self.calls.iter().any(|(server, call)| *server == place.0 && call.id == place.1)
    }

    fn forget(&mut self, place: &Place) {
        self.calls.retain(|(server, call)| *server != place.0 || call.id != place.1);
    }

    /// Asks about the call that has been waiting for longest.
    fn ask(&self, retry: Retry) -> Option<Asking> {
        let (server, call) = self.calls.front()?;
        let shown = show::call(call, retry.sizes);
        let session = excerpt(&call.session, MAX_NAME_BYTES);
        let mut text = format!("{}\n  session: {session}, call {server}-{}", shown.text, call.id);
        if !retry.note.is_empty() {
            text.extend(["\n", &retry.note]);
        }
        let (tool, can_allow) = (call.tool.clone(), call.arguments.is_some());
        let all = if shown.is_cut { "a all of it, " } else { "" };
        let confirmation = retry.confirmation.clone();
        let answer = async move {
            let dialogue = console().dialogue().await;
            let confirmation =
                confirmation.unwrap_or_else(|| Confirmation::of(&tool, dialogue.is_interruption()));
            let choices = if can_allow { confirmation.choices(false) } else { String::new() };
            let line = dialogue.ask(&text, &format!("run it? [{choices}{all}n no, or say why not] ")).await;
            dialogue.close();
            (line, confirmation)
        };
        Some(Asking { place: (server.clone(), call.id), answer: answer.boxed(), retry })
    }

    async fn answer(&mut self, place: Place, answer: Say) {
        let tool = self.calls.iter().find(|(server, call)| *server == place.0 && call.id == place.1);
        let tool = tool.map(|(_, call)| show::name(&call.tool)).unwrap_or_default();
        self.forget(&place);
        let said = match answer {
            Say::Once => "allowed",
            Say::Tool => "allowed from now on in its session",
            Say::Deny(_) => "denied",
        };
        let Some(server) = self.serving.get_mut(&place.0) else { return };
        // A process that does not take it is gone, which is told.
        if server.answers.answer(place.1, answer).await.is_ok() {
            self.answered.insert(place, (tool, said));
        }
    }
}

/// Shows a question to the user of an app, which another command answers.
fn tell_question(server: &str, question: &WaitingQuestion) {
    let asker = match (&question.server, &question.agent) {
        (Some(server), _) => format!("the server {}", excerpt(server, MAX_NAME_BYTES)),
        (None, Some(agent)) => format!("the agent {}", excerpt(agent, MAX_NAME_BYTES)),
        (None, None) => "a client".to_owned(),
    };
    let text = show::quoted(&question.question);
    let id = format!("{server}-{}", question.id);
    tell(&format!(
        "\n{asker} asks:\n{text}\nanswer with `toolcrib approve APP --allow {id}` or `--deny {id}`, or at the status page"
    ));
}
