//! The stages of a turn that write its plan, its message and its answer.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::texts::text;
use crate::Kind;
use crate::conversation::{Call, Message};
use crate::pipeline::error::StageError;
use crate::pipeline::item::Item;
use crate::pipeline::plan::{self, PlannedCalls};
use crate::pipeline::settings::StageKind;
use crate::pipeline::stage::{Asker, Stage, StageContext};
use crate::seed::Random;

/// The most characters of the words that an assistant searches for.
const MAX_QUERY_CHARS: usize = 200;

/// `plan`.
pub(super) struct Plan(pub(super) Asker);

#[async_trait]
impl Stage for Plan {
    fn kind(&self) -> StageKind {
        StageKind::Plan
    }

    async fn run(&self, item: &mut Item, context: &StageContext) -> Result<(), StageError> {
        item.plan = Vec::new();
        item.omitted = None;
        item.alternative = None;
        item.query = None;
        let kind = item.conversation.kind;
        if kind == Kind::Irrelevant {
            return Ok(());
        }
        let check = |item: &Item, reply: PlannedCalls| {
            let calls = reply.calls.into_iter().enumerate().map(|(at, call)| call.call((at + 1).to_string()));
            let calls: Vec<Call> = calls.collect();
            plan::check(kind, &calls, &item.plannable)?;
            let said = |call| plan::required_values(call, &item.plannable);
            if kind == Kind::MissingParameter && calls.first().is_none_or(|call| said(call).is_empty()) {
                return Err("the call has no required argument that a user could leave out".to_owned());
            }
            Ok(calls)
        };
        let mut calls = self.0.ask(item, context, 0, check).await?;
        if kind == Kind::Ambiguous {
            item.alternative = calls.pop();
        }
        if let (Kind::MissingParameter, Some(call)) = (kind, calls.first()) {
            let mut random = Random::new(Random::derive(item.conversation.seed, item.next_stage as u64));
            item.omitted = random.choose(&plan::required_values(call, &item.plannable)).cloned();
        }
        if kind == Kind::MissingTool {
            let planned = calls.first().map(|call| call.name.clone()).unwrap_or_default();
            item.conversation.tools.retain(|tool| tool.name.to_string() != planned);
        }
        item.plan = calls;
        Ok(())
    }
}

/// `utterance`.
pub(super) struct Utterance(pub(super) Asker);

#[async_trait]
impl Stage for Utterance {
    fn kind(&self) -> StageKind {
        StageKind::Utterance
    }

    async fn run(&self, item: &mut Item, context: &StageContext) -> Result<(), StageError> {
        #[derive(Deserialize, JsonSchema)]
        struct UtteranceReply {
            message: String,
        }
        let check = |item: &Item, reply: UtteranceReply| {
            let message = text(&reply.message)?;
            says_no_names(&message, item)?;
            let mut earlier = item.conversation.messages.iter();
            let is_repeated =
                earlier.any(|earlier| matches!(earlier, Message::User { content } if *content == message));
            if is_repeated { Err("the user has already said so".to_owned()) } else { Ok(message) }
        };
        let message = self.0.ask(item, context, 0, check).await?;
        item.conversation.messages.push(Message::user(message));
        Ok(())
    }
}

