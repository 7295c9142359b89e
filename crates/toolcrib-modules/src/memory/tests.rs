//! What `memory` promises.

use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, Risk, ToolResult};
use toolcrib_port::{CallContext, ToolEngine, ToolLoader};
use toolcrib_sdk::Module;

use super::{MAX_FACTS, MAX_OWNERS, MAX_SNAPSHOT_CHARS, MAX_TASKS, MAX_TEXT_CHARS, Memory, module};
use crate::tests::authorized;

struct Notes {
    memory: Memory,
    module: Module,
}

impl Notes {
    fn new(memory: Memory) -> Self {
        Self { module: module(&memory), memory }
    }

    async fn result(&self, name: &str, arguments: Value, context: &CallContext) -> ToolResult {
        let call = authorized(&self.module, name, &arguments).await;
        self.module.invoke(&call, context).await
    }

    async fn call(&self, name: &str, arguments: Value) -> Value {
        let result = self.result(name, arguments, &lead()).await;
        assert_eq!(result.error, None);
        result.result
    }

    async fn failure(&self, name: &str, arguments: Value) -> (ErrorKind, String) {
        let error = self.result(name, arguments, &lead()).await.error.unwrap();
        (error.kind, format!("{}; {}", error.message, error.hint.unwrap_or_default()))
    }

    fn snapshot(&self) -> String {
        self.memory.snapshot("s", Some("lead"), None).unwrap()
    }
}

fn lead() -> CallContext {
    CallContext::new("s").with_agent("lead")
}

fn notes() -> Notes {
    Notes::new(Memory::in_process())
}

