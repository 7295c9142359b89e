//! Tests of the pipeline with a model that answers by rules.

mod kinds;
mod sampling;
mod selection;

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use toolcrib_agent::chat::{ChatReply, ChatRequest, TextSink, Usage};
use toolcrib_agent::{ChatModel, Error};
use toolcrib_model::{ErrorKind, QualifiedName, Tool, ToolCall, ToolError, ToolResult};
use toolcrib_port::{CallContext, Catalogue, ToolCaller};
use toolcrib_testkit::teach;

use super::settings::{BudgetSettings, KindSettings, StageKind, StageSettings};
use super::{EarlierRun, GenerateSettings, NamedModel, Pipeline, PipelineError, Report, Stopped, ToolPool};
use crate::Kind;
use crate::session::{SessionEngine, SessionStates};

/// The kinds that need no runtime.
const KINDS: [Kind; 9] = [
    Kind::Single,
    Kind::Parallel,
    Kind::Nested,
    Kind::MultiTurn,
    Kind::MissingParameter,
    Kind::MissingTool,
    Kind::Irrelevant,
    Kind::Ambiguous,
    Kind::ErrorRecovery,
];

/// A model that answers by rules, and the number of its replies after which it is silent, or writes rubbish.
#[derive(Default)]
struct Teacher {
    replies: AtomicUsize,
    silent_after: Option<usize>,
    silent: Arc<Notify>,
    rubbish_for: Option<StageKind>,
    /// The number of the turn, from 0, in whose stages it writes rubbish.
    rubbish_in_turn: Option<u64>,
    /// The number of the conversation for which it is silent.
    silent_for: Option<u64>,
}

#[async_trait]
impl ChatModel for Teacher {
    async fn complete(&self, request: &ChatRequest<'_>, _: &mut TextSink<'_>) -> Result<ChatReply, Error> {
        let number = self.replies.fetch_add(1, Ordering::SeqCst);
        if self.silent_after.is_some_and(|silent_after| number >= silent_after) {
            self.silent.notify_one();
            std::future::pending::<()>().await;
        }
        let prompt = request.messages[0].content();
        if self.silent_for.is_some_and(|item| prompt.contains(&format!("\"item\": {item},"))) {
            std::future::pending::<()>().await;
        }
        let has = |key: &str, value: &str| prompt.contains(&format!("\"{key}\": {value}"));
        let of_stage = |stage: StageKind| has("stage", &format!("\"{}\"", stage.name()));
        let of_turn = |turn: u64| has("turn", &format!("{turn},")) && of_stage(StageKind::Plan);
        let is_rubbish = self.rubbish_for.is_some_and(of_stage) || self.rubbish_in_turn.is_some_and(of_turn);
        let content = if is_rubbish { "rubbish".to_owned() } else { teach(prompt) };
        let usage = Usage { prompt_tokens: 10, completion_tokens: 1, ..Usage::default() };
        Ok(ChatReply { content, usage, ..ChatReply::default() })
    }
}

/// A caller whose tools reply with an identifier.
struct Desk(Vec<Arc<Tool>>);

#[async_trait]
impl ToolCaller for Desk {
    async fn call(&self, call: ToolCall, _: &CallContext) -> ToolResult {
        let result = json!({"id": format!("r{}", call.arguments.values().next().unwrap()), "done": true});
        ToolResult::ok(call.call_id, call.name, result)
    }

    fn catalogue(&self) -> &dyn Catalogue {
        self
    }
}

impl Catalogue for Desk {
    fn find_tools(&self, name: &str, _: &CallContext) -> Result<Vec<Arc<Tool>>, ToolError> {
        let found: Vec<_> = self.0.iter().filter(|tool| tool.name.to_string() == name).cloned().collect();
        if found.is_empty() { Err(ToolError::new(ErrorKind::UnknownTool, "none")) } else { Ok(found) }
    }
}

fn tools() -> Vec<Arc<Tool>> {
    let tool = |number: usize| {
        let properties = json!({"title": {"type": "string"}, "size": {"type": "integer"}});
        let schema = json!({"type": "object", "properties": properties, "required": ["title", "size"]});
        let name = QualifiedName::new("desk", format!("file_{number}")).unwrap();
        Arc::new(Tool::new(name).with_description("Files a paper.").with_parameters(schema))
    };
    (0..6).map(tool).collect()
}

