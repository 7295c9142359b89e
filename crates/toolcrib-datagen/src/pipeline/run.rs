//! A run: conversations that are generated concurrently, stage by stage.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use futures::stream::{FuturesUnordered, StreamExt as _};
use tokio_util::sync::CancellationToken;
use toolcrib_port::ToolCaller;

use super::error::{PipelineError, StageError};
use super::item::{Item, ItemOutcome};
use super::report::{Report, Stopped};
use super::selection::{ForbiddenTexts, Selection};
use super::settings::{GenerateSettings, StageKind, StageSettings};
use super::stage::{Asker, NamedModel, Spent, Stage, StageContext};
use super::stages;
use super::store::{EarlierRun, Store};
use super::template::Template;
use super::tools::ToolPool;
use crate::Kind;
use crate::hygiene::DataCard;
use crate::session::SessionEngine;
use crate::writer::Output;

/// The progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The number of conversations that are needed, with those that take the place of others that were left out.
    pub needed: u64,
    /// The number of conversations that are kept.
    pub kept: u64,
    /// The number of conversations that were dropped.
    pub dropped: u64,
    /// The number of conversations that are generated at the moment.
    pub active: u64,
}

/// A pipeline that is ready to run.
pub struct Pipeline {
    stages: Vec<Box<dyn Stage>>,
    pool: ToolPool,
    context: StageContext,
    forbidden: ForbiddenTexts,
    /// The settings with the texts of the prompts, which identify the task.
    task: String,
}