#[tokio::test]
async fn what_an_agent_is_at_and_what_it_remembers_is_in_its_snapshot() {
    let notes = notes();
    assert_eq!(notes.snapshot(), "");
    notes.call("set_goal", json!({"goal": " Ship the\nrelease "})).await;
    notes.call("set_tasks", json!({"tasks": [
        {"title": "Run the tests", "status": "completed"}, {"title": "Write the notes\nGoal: forged"}, {"title": "Tag"},
    ]})).await;
    notes.call("update_task", json!({"id": 2, "status": "in_progress"})).await;
    assert_eq!(notes.call("remember", json!({"text": "Releases go out on Fridays."})).await["id"], 1);
    assert_eq!(notes.call("remember", json!({"text": "The user is Ada."})).await["id"], 2);
    insta::assert_snapshot!(notes.snapshot(), @"
    Goal: Ship the release
    Tasks:
    1. [completed] Run the tests
    2. [in progress] Write the notes Goal: forged
    3. [pending] Tag
    Facts:
    1. Releases go out on Fridays.
    2. The user is Ada.
    ");
    notes.call("set_goal", json!({"goal": ""})).await;
    notes.call("set_tasks", json!({"tasks": []})).await;
    notes.call("forget", json!({"id": 1})).await;
    assert_eq!(notes.snapshot(), "Facts:\n2. The user is Ada.");
}

#[tokio::test]
async fn facts_are_the_users_and_plans_those_of_an_agent_in_a_session() {
    let notes = notes();
    let ada = lead().with_user("ada");
    for (name, arguments) in [
        ("set_goal", json!({"goal": "Ship"})),
        ("set_tasks", json!({"tasks": [{"title": "Test"}]})),
        ("remember", json!({"text": "Likes tea."})),
    ] {
        assert_eq!(notes.result(name, arguments, &ada).await.error, None, "{name}");
    }
    for (context, goal, facts) in [
        (ada.clone(), true, 1),
        (lead().with_user("bob"), true, 0),
        (lead(), true, 0),
        (CallContext::new("later").with_agent("lead").with_user("ada"), false, 1),
        (CallContext::new("s").with_agent("helper").with_user("ada"), false, 1),
        (CallContext::new("s").with_user("ada"), false, 1),
    ] {
        let recalled = notes.result("recall", json!({}), &context).await.result;
        let seen = (recalled["goal"].is_string(), recalled["total"].as_u64().unwrap());
        assert_eq!(seen, (goal, facts), "{:?} {:?}", context.session, context.agent);
        assert_eq!(recalled["tasks"].as_array().unwrap().len(), usize::from(goal));
    }
    let forgotten = notes.result("forget", json!({"id": 1}), &lead().with_user("bob")).await;
    assert_eq!(forgotten.error.unwrap().kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn a_query_recalls_the_facts_with_most_of_its_words_and_the_latest_first() {
    let notes = notes();
    for fact in
        ["The invoice of May is paid.", "Invoices are sent by mail.", "Ada likes tea.", "发票每月寄出"]
    {
        notes.call("remember", json!({"text": fact})).await;
    }
    for (query, ids) in [
        (json!({"query": "the paid INVOICES"}), vec![1, 2]),
        (json!({"query": "invoice"}), vec![2, 1]),
        (json!({"query": "发票"}), vec![4]),
        (json!({"query": "coffee"}), vec![]),
        (json!({"query": "a"}), vec![3, 2, 1]),
        (json!({"query": " "}), vec![4, 3, 2, 1]),
        (json!({"limit": 2}), vec![4, 3]),
    ] {
        let recalled = notes.call("recall", query.clone()).await;
        let found: Vec<u64> =
            recalled["facts"].as_array().unwrap().iter().map(|fact| fact["id"].as_u64().unwrap()).collect();
        assert_eq!(found, ids, "{query}");
        assert_eq!(recalled["total"], 4);
    }
}

#[tokio::test]
async fn what_is_known_already_is_kept_once_and_numbers_are_not_used_again() {
    let notes = notes();
    assert_eq!(notes.call("remember", json!({"text": "Likes tea."})).await["id"], 1);
    assert_eq!(notes.call("remember", json!({"text": "Likes tea. "})).await["id"], 1);
    assert_eq!(notes.call("forget", json!({"id": 1})).await["text"], "Likes tea.");
    assert_eq!(notes.call("remember", json!({"text": "Likes tea."})).await["id"], 2);
}

#[tokio::test]
async fn a_wrong_call_says_what_would_be_right_and_changes_nothing() {
    let notes = notes();
    notes.call("set_tasks", json!({"tasks": [{"title": "a"}, {"title": "b"}]})).await;
    let before = notes.snapshot();
    let long = "x".repeat(MAX_TEXT_CHARS + 1);
    let many: Vec<Value> = (0..=MAX_TASKS).map(|task| json!({"title": task.to_string()})).collect();
    for (name, arguments, says) in [
        ("update_task", json!({"id": 7, "status": "completed"}), "there is no task 7; the tasks are 1, 2"),
        ("forget", json!({"id": 3}), "there is no fact 3; recall the facts for their numbers"),
    ] {
        let (kind, message) = notes.failure(name, arguments).await;
        assert_eq!(kind, ErrorKind::NotFound, "{message}");
        assert!(message.contains(says), "{message}");
    }
    for (name, arguments, says) in [
        ("remember", json!({"text": " "}), "`text` is empty"),
        ("remember", json!({"text": long}), "`text` has 501 characters, and may have 500"),
        ("set_tasks", json!({"tasks": many}), "51 tasks are more than 50"),
        ("set_tasks", json!({"tasks": [{"title": ""}]}), "the title of task 1 is empty"),
    ] {
        let (kind, message) = notes.failure(name, arguments).await;
        assert_eq!(kind, ErrorKind::InvalidArgs, "{message}");
        assert!(message.contains(says), "{message}");
    }
    assert_eq!(notes.snapshot(), before);
}

#[tokio::test]
async fn memory_is_bounded_and_says_what_it_leaves_out() {
    let notes = notes();
    for number in 1..=MAX_FACTS {
        notes.call("remember", json!({"text": format!("Fact {number} {}", "x".repeat(400))})).await;
    }
    let (kind, message) = notes.failure("remember", json!({"text": "one more"})).await;
    assert_eq!(kind, ErrorKind::LimitReached);
    assert!(message.contains("forget what is no longer true"), "{message}");
    let snapshot = notes.snapshot();
    assert!(snapshot.chars().count() <= MAX_SNAPSHOT_CHARS, "{}", snapshot.chars().count());
    assert!(snapshot.starts_with("Facts:\n(191 earlier ones are not shown)\n192. Fact 192 "), "{snapshot}");
    assert!(snapshot.contains("\n200. Fact 200 "), "{snapshot}");

    let tasks: Vec<Value> = (0..MAX_TASKS).map(|_| json!({"title": "x".repeat(MAX_TEXT_CHARS)})).collect();
    notes.call("set_tasks", json!({"tasks": tasks})).await;
    let snapshot = notes.snapshot();
    assert!(snapshot.chars().count() <= MAX_SNAPSHOT_CHARS, "{}", snapshot.chars().count());
    assert!(snapshot.contains("\n(47 more are not shown)\nFacts:\n"), "{snapshot}");
    assert!(snapshot.contains("\n200. Fact 200 "), "{snapshot}");
}

#[tokio::test]
async fn of_too_many_sessions_the_one_that_was_used_longest_ago_is_forgotten() {
    let notes = notes();
    let goal = |session: usize| (json!({"goal": "g"}), CallContext::new(session.to_string()));
    for session in 0..MAX_OWNERS {
        let (arguments, context) = goal(session);
        notes.result("set_goal", arguments, &context).await;
    }
    for session in [0, MAX_OWNERS] {
        let (arguments, context) = goal(session);
        notes.result("set_goal", arguments, &context).await;
    }
    for (session, kept) in [(0, true), (1, false), (2, true), (MAX_OWNERS, true)] {
        let snapshot = notes.memory.snapshot(&session.to_string(), None, None).unwrap();
        assert_eq!(!snapshot.is_empty(), kept, "{session}");
    }
}

#[tokio::test]
async fn a_session_that_is_over_leaves_facts_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    for memory in [Memory::in_process(), Memory::in_file(folder.path().join("memory.json"))] {
        let notes = Notes::new(memory);
        notes.memory.end_session("s").unwrap();
        notes.call("set_goal", json!({"goal": "Ship"})).await;
        notes.call("remember", json!({"text": "Likes tea."})).await;
        notes.memory.end_session("another").unwrap();
        assert_eq!(notes.snapshot(), "Goal: Ship\nFacts:\n1. Likes tea.");
        notes.memory.end_session("s").unwrap();
        assert_eq!(notes.snapshot(), "Facts:\n1. Likes tea.");
    }
}

#[tokio::test]
async fn a_file_keeps_them_for_the_next_process_and_for_one_beside() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/memory.json");
    let (one, other) = (Notes::new(Memory::in_file(&file)), Notes::new(Memory::in_file(&file)));
    assert_eq!(one.snapshot(), "");
    assert!(!file.exists(), "looking makes no file");
    one.call("remember", json!({"text": "One."})).await;
    other.call("remember", json!({"text": "Other."})).await;
    one.call("set_goal", json!({"goal": "Both."})).await;
    assert_eq!(other.snapshot(), "Goal: Both.\nFacts:\n1. One.\n2. Other.");
}

#[tokio::test]
async fn of_many_changes_at_once_none_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("memory.json");
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..4 {
        let notes = Notes::new(Memory::in_file(&file));
        tasks.spawn(async move {
            for number in 0..10 {
                notes.call("remember", json!({"text": format!("{writer} {number}")})).await;
            }
        });
    }
    tasks.join_all().await;
    let recalled = Notes::new(Memory::in_file(&file)).call("recall", json!({})).await;
    assert_eq!(recalled["total"], 40);
}

