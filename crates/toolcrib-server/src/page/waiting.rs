//! Questions that wait for the operator at the page.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use toolcrib_policy::{Question, Remember};
use toolcrib_port::{Answer, Approver, Asked};

/// The most questions that wait at the page. One more is put to others only.
pub const MAX_WAITING: usize = 256;

/// How long an operator who looked at the page counts as being there. A call that nobody else can answer for waits only then.
pub const PRESENCE: Duration = Duration::from_mins(30);

/// The questions that wait, by their ids.
#[derive(Default)]
pub(crate) struct Waiting(Mutex<Desk>);

#[derive(Default)]
struct Desk {
    seen: Option<Instant>,
    questions: BTreeMap<u64, (Question, Instant, oneshot::Sender<Answer>)>,
}

/// What the operator says to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// This call may run.
    Once,
    /// So may later ones of its tool, in its session.
    Tool,
    /// It may not, with what the model is told.
    Deny(Option<String>),
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// It counts.
    Taken,
    /// The question does not wait any more.
    Gone,
}

/// A question that waits, and is taken back when nobody waits for its answer any more.
struct Parked<'a> {
    waiting: &'a Waiting,
    id: u64,
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        self.waiting.desk().questions.remove(&self.id);
    }
}

impl Waiting {
    /// The operator looks at the page.
    pub(crate) fn attend(&self) {
        self.desk().seen = Some(Instant::now());
    }

    /// Whether an operator is there.
    pub(super) fn is_attended(&self) -> bool {
        self.desk().seen.is_some_and(|seen| seen.elapsed() < PRESENCE)
    }

    /// The questions that wait and since when, the oldest first.
    pub(super) fn questions(&self) -> Vec<(Question, Duration)> {
        self.desk()
            .questions
            .values()
            .map(|(question, since, _)| (question.clone(), since.elapsed()))
            .collect()
    }

    /// Answers a question, for the call that it was asked about.
    pub(crate) fn answer(&self, id: u64, said: Said) -> Settled {
        let Some((question, _, sender)) = self.desk().questions.remove(&id) else { return Settled::Gone };
        let answer = match said {
            Said::Once => Answer::Approved(question.approve()),
            Said::Tool => Answer::Approved(question.approve().remember(Remember::Tool)),
            Said::Deny(feedback) => Answer::Denied(feedback),
        };
        if sender.send(answer).is_ok() { Settled::Taken } else { Settled::Gone }
    }

    /// Asks here and elsewhere, and takes the first answer. That nobody is elsewhere is none.
    pub(super) async fn ask(&self, asked: &mut Asked, others: &dyn Approver) {
        let Some((_parked, answer)) = self.park(asked.question()) else {
            return others.ask(std::slice::from_mut(asked)).await;
        };
        let mut elsewhere = asked.clone();
        let elsewhere = async {
            others.ask(std::slice::from_mut(&mut elsewhere)).await;
            match elsewhere.answer {
                None | Some(Answer::Nobody) => std::future::pending().await,
                answered => answered,
            }
        };
        asked.answer = tokio::select! {
            biased;
            answer = answer => answer.ok(),
            answer = elsewhere => answer,
        };
    }

    fn park(&self, question: &Question) -> Option<(Parked<'_>, oneshot::Receiver<Answer>)> {
        let mut desk = self.desk();
        if desk.questions.len() >= MAX_WAITING {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        desk.questions.insert(question.id, (question.clone(), Instant::now(), sender));
        Some((Parked { waiting: self, id: question.id }, receiver))
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