fn settings() -> GenerateSettings {
    GenerateSettings {
        num_outputs: NonZeroU32::new(18).unwrap(),
        seed: 7,
        kinds: KINDS.into_iter().map(|kind| (kind, KindSettings::Weight(1.0))).collect(),
        ..GenerateSettings::default()
    }
}

fn pipeline(settings: &GenerateSettings, teacher: Teacher, known: Vec<Arc<Tool>>) -> Pipeline {
    let caller: Arc<dyn ToolCaller> = Arc::new(Desk(known));
    let sessions = SessionEngine::new(Arc::clone(&caller), SessionStates::default());
    let model = NamedModel { name: "teacher".to_owned(), model: Arc::new(teacher) };
    let pool = ToolPool::new(&tools(), |_| true);
    let callers = (caller, sessions);
    Pipeline::new(settings.clone(), pool, callers, |_| Ok(model.clone()), |_| unreachable!()).unwrap()
}

async fn run(pipeline: &Pipeline, path: &Path, earlier: EarlierRun) -> Result<Report, PipelineError> {
    pipeline.run(path, earlier, &CancellationToken::new(), |_| ()).await
}

#[tokio::test]
async fn every_kind_becomes_conversations_without_findings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.jsonl");
    let settings = GenerateSettings { num_outputs: NonZeroU32::new(60).unwrap(), ..settings() };
    let report =
        run(&pipeline(&settings, Teacher::default(), tools()), &path, EarlierRun::Refuse).await.unwrap();
    assert_eq!((report.written, report.stopped), (60, None), "{report}");
    assert_eq!(report.kinds.keys().copied().collect::<Vec<_>>().len(), KINDS.len(), "{report}");
    assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 60);
}

#[tokio::test]
async fn interruptions_at_every_stage_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.jsonl");
    run(&pipeline(&settings(), Teacher::default(), tools()), &whole, EarlierRun::Refuse).await.unwrap();

    let path = folder.path().join("parts.jsonl");
    let mut report = Report::default();
    for number in 0..1_000 {
        // Each run ends when its model has replied three times. One conversation at a time, or four.
        let parallel = NonZeroUsize::new(if number % 2 == 0 { 1 } else { 4 }).unwrap();
        let settings = GenerateSettings { parallel, ..settings() };
        let teacher = Teacher { silent_after: Some(3), ..Teacher::default() };
        let silent = Arc::clone(&teacher.silent);
        let part = pipeline(&settings, teacher, tools());
        let earlier = if number == 0 { EarlierRun::Refuse } else { EarlierRun::Resume };
        // The future of a run whose model is silent is dropped, as a process is killed.
        tokio::select! {
            ended = run(&part, &path, earlier) => {
                report = ended.unwrap();
                break;
            }
            () = silent.notified() => {}
        }
    }
    assert_eq!(report.written, 18);
    assert_eq!(std::fs::read(path).unwrap(), std::fs::read(whole).unwrap());
}

#[tokio::test]
async fn a_conversation_that_was_started_and_not_stored_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, parts) = (folder.path().join("whole.jsonl"), folder.path().join("parts.jsonl"));
    let settings = GenerateSettings { num_outputs: NonZeroU32::new(3).unwrap(), ..settings() };
    run(&pipeline(&settings, Teacher::default(), tools()), &whole, EarlierRun::Refuse).await.unwrap();

    let teacher = Teacher { silent_for: Some(0), ..Teacher::default() };
    let interrupted = pipeline(&settings, teacher, tools());
    let others_are_kept = Notify::new();
    let cancel = CancellationToken::new();
    let on_progress = |progress: super::Progress| {
        if progress.kept == 2 {
            others_are_kept.notify_one();
        }
    };
    tokio::select! {
        ended = interrupted.run(&parts, EarlierRun::Refuse, &cancel, on_progress) => {
            panic!("{ended:?}")
        }
        () = others_are_kept.notified() => {}
    }
    let resumed = pipeline(&settings, Teacher::default(), tools());
    let report = run(&resumed, &parts, EarlierRun::Resume).await.unwrap();
    assert_eq!((report.written, report.started), (3, 3), "{report}");
    assert_eq!(std::fs::read(parts).unwrap(), std::fs::read(whole).unwrap());
}

