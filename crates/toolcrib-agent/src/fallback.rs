//! Several models, of which a later one is asked where the ones before it cannot answer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::chat::{ChatReply, ChatRequest, Piece, ShownPieces, TextSink};
use crate::{ChatModel, Error};

/// After how many requests in a row that failed a model is left alone.
pub const BREAKER_FAILURES: u32 = 2;

/// For how long a model is left alone. Then one request is tried.
pub const BREAKER_PAUSE: Duration = Duration::from_secs(30);

/// One of several models.
pub struct Brain {
    /// Its name at its provider.
    pub name: String,
    /// The model.
    pub model: Arc<dyn ChatModel>,
}

/// Several models, in the order in which they are asked.
///
/// The next one is asked where a server cannot be reached, fails, has no quota left or does not know the model, and nothing
/// was said yet: what was shown cannot be taken back. What is wrong with the request itself is an error at once. A model
/// that failed [`BREAKER_FAILURES`] times in a row is left alone for [`BREAKER_PAUSE`].
pub struct FallbackModel {
    brains: Vec<(Brain, Breaker)>,
}

impl FallbackModel {
    /// Asks the first, then the others.
    pub fn new(first: Brain, others: impl IntoIterator<Item = Brain>) -> Self {
        let brains = std::iter::once(first).chain(others);
        Self { brains: brains.map(|brain| (brain, Breaker::default())).collect() }
    }

    async fn ask(
        &self,
        request: &ChatRequest<'_>,
        sink: &mut TextSink<'_>,
        is_resting: impl Fn(&Breaker) -> bool,
    ) -> Option<Result<ChatReply, Error>> {
        let mut failed: Option<Error> = None;
        let mut latest = String::new();
        for (position, (brain, breaker)) in self.brains.iter().enumerate() {
            if is_resting(breaker) {
                continue;
            }
            if !latest.is_empty() {
                sink(Piece::Notice(&format!("{latest}; asking `{}` instead", brain.name)));
            }
            let request = ChatRequest { model: &brain.name, ..*request };
            let mut shown = ShownPieces::new(sink);
            let error = match brain.model.complete(&request, &mut |piece| shown.take(piece)).await {
                Ok(mut reply) => {
                    breaker.succeeded();
                    if position > 0 {
                        reply.model.get_or_insert_with(|| brain.name.clone());
                    }
                    return Some(Ok(reply));
                }
                Err(error) => error,
            };
            if !error.concerns_the_server() {
                return Some(Err(error));
            }
            breaker.failed();
            if shown.anything {
                return Some(Err(error));
            }
            tracing::warn!(%error, model = brain.name, "the model cannot answer, asking the next");
            latest = error.to_string();
            // The first error is of the model that was chosen, and so the one to mend.
            failed.get_or_insert(error);
        }
        failed.map(Err)
    }
}

#[async_trait]
impl ChatModel for FallbackModel {
    async fn complete(&self, request: &ChatRequest<'_>, sink: &mut TextSink<'_>) -> Result<ChatReply, Error> {
        let now = Instant::now();
        if let Some(outcome) = self.ask(request, sink, |breaker| breaker.is_open(now)).await {
            return outcome;
        }
        // All rest: better to try than to fail without having tried.
        self.ask(request, sink, |_| false).await.unwrap_or(Err(Error::NoModel))
    }

    fn provider(&self) -> &'static str {
        self.brains.first().map_or("custom", |(brain, _)| brain.model.provider())
    }

    fn most_cost(&self, tokens: u64) -> u64 {
        self.brains.iter().map(|(brain, _)| brain.model.most_cost(tokens)).max().unwrap_or_default()
    }
}

impl fmt::Debug for FallbackModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.brains.iter().map(|(brain, _)| &brain.name).collect();
        f.debug_struct("FallbackModel").field("brains", &names).finish_non_exhaustive()
    }
}

/// The circuit breaker of a model.
#[derive(Debug, Default)]
struct Breaker {
    state: Mutex<(u32, Option<Instant>)>,
}

impl Breaker {
    /// Returns true if the model is not to be asked. After the pause, the first request may try.
    fn is_open(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        let (_, until) = &mut *state;
        match until {
            Some(time) if now < *time => true,
            Some(time) => {
                *time = now + BREAKER_PAUSE;
                false
            }
            None => false,
        }
    }

    fn failed(&self) {
        let mut state = self.state.lock();
        let (failures, until) = &mut *state;
        *failures = failures.saturating_add(1);
        if *failures >= BREAKER_FAILURES {
            *until = Some(Instant::now() + BREAKER_PAUSE);
        }
    }