/// Checks that a text has no names of tools and calls, which no user knows.
///
/// # Errors
///
/// Returns an error that names the first.
pub(super) fn says_no_names(message: &str, item: &Item) -> Result<(), String> {
    let mut names = item.plannable.iter().chain(&item.conversation.tools).flat_map(|tool| {
        // A name of one word, such as `search`, is a word of users.
        let name = tool.name.name();
        let is_word = !name.contains(['_', '-', '.']) && !name.chars().skip(1).any(char::is_uppercase);
        let alone = (!is_word).then(|| name.to_owned());
        [Some(tool.name.to_string()), Some(tool.name.dotted()), alone].into_iter().flatten()
    });
    if let Some(name) = names.find(|name| message.contains(name.as_str())) {
        return Err(format!("the text contains the name `{name}` of a tool"));
    }
    let is_id = |word: &str| {
        let digits = word.strip_prefix("call_");
        digits.is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if message.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(is_id) {
        return Err("the text contains the identifier of a call".to_owned());
    }
    Ok(())
}

/// `verify`: back-translation.
pub(super) struct Verify(pub(super) Asker);

#[async_trait]
impl Stage for Verify {
    fn kind(&self) -> StageKind {
        StageKind::Verify
    }

    async fn run(&self, item: &mut Item, context: &StageContext) -> Result<(), StageError> {
        if item.plan.is_empty() {
            return Ok(());
        }
        let check = |_: &Item, reply: PlannedCalls| {
            Ok(reply.calls.into_iter().map(|call| call.call("")).collect::<Vec<Call>>())
        };
        let again = self.0.ask(item, context, 0, check).await?;
        let mut planned = item.plan.clone();
        if let (Some(omitted), Some(arguments)) =
            (&item.omitted, planned.first_mut().and_then(|call| call.arguments.as_object_mut()))
        {
            arguments.remove(omitted);
        }
        let said = match &item.alternative {
            Some(alternative) => plan::shared_leaves(&planned, std::slice::from_ref(alternative)),
            None => plan::leaves(&planned),
        };
        planned.extend(item.alternative.clone());
        let names = |calls: &[Call]| {
            let mut names: Vec<_> = calls.iter().map(|call| call.name.clone()).collect();
            names.sort();
            // Two readings that differ in a value alone may be understood as one call without it.
            if item.alternative.is_some() {
                names.dedup();
            }
            names
        };
        if names(&planned) != names(&again) {
            let detail = format!("planned {:?}, understood {:?}", names(&planned), names(&again));
            return Err(StageError::drop(StageKind::Verify, "other_tools", detail));
        }
        let returned = plan::leaves(&again);
        for (leaf, count) in said {
            if returned.get(&leaf).is_none_or(|found| *found < count) {
                let detail = format!("the message of the user does not contain `{leaf}`");
                return Err(StageError::drop(StageKind::Verify, "lost_value", detail));
            }
        }
        Ok(())
    }
}

/// `search`: the words by which the assistant finds the planned tool.
pub(super) struct Search(pub(super) Asker);

#[async_trait]
impl Stage for Search {
    fn kind(&self) -> StageKind {
        StageKind::Search
    }

    async fn run(&self, item: &mut Item, context: &StageContext) -> Result<(), StageError> {
        #[derive(Deserialize, JsonSchema)]
        struct SearchReply {
            query: String,
        }
        if item.conversation.kind != Kind::Discovery {
            return Ok(());
        }
        let check = |item: &Item, reply: SearchReply| {
            let query = text(&reply.query)?;
            says_no_names(&query, item)?;
            if query.chars().count() > MAX_QUERY_CHARS {
                return Err(format!("the query is longer than {MAX_QUERY_CHARS} characters"));
            }
            Ok(query)
        };
        item.query = Some(self.0.ask(item, context, 0, check).await?);
        Ok(())
    }
}

/// `answer`.
pub(super) struct Answer(pub(super) Asker);

#[async_trait]
impl Stage for Answer {
    fn kind(&self) -> StageKind {
        StageKind::Answer
    }

    async fn run(&self, item: &mut Item, context: &StageContext) -> Result<(), StageError> {
        #[derive(Deserialize, JsonSchema)]
        struct AnswerReply {
            answer: String,
        }
        let check = |item: &Item, reply: AnswerReply| {
            let answer = text(&reply.answer)?;
            says_no_names(&answer, item)?;
            Ok(answer)
        };
        let answer = self.0.ask(item, context, 0, check).await?;
        item.conversation.messages.push(Message::assistant(answer));
        Ok(())
    }
}