impl Pipeline {
    /// Creates the pipeline of a task.
    ///
    /// `model` returns the model of a stage by the name in the settings, and `prompt` the text of a prompt file.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting, a prompt or a model cannot be used, or there are no tools for a kind.
    pub fn new(
        settings: GenerateSettings,
        pool: ToolPool,
        (caller, sessions): (Arc<dyn ToolCaller>, SessionEngine),
        model: impl Fn(Option<&str>) -> Result<NamedModel, String>,
        prompt: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Self, PipelineError> {
        if let Some((key, message)) = settings.problem() {
            return Err(PipelineError::Setting { key: key.to_owned(), message });
        }
        let pool = pool.prepare(&settings)?;
        let mut texts = Vec::new();
        let mut built = Vec::new();
        for (at, stage) in settings.stages().iter().enumerate() {
            let key = |key: &str| format!("stages[{at}].{key}");
            let wrong = |name: &str, message: String| PipelineError::Setting { key: key(name), message };
            let Some(built_in) = stage.kind.prompt() else {
                built.push(stages::execute());
                continue;
            };
            let text = match &stage.prompt {
                Some(file) => prompt(file).map_err(|message| wrong("prompt", message))?,
                None => built_in.to_owned(),
            };
            let template = Template::parse(&text).map_err(|message| wrong("prompt", message))?;
            let name = stage.model.as_deref().or(settings.model.as_deref());
            let model = model(name).map_err(|message| wrong("model", message))?;
            texts.push(text);
            let StageSettings { kind, votes, .. } = *stage;
            built.push(stages::asking(Asker { stage: kind, template, model }, votes));
        }
        let task = serde_json::json!([settings.content(), texts]).to_string();
        let context = StageContext { settings, sessions, caller, spent: Spent::default() };
        Ok(Self { stages: built, pool, context, forbidden: ForbiddenTexts::default(), task })
    }

    /// Sets the texts that must not be in the data set.
    pub fn with_forbidden_texts(mut self, forbidden: ForbiddenTexts) -> Self {
        self.forbidden = forbidden;
        self
    }

    /// Generates the conversations, and writes the output when it has them, with its data card: `data.card.md`. The state
    /// of the run is kept in a file next to the output: `data.jsonl.state`.
    ///
    /// The output has the first conversations that were kept, by their numbers. It does not depend on the order in which
    /// they were finished, or on interruptions.
    ///
    /// # Errors
    ///
    /// Returns an error if a model cannot be asked, or a file cannot be used. What was generated until then is kept.
    pub async fn run(
        &self,
        output: &Path,
        earlier: EarlierRun,
        cancel: &CancellationToken,
        on_progress: impl FnMut(Progress) + Send,
    ) -> Result<Report, PipelineError> {
        let mut state = output.as_os_str().to_owned();
        state.push(".state");
        let store = Store::open(Path::new(&state), &self.task, earlier).await?;
        let generated = self.select(&store, cancel, on_progress).await;
        store.close().await?;
        let (items, selection, stopped) = generated?;
        self.write(output, &items, &selection, stopped)
    }

    /// Generates conversations until enough of them are selected. Those that are left out are replaced by others.
    async fn select(
        &self,
        store: &Store,
        cancel: &CancellationToken,
        mut on_progress: impl FnMut(Progress) + Send,
    ) -> Result<(Vec<Item>, Selection, Option<Stopped>), PipelineError> {
        let settings = &self.context.settings;
        let requested = settings.num_outputs.get();
        let mut needed = u64::from(requested);
        loop {
            let stopped = self.generate(store, needed, cancel, &mut on_progress).await?;
            let items = store.items().await?;
            let selection = Selection::new(&items, requested as usize, &settings.hygiene, &self.forbidden);
            let missing = u64::from(requested) - selection.conversations.len() as u64;
            if missing == 0 || stopped.is_some() {
                return Ok((items, selection, stopped.filter(|_| missing > 0)));
            }
            let is_kept = |item: &&Item| item.outcome == Some(ItemOutcome::Kept);
            needed = items.iter().filter(is_kept).count() as u64 + missing;
        }
    }

    /// Writes the selected conversations with their data card, and counts all items.
    fn write(
        &self,
        path: &Path,
        items: &[Item],
        selection: &Selection,
        stopped: Option<Stopped>,
    ) -> Result<Report, PipelineError> {
        let settings = &self.context.settings;
        let names = settings.names.unwrap_or_else(|| settings.format.default_names());
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let mut card = DataCard::new(name, settings.seed);
        let mut output = Output::create(path, settings.format, names)?;
        for conversation in &selection.conversations {
            output.write(conversation)?;
            card.add(conversation);
        }
        let mut report = Report::of(items, selection);
        for (stage, reasons) in &report.reasons {
            for (reason, count) in reasons {
                *card.dropped.entry(format!("{stage}: {reason}")).or_default() += count;
            }
        }
        card.set_licences(&settings.licences);
        output.finish_with(&card)?;
        report.requested = settings.num_outputs.get().into();
        report.written = selection.conversations.len() as u64;
        report.secrets_removed = selection.secrets_removed;
        report.stopped = stopped;
        Ok(report)
    }

    /// Generates conversations until a number of them is kept.
    async fn generate(
        &self,
        store: &Store,
        needed: u64,
        cancel: &CancellationToken,
        on_progress: &mut (impl FnMut(Progress) + Send),
    ) -> Result<Option<Stopped>, PipelineError> {
        let settings = &self.context.settings;
        let mut waiting: BTreeMap<u64, Item> = BTreeMap::new();
        let mut progress = Progress { needed, ..Progress::default() };
        let mut next = 0;
        self.context.spent.reset();
        for item in store.items().await? {
            self.context.spent.add(item.usage);
            // An item before this one may have been started and not been stored when the process was killed.
            for index in next..item.index {
                waiting.insert(index, self.pool.item(index, settings));
            }
            next = item.index + 1;
            match item.outcome {
                Some(ItemOutcome::Kept) => progress.kept += 1,
                Some(ItemOutcome::Dropped(_)) => progress.dropped += 1,
                None => drop(waiting.insert(item.index, item)),
            }
        }
        let mut active = FuturesUnordered::new();
        let mut stopped = None;
        loop {
            // An item is started only if the output needs it should all before it be kept, so that the same items are
            // started regardless of the order in which they end.
            while stopped.is_none() && active.len() < settings.parallel.get() {
                let item = if let Some((_, item)) = waiting.pop_first() {
                    item
                } else if progress.kept + (active.len() as u64) < needed && next < settings.max_starts() {
                    next += 1;
                    self.pool.item(next - 1, settings)
                } else {
                    break;
                };
                active.push(self.settle(item, store));
            }
            progress.active = active.len() as u64;
            on_progress(progress);
            if active.is_empty() {
                break;
            }
            let settled = tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(Some(Stopped::Interrupted)),
                settled = active.next() => settled,
            };
            match settled {
                Some(Ok(ItemOutcome::Kept)) => progress.kept += 1,
                Some(Ok(ItemOutcome::Dropped(_))) => progress.dropped += 1,
                Some(Err(StageError::Budget)) => stopped = Some(Stopped::Budget),
                Some(Err(StageError::Fail(error))) => return Err(error),
                // A dropped item is settled above.
                Some(Err(StageError::Drop(_))) | None => {}
            }
        }
        let is_short = progress.kept < needed;
        Ok(stopped.or(is_short.then_some(Stopped::TooManyDropped)))
    }

