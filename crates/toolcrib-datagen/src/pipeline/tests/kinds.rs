//! What conversations of single kinds consist of.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;
use serde_json::Value;
use toolcrib_meta::names::{EXECUTE_TOOL, SEARCH_TOOLS};
use toolcrib_model::ResultNote;
use toolcrib_model::random::random_bytes;
use toolcrib_model::result::{handle_of, is_handle};
use toolcrib_results::READ_RESULT;

use super::*;
use crate::conversation::{Conversation, Message};
use crate::reader::read_line;
use crate::validate;

/// A caller with the tools of the runtime: results are previews with random handles, and a search lists given lines.
#[derive(Default)]
struct Office {
    tools: Vec<Arc<Tool>>,
    found: Vec<String>,
    handles: Mutex<Vec<String>>,
    has_read: AtomicBool,
}

#[async_trait]
impl ToolCaller for Office {
    async fn call(&self, call: ToolCall, _: &CallContext) -> ToolResult {
        let name = call.name.rsplit("::").next().unwrap_or_default();
        let (id, name_of_call) = (call.call_id.clone(), call.name.clone());
        match name {
            SEARCH_TOOLS => ToolResult::ok(id, name_of_call, json!({"outcome": "ok", "results": self.found})),
            EXECUTE_TOOL => ToolResult::ok(id, name_of_call, json!({"done": true})),
            READ_RESULT => {
                let handle = call.arguments["handle"].as_str().unwrap().to_owned();
                assert!(self.handles.lock().contains(&handle), "{handle} names no result");
                self.has_read.store(true, Ordering::SeqCst);
                ToolResult::ok(id, name_of_call, json!("the rest"))
            }
            _ => {
                let handle = handle_of(u128::from_be_bytes(random_bytes().unwrap()));
                self.handles.lock().push(handle.clone());
                let preview = json!({"total": 2, "hint": format!("read_result(handle=\"{handle}\", …)")});
                ToolResult::ok(id, name_of_call, preview).with_note(ResultNote::Handle(handle))
            }
        }
    }

    fn catalogue(&self) -> &dyn Catalogue {
        self
    }
}

impl Catalogue for Office {
    fn find_tools(&self, name: &str, _: &CallContext) -> Result<Vec<Arc<Tool>>, ToolError> {
        Ok(self.tools.iter().filter(|tool| tool.name.to_string() == name).cloned().collect())
    }
}

fn office(found: &[&str]) -> Arc<Office> {
    let properties = json!({"query": {"type": "string"}, "handle": {"type": "string"}, "name": {"type": "string"},
        "params": {"type": "object"}});
    let of_runtime = [SEARCH_TOOLS, EXECUTE_TOOL, READ_RESULT].map(|name| {
        let name = QualifiedName::new("context_builder", name).unwrap();
        Arc::new(Tool::new(name).with_parameters(json!({"type": "object", "properties": properties})))
    });
    let tools = tools().into_iter().chain(of_runtime).collect();
    let found = found.iter().map(|line| (*line).to_owned()).collect();
    Arc::new(Office { tools, found, ..Office::default() })
}

/// Generates conversations of one kind.
async fn generate(kind: Kind, office: Arc<Office>) -> (Vec<Conversation>, Report) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.jsonl");
    let settings = GenerateSettings {
        num_outputs: NonZeroU32::new(4).unwrap(),
        starts_per_output: NonZeroU32::MIN,
        kinds: BTreeMap::from([(kind, KindSettings::Weight(1.0))]),
        ..settings()
    };
    let model = NamedModel { name: "teacher".to_owned(), model: Arc::new(Teacher::default()) };
    let pool = ToolPool::new(&office.tools, |_| true);
    let caller: Arc<dyn ToolCaller> = office;
    let sessions = SessionEngine::new(Arc::clone(&caller), SessionStates::default());
    let callers = (caller, sessions);
    let pipeline = Pipeline::new(settings, pool, callers, |_| Ok(model.clone()), |_| unreachable!()).unwrap();
    let report = run(&pipeline, &path, EarlierRun::Refuse).await.unwrap();
    let written = std::fs::read_to_string(path).unwrap();
    let read = |(at, line): (usize, &str)| read_line(line, &at.to_string()).unwrap();
    (written.lines().enumerate().map(read).collect(), report)
}

fn calls(conversation: &Conversation) -> Vec<(String, Value)> {
    let calls = conversation.messages.iter().filter_map(|message| match message {
        Message::Assistant { calls, .. } => Some(calls),
        _ => None,
    });
    calls.flatten().map(|call| (call.name.clone(), call.arguments.clone())).collect()
}