    fn succeeded(&self) {
        *self.state.lock() = (0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::Piece;

    /// Answers with its name, or fails as it is told to, and counts.
    struct Model {
        error: Mutex<Option<fn() -> Error>>,
        speaks: bool,
        asked: Mutex<u32>,
    }

    #[async_trait]
    impl ChatModel for Model {
        async fn complete(
            &self,
            request: &ChatRequest<'_>,
            sink: &mut TextSink<'_>,
        ) -> Result<ChatReply, Error> {
            *self.asked.lock() += 1;
            if self.speaks {
                sink(Piece::Text("I "));
            }
            match &*self.error.lock() {
                Some(error) => Err(error()),
                None => Ok(ChatReply { content: request.model.to_owned(), ..ChatReply::default() }),
            }
        }
    }

    fn model(error: Option<fn() -> Error>, speaks: bool) -> Arc<Model> {
        Arc::new(Model { error: Mutex::new(error), speaks, asked: Mutex::new(0) })
    }

    fn refused(status: u16) -> Error {
        let (url, message) = ("http://a".to_owned(), "no".to_owned());
        Error::Refused { url, status, message, hint: None, retry_after: None }
    }

    fn pair(first: &Arc<Model>, second: &Arc<Model>) -> FallbackModel {
        let brain = |name: &str, model: &Arc<Model>| Brain { name: name.to_owned(), model: model.clone() };
        FallbackModel::new(brain("first", first), [brain("second", second)])
    }

    async fn ask(model: &FallbackModel) -> Result<String, Error> {
        let request = ChatRequest::new("", &[]);
        model.complete(&request, &mut |_| ()).await.map(|reply| reply.content)
    }

    #[tokio::test]
    async fn the_next_model_is_asked_when_one_cannot_answer() {
        for error in [
            || refused(503),
            || refused(429),
            || refused(402),
            || refused(404),
            (|| Error::Unreachable { url: String::new(), reason: String::new() }) as fn() -> Error,
        ] {
            let (first, second) = (model(Some(error), false), model(None, false));
            assert_eq!(ask(&pair(&first, &second)).await.unwrap(), "second");
        }
    }

    #[tokio::test]
    async fn another_model_that_answers_is_named_before_and_after() {
        let (first, second) = (model(Some(|| refused(503)), false), model(None, false));
        let both = pair(&first, &second);
        let request = ChatRequest::new("", &[]);
        let mut notices = Vec::new();
        let mut sink = |piece: Piece<'_>| {
            if let Piece::Notice(notice) = piece {
                notices.push(notice.to_owned());
            }
        };
        let reply = both.complete(&request, &mut sink).await.unwrap();
        assert_eq!(reply.model.as_deref(), Some("second"));
        assert_eq!(notices, ["the model at http://a answered 503: no; asking `second` instead"]);
        *first.error.lock() = None;
        assert_eq!(both.complete(&request, &mut |_| ()).await.unwrap().model, None);
    }

    #[tokio::test]
    async fn what_is_wrong_with_the_request_is_an_error_at_once() {
        let (first, second) = (model(Some(|| refused(400)), false), model(None, false));
        assert!(matches!(ask(&pair(&first, &second)).await, Err(Error::Refused { status: 400, .. })));
        assert_eq!(*second.asked.lock(), 0);
    }

    #[tokio::test]
    async fn what_was_said_is_not_said_again_by_another() {
        let (first, second) = (model(Some(|| refused(500)), true), model(None, false));
        assert!(matches!(ask(&pair(&first, &second)).await, Err(Error::Refused { status: 500, .. })));
        assert_eq!(*second.asked.lock(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_model_that_keeps_failing_is_left_alone_for_a_while_and_then_tried_once() {
        let (first, second) = (model(Some(|| refused(503)), false), model(None, false));
        let both = pair(&first, &second);
        for _ in 0..5 {
            assert_eq!(ask(&both).await.unwrap(), "second");
        }
        assert_eq!(*first.asked.lock(), BREAKER_FAILURES);
        tokio::time::advance(BREAKER_PAUSE).await;
        for _ in 0..2 {
            assert_eq!(ask(&both).await.unwrap(), "second");
        }
        assert_eq!(*first.asked.lock(), BREAKER_FAILURES + 1);
        tokio::time::advance(BREAKER_PAUSE).await;
        *first.error.lock() = None;
        for _ in 0..2 {
            assert_eq!(ask(&both).await.unwrap(), "first");
        }
    }

    #[tokio::test]
    async fn when_all_fail_the_error_is_the_first_ones_also_while_they_rest() {
        let (first, second) = (model(Some(|| refused(503)), false), model(Some(|| refused(500)), false));
        let both = pair(&first, &second);
        for _ in 0..4 {
            assert!(matches!(ask(&both).await, Err(Error::Refused { status: 503, .. })));
        }
    }
}