    /// Runs the stages of an item until it is kept or dropped. Each stage is one transaction.
    async fn settle(&self, mut item: Item, store: &Store) -> Result<ItemOutcome, StageError> {
        if item.outcome.is_some() {
            // It was dropped when its tools were chosen.
            store.put(&item).await.map_err(StageError::Fail)?;
        }
        loop {
            if let Some(outcome) = &item.outcome {
                return Ok(outcome.clone());
            }
            let Some(stage) = self.stages.get(item.next_stage) else {
                item.outcome = Some(ItemOutcome::Kept);
                store.put(&item).await.map_err(StageError::Fail)?;
                continue;
            };
            let mut after = item.clone();
            match stage.run(&mut after, &self.context).await {
                Ok(()) => {
                    self.advance(&mut after);
                    item = after;
                }
                Err(StageError::Drop(dropped)) => {
                    item.usage = after.usage;
                    if !self.rescue(&mut item, stage.kind()) {
                        item.outcome = Some(ItemOutcome::Dropped(dropped));
                    }
                }
                Err(other) => return Err(other),
            }
            store.put(&item).await.map_err(StageError::Fail)?;
        }
    }

    /// Moves an item to the stage after the one that it has passed.
    fn advance(&self, item: &mut Item) {
        let is_of_turn = |at: usize| self.stages.get(at).is_some_and(|stage| stage.kind().is_of_turn());
        let (passed, next) = (item.next_stage, item.next_stage + 1);
        item.next_stage = next;
        if is_of_turn(passed) && !is_of_turn(next) {
            item.complete_turns += 1;
            item.complete_messages = item.conversation.messages.len();
            if item.complete_turns < item.turns {
                item.next_stage = (0..passed).rev().take_while(|at| is_of_turn(*at)).last().unwrap_or(passed);
            }
        }
    }

    /// Ends a conversation at its last complete turn, if it has enough of them. Returns true if it did.
    fn rescue(&self, item: &mut Item, failed: StageKind) -> bool {
        // A conversation of one turn is of another kind.
        let least = self.context.settings.min_turns.get().max(2);
        let is_rescued = item.conversation.kind == Kind::MultiTurn
            && failed.is_of_turn()
            && item.complete_turns >= least
            && item.complete_turns < item.turns;
        if is_rescued {
            item.turns = item.complete_turns;
            item.conversation.messages.truncate(item.complete_messages);
            let mut of_turn = self.stages.iter().enumerate().filter(|(_, stage)| stage.kind().is_of_turn());
            item.next_stage = of_turn.next_back().map_or(0, |(at, _)| at + 1);
        }
        is_rescued
    }
}