#[tokio::test]
async fn a_model_that_writes_rubbish_costs_its_items_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.jsonl");
    let settings = GenerateSettings { starts_per_output: NonZeroU32::MIN, ..settings() };
    let teacher = Teacher { rubbish_for: Some(StageKind::Clarify), ..Teacher::default() };
    let report = run(&pipeline(&settings, teacher, tools()), &path, EarlierRun::Refuse).await.unwrap();
    assert_eq!(report.stopped, Some(Stopped::TooManyDropped));
    assert_eq!(report.reasons["clarify"]["unusable_reply"], report.dropped);
    assert_eq!(report.written + report.dropped, 18);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_never_answers_drops_the_item() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.jsonl");
    let settings = GenerateSettings {
        num_outputs: NonZeroU32::MIN,
        starts_per_output: NonZeroU32::MIN,
        ..GenerateSettings::default()
    };
    let teacher = Teacher { silent_after: Some(2), ..Teacher::default() };
    let report = run(&pipeline(&settings, teacher, tools()), &path, EarlierRun::Refuse).await.unwrap();
    let expected = BTreeMap::from([("no_reply".to_owned(), 1)]);
    assert_eq!(report.reasons, BTreeMap::from([("plan", expected)]));
}

#[tokio::test]
async fn a_tool_that_changes_after_the_plan_drops_the_item() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.jsonl");
    let settings = GenerateSettings {
        num_outputs: NonZeroU32::new(2).unwrap(),
        starts_per_output: NonZeroU32::MIN,
        ..GenerateSettings::default()
    };
    let changed = tools().iter().map(|tool| Arc::new(Tool::new(tool.name.clone()))).collect();
    let report =
        run(&pipeline(&settings, Teacher::default(), changed), &path, EarlierRun::Refuse).await.unwrap();
    assert_eq!(report.reasons["execute"]["tool_changed"], 2);
}

#[tokio::test]
async fn a_used_budget_stops_the_run_which_a_higher_one_continues() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.jsonl");
    let budget = BudgetSettings { tokens: NonZeroU64::new(200), cost: None };
    let limited = GenerateSettings { budget, ..settings() };
    let report =
        run(&pipeline(&limited, Teacher::default(), tools()), &path, EarlierRun::Refuse).await.unwrap();
    assert_eq!(report.stopped, Some(Stopped::Budget));
    assert!(report.usage.tokens() < 300, "{report}");
    let report =
        run(&pipeline(&settings(), Teacher::default(), tools()), &path, EarlierRun::Resume).await.unwrap();
    assert_eq!((report.written, report.stopped), (18, None));
}

#[tokio::test]
async fn the_state_of_another_task_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.jsonl");
    run(&pipeline(&settings(), Teacher::default(), tools()), &path, EarlierRun::Refuse).await.unwrap();
    let other = GenerateSettings { seed: 8, ..settings() };
    let other = pipeline(&other, Teacher::default(), tools());
    let refused = run(&other, &path, EarlierRun::Refuse).await.unwrap_err();
    assert!(matches!(refused, PipelineError::Exists { .. }), "{refused}");
    let refused = run(&other, &path, EarlierRun::Resume).await.unwrap_err();
    assert!(matches!(refused, PipelineError::OtherTask { .. }), "{refused}");
    assert_eq!(run(&other, &path, EarlierRun::Restart).await.unwrap().written, 18);
}

#[test]
fn preference_pairs_need_the_stage_that_writes_them() {
    let settings = GenerateSettings { format: crate::writer::Format::Preferences, ..settings() };
    let (key, problem) = settings.problem().unwrap();
    assert_eq!((key, &*problem), ("stages", "the format `preferences` needs the stage `preference`"));
}

#[tokio::test]
async fn a_worse_answer_makes_a_preference_pair() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.jsonl");
    let mut stages = GenerateSettings::default().stages();
    stages.push(StageSettings::new(StageKind::Preference));
    let settings = GenerateSettings {
        num_outputs: NonZeroU32::MIN,
        stages,
        format: crate::writer::Format::Preferences,
        ..GenerateSettings::default()
    };
    run(&pipeline(&settings, Teacher::default(), tools()), &path, EarlierRun::Refuse).await.unwrap();
    let written = std::fs::read_to_string(path).unwrap();
    assert!(written.contains("I do not know.") && written.contains("This is what I found."), "{written}");
}