#[tokio::test]
async fn a_long_result_is_read_by_a_handle_that_depends_on_the_seed_alone() {
    let office_of_first = office(&[]);
    let (first, report) = generate(Kind::LongResult, Arc::clone(&office_of_first)).await;
    assert_eq!(first.len(), 4, "{report}");
    assert!(office_of_first.has_read.load(Ordering::SeqCst));
    let mut handles = BTreeSet::new();
    for conversation in &first {
        assert_eq!(validate(conversation), []);
        let read = calls(conversation).pop().unwrap();
        let handle = read.1["handle"].as_str().unwrap().to_owned();
        assert!(is_handle(&handle) && !office_of_first.handles.lock().contains(&handle), "{handle}");
        assert!(json!(conversation.messages[2]).to_string().contains(&handle), "the result names it");
        handles.insert(handle);
    }
    assert_eq!(handles.len(), 4, "no two conversations have the same");
    let (again, _) = generate(Kind::LongResult, office(&[])).await;
    assert_eq!(again, first);
}

#[tokio::test]
async fn a_tool_is_found_by_the_words_of_the_assistant_and_called_by_its_name() {
    let lines: Vec<String> =
        (0..6).map(|number| format!("desk.file_{number}(title: str) — Files.")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (conversations, report) = generate(Kind::Discovery, office(&lines)).await;
    assert_eq!(conversations.len(), 4, "{report}");
    for conversation in &conversations {
        assert_eq!(validate(conversation), []);
        let calls = calls(conversation);
        // `reader` does not know the namespace of tools without one.
        assert_eq!(calls[0], ("tools::search_tools".to_owned(), json!({"query": "Files a paper"})));
        assert!(calls[1].1["name"].as_str().unwrap().starts_with("desk.file_"), "{calls:?}");
    }
}

#[tokio::test]
async fn a_search_that_lists_only_longer_names_has_not_found_the_tool() {
    let lines: Vec<String> =
        (0..6).map(|number| format!("desk.file_{number}0(title: str) — Files.")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (_, report) = generate(Kind::Discovery, office(&lines)).await;
    assert_eq!(report.reasons["execute"]["not_found"], 4, "{report}");
}

#[tokio::test]
async fn the_assistant_asks_which_of_two_calls_is_meant_and_makes_the_first() {
    let (conversations, report) = generate(Kind::Ambiguous, office(&[])).await;
    assert_eq!(conversations.len(), 4, "{report}");
    for conversation in &conversations {
        assert_eq!(validate(conversation), []);
        let [
            Message::User { content: vague },
            Message::Assistant { calls: none, .. },
            Message::User { content: clear },
            ..,
        ] = &conversation.messages[..]
        else {
            panic!("{:?}", conversation.messages)
        };
        let made = calls(conversation);
        let title = made[0].1["title"].as_str().unwrap();
        assert!(none.is_empty() && made.len() == 1, "{made:?}");
        assert!(!vague.contains(title) && clear.contains(title), "{vague} {clear}");
    }
}

#[tokio::test]
async fn a_conversation_whose_last_turn_fails_ends_at_the_turn_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.jsonl");
    let settings = GenerateSettings {
        num_outputs: NonZeroU32::new(6).unwrap(),
        kinds: BTreeMap::from([(Kind::MultiTurn, KindSettings::Weight(1.0))]),
        min_turns: NonZeroU32::new(2).unwrap(),
        max_turns: NonZeroU32::new(4).unwrap(),
        seed: 1,
        ..settings()
    };
    let turns = |written: &str| -> Vec<usize> {
        written.lines().map(|line| line.matches("\"role\":\"user\"").count()).collect()
    };
    let whole = pipeline(&settings, Teacher::default(), tools());
    run(&whole, &path, EarlierRun::Refuse).await.unwrap();
    let asked = turns(&std::fs::read_to_string(&path).unwrap());
    assert!(asked.iter().any(|turns| *turns > 2), "{asked:?}");

    let teacher = Teacher { rubbish_in_turn: Some(2), ..Teacher::default() };
    let report = run(&pipeline(&settings, teacher, tools()), &path, EarlierRun::Restart).await.unwrap();
    assert_eq!((report.written, report.dropped), (6, 0), "{report}");
    assert_eq!(turns(&std::fs::read_to_string(&path).unwrap()), [2; 6]);
}

#[test]
fn the_kinds_of_a_short_run_are_in_proportion_to_their_weights() {
    let pool = ToolPool::new(&office(&[]).tools, |_| true);
    for seed in 0..100 {
        let kinds = Kind::ALL.into_iter().map(|kind| (kind, KindSettings::Weight(1.0))).collect();
        let settings = GenerateSettings { seed, kinds, ..GenerateSettings::default() };
        let kind = |index| pool.item(index, &settings).conversation.kind;
        assert_eq!((0..24).map(kind).collect::<BTreeSet<_>>().len(), Kind::ALL.len(), "seed {seed}");
    }
    let kinds = [(Kind::Single, KindSettings::Weight(3.0)), (Kind::Parallel, KindSettings::Weight(1.0))];
    let settings = GenerateSettings { kinds: kinds.into(), ..GenerateSettings::default() };
    let parallel = (0..40).filter(|index| pool.item(*index, &settings).conversation.kind == Kind::Parallel);
    assert!((9..=11).contains(&parallel.count()));
}