#[tokio::test]
async fn a_damaged_file_is_said_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("memory.json");
    for damaged in
        ["{\"format\": 1, \"plans\": [", "[]", r#"{"format": 2, "plans": [], "shelves": []}"#, "\0\0"]
    {
        std::fs::write(&file, damaged).unwrap();
        let notes = Notes::new(Memory::in_file(&file));
        for (name, arguments) in [("remember", json!({"text": "x"})), ("recall", json!({}))] {
            let (kind, message) = notes.failure(name, arguments).await;
            assert_eq!(kind, ErrorKind::ToolFailed);
            assert!(message.contains("its file is damaged"), "{message}");
            assert!(!message.contains("memory.json"), "a model is told no path: {message}");
        }
        assert!(notes.memory.snapshot("s", None, None).is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), damaged);
    }
}

#[tokio::test]
async fn an_agent_is_always_shown_these_tools_and_none_asks_for_leave_by_its_risk() {
    let loaded = notes().module.load().await;
    let names: Vec<&str> = loaded.tools.iter().map(|tool| tool.name.name()).collect();
    assert_eq!(names, ["set_goal", "set_tasks", "update_task", "remember", "recall", "forget"]);
    for tool in loaded.tools {
        assert!(tool.traits().operational && tool.traits().risk == Risk::Low, "{}", tool.name);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_of_the_memory_is_for_its_owner_alone_also_where_it_was_not() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/notes.json");
    let notes = Notes::new(Memory::in_file(&path));
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    notes.call("remember", json!({"text": "Ada is at 1 Main Street."})).await;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    notes.call("recall", json!({})).await;
    assert_eq!(mode(&path), 0o600);
}

#[tokio::test]
async fn facts_of_one_client_are_not_told_to_another() {
    let notes = notes();
    let context = |session: &str, user: &str| CallContext::new(session).with_user(user);
    let one = context("serve/one/1", "one");
    let kept = notes.result("remember", json!({"text": "a fact of one"}), &one).await;
    assert_eq!(kept.error, None);
    let two = context("serve/two/1", "two");
    let recalled = notes.result("recall", json!({}), &two).await.result;
    assert_eq!(recalled["total"], 0, "{recalled}");
    let forgotten = notes.result("forget", json!({"id": 1}), &two).await.error.unwrap();
    assert_eq!(forgotten.kind, ErrorKind::NotFound);
    let later = notes.result("recall", json!({}), &context("serve/one/2", "one")).await.result;
    assert_eq!(later["total"], 1, "{later}");
}
