//! What a module of programs promises, with real programs.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use toolcrib_io::process::MAX_STDOUT_BYTES;
use toolcrib_model::{ErrorKind, Risk, Secret, ToolError, ToolResult};
use toolcrib_policy::access::AccessRules;
use toolcrib_policy::{Access, Authorized, Call, Capabilities, Effect, Policy, Verdict};
use toolcrib_port::{
    CallContext, CallScope, LoadOutcome, Progress, ProgressListener, RejectKind, ToolEngine, ToolLoader,
};

use super::MANIFEST;
use super::program_output::MAX_ERROR_LINES;
use crate::{ExecModule, ModuleSettings};

/// How long something is waited for that has to happen.
const PATIENCE: Duration = Duration::from_secs(10);

/// A folder with a manifest and programs.
struct Place(TempDir);

impl Place {
    fn new(manifest: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.manifest(manifest);
        place
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    fn manifest(&self, text: &str) {
        fs::write(self.path().join(MANIFEST), text).unwrap();
    }

    fn with_program(self, name: &str, script: &str) -> Self {
        let path = self.path().join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn module(&self) -> ExecModule {
        self.module_with(ModuleSettings::default())
    }

    fn module_with(&self, settings: ModuleSettings) -> ExecModule {
        ExecModule::new(self.path(), settings)
    }

    /// A module with one tool, `kit.run`, that runs this script.
    fn running(script: &str) -> Self {
        Self::new(
            "name: kit\ntools: [{name: run, description: Runs., argv: [./run], parameters: {type: object}}]",
        )
        .with_program("run", &format!("#!/bin/sh\n{script}\n"))
    }
}

async fn authorized(module: &ExecModule, name: &str, arguments: &Value) -> Authorized<Call> {
    let loaded = module.load().await;
    assert_eq!(loaded.rejected, []);
    let tool = loaded.tools.into_iter().find(|tool| tool.name.name() == name).unwrap();
    let mut call = Call::new(Arc::new(tool), module.source().into(), 1);
    call.arguments = arguments.as_object().unwrap().clone();
    let capabilities = Capabilities { default_policy: Effect::Grant, ..Capabilities::default() };
    let Verdict::Granted(call) = Policy::new(&capabilities, []).unwrap().authorize(call, "test") else {
        panic!("not granted")
    };
    call
}

async fn call(module: &ExecModule, name: &str, arguments: Value, context: &CallContext) -> ToolResult {
    module.invoke(&authorized(module, name, &arguments).await, context).await
}

/// The result of the one tool, or its error.
async fn run(script: &str) -> Result<Value, ToolError> {
    let place = Place::running(script);
    let result = call(&place.module(), "run", json!({}), &CallContext::new("test")).await;
    result.error.map_or(Ok(result.result), Err)
}

fn reasons(loaded: &LoadOutcome, folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    loaded.rejected.iter().map(|reject| reject.reason.replace(&folder, "FOLDER")).collect()
}

#[tokio::test]
async fn tools_have_what_the_manifest_says_of_them() {
    let place = Place::new(
        "
name: kit
description: Counts things.
tools:
  - name: count
    title: Count
    description: Counts words.
    argv: [sh, count.sh]
    parameters: {type: object, properties: {text: {type: string}}}
    output_parameters: {type: integer}
    risk: high
    aliases: [compter les mots]
    tags: [text]
    side_effects: [writes a log]
    examples: [{text: a b}]
    confirmation_required: true
    user_selectable: false
    idempotent: true
    cacheable: true
    timeout: 2.5
    env: {LC_ALL: C}
  - {name: plain, description: Does nothing., argv: [\"true\"]}
",
    );
    let module = place.module();
    assert_eq!(module.exclusive_namespace(), None, "nothing is known before it is read");
    let loaded = module.load().await;
    assert_eq!(loaded.rejected, []);
    let [count, plain] = loaded.tools.as_slice() else { panic!("{loaded:?}") };
    assert_eq!((count.name.to_string().as_str(), count.title()), ("kit::count", Some("Count")));
    assert_eq!((count.traits().risk, count.traits().confirmation_required), (Risk::High, true));
    assert_eq!(count.aliases().chain(count.tags()).collect::<Vec<_>>(), ["compter les mots", "text"]);
    assert_eq!(
        (count.traits().side_effects.len(), count.examples()),
        (1, [json!({"text": "a b"})].as_slice())
    );
    assert_eq!((count.traits().idempotent, count.traits().unlisted), (true, true));
    assert_eq!(count.output_parameters, json!({"type": "integer"}));
    assert_eq!(
        (&count.metadata()["timeout_seconds"], &count.metadata()["cacheable"]),
        (&json!(2.5), &json!(true))
    );
    assert!(
        !count.metadata().contains_key("argv") && !count.metadata().contains_key("env"),
        "{:?}",
        count.metadata()
    );
    assert_eq!(
        plain.parameters,
        json!({"type": "object", "properties": {}, "additionalProperties": false}),
        "it takes no arguments"
    );
    assert_eq!((plain.traits().risk, plain.metadata().len()), (Risk::Medium, 0));
    assert_eq!(module.exclusive_namespace(), Some("kit"));
    assert_eq!(module.instructions().as_deref(), Some("Counts things."));
    let other = place.module_with(ModuleSettings { namespace: Some("other".into()), ..Default::default() });
    assert_eq!((other.source(), other.exclusive_namespace()), ("exec other", Some("other")));
    assert_eq!(other.load().await.tools[0].name.to_string(), "other::count");
}

#[tokio::test]
async fn a_tool_that_is_wrong_is_rejected_with_its_place_and_hides_no_other() {
    let place = Place::new(
        "name: kit
tools:
  - {name: good, description: Is fine., argv: [sh, x.sh]}
  - {name: typo, description: d, argv: [sh], paramters: {}}
  - {name: nothing, description: d, argv: []}
  - {name: nowhere, description: d, argv: [./none]}
  - {name: forbidden, description: d, argv: [./toolcrib.yaml]}
  - {name: risky, description: d, argv: [sh], risk: huge}
  - {name: slow, description: d, argv: [sh], timeout: 0}
  - {name: place, description: d, argv: [sh, x.sh, '{fiel}'], parameters: {properties: {file: {}}}}
  - {name: script, description: d, argv: [sh, -c, 'rm {file}'], parameters: {properties: {file: {}}}}
  - {name: env, description: d, argv: [sh], env: {TOOLCRIB_USER: root}}
  - {name: search, description: d, argv: [sh], env: {PATH: /tmp}}
  - {name: key, description: d, argv: [sh], env: {KEY: '${KEY}'}}
  - {name: good, description: Is there already., argv: [sh]}
  - {name: '', description: d, argv: [sh]}
  - {description: d, argv: [sh]}
  - just a text
  - {name: last, description: Is fine too., argv: [./x]}
",
    )
    .with_program("x", "#!/bin/sh\n");
    let loaded = place.module().load().await;
    let names: Vec<_> = loaded.tools.iter().map(|tool| tool.name.name()).collect();
    assert_eq!(names, ["good", "last"]);
    let expected = [
        "4:46: unknown key `paramters`, did you mean `parameters`?",
        "5:37: `argv` is empty; its first word names the program",
        "6:44: program `FOLDER/none` not found; ",
        "7:46: program `FOLDER/toolcrib.yaml` is not executable",
        "8:47: unknown value `huge`; expected one of: low, medium, high",
        "9:46: `timeout` should be a number of seconds, more than 0",
        "10:35: `{fiel}` is not one of the `parameters`, did you mean `{file}`?",
        "11:36: `{file}` stands in the script of a shell, where it could run anything; write `\"$1\"` there, and `{file}` as",
        "12:51: a manifest cannot set `TOOLCRIB_USER`",
        "13:54: a manifest cannot set `PATH`",
        "14:51: `KEY` stays as it is written, `${…}` included: give it under `env` of the source instead",
        "15:6: `good` is there twice",
        "16:6: the name is empty",
        "17:5: `tools[14]`: missing field `name`",
        "18:5: `tools[15]`: expected a tool, which is a mapping, found \"just a text\"",
    ];
    let reasons = reasons(&loaded, &place.path());
    assert_eq!(reasons.len(), expected.len(), "{reasons:#?}");
    for (reason, expected) in reasons.iter().zip(expected) {
        assert!(reason.starts_with(&format!("FOLDER/toolcrib.yaml:{expected}")), "{expected}: {reasons:#?}");
    }
    let kinds: Vec<_> =
        loaded.rejected.iter().filter(|reject| reject.kind != RejectKind::InvalidTool).collect();
    assert!(matches!(kinds.as_slice(), [missing] if missing.kind == RejectKind::Unavailable), "{kinds:?}");
    assert!(loaded.rejected.iter().all(|reject| reject.name.is_some()), "none of them is of the whole");
}

#[tokio::test]
async fn a_manifest_that_is_wrong_as_a_whole_says_where() {
    let many = format!("name: kit\ntools: [{}]", "{},".repeat(super::manifest::MAX_EXEC_TOOLS + 1));
    for (text, kind, reason) in [
        ("name: kit\ntools: [", RejectKind::Syntax, "toolcrib.yaml:3:1: not valid YAML"),
        (
            "name: kit\ntool: []",
            RejectKind::InvalidTool,
            "toolcrib.yaml:2:1: unknown key `tool`, did you mean `tools`?",
        ),
        ("tools: []", RejectKind::InvalidTool, "toolcrib.yaml:1:1: missing field `name`"),
        ("name: a::b\ntools: []", RejectKind::InvalidTool, "toolcrib.yaml:1:1: the namespace"),
        (
            "name: kit\nenv: {PATH: x}\ntools: []",
            RejectKind::InvalidTool,
            "toolcrib.yaml:2:7: a manifest cannot set `PATH`",
        ),
        (&many, RejectKind::InvalidTool, "toolcrib.yaml:2:1: there are 257 tools, at most 256 are taken"),
    ] {
        let place = Place::new(text);
        let loaded = place.module().load().await;
        let [reject] = loaded.rejected.as_slice() else { panic!("{loaded:?}") };
        assert_eq!((reject.kind, reject.name.as_deref()), (kind, None), "{text}: {reject}");
        assert!(reject.reason.contains(reason), "{text}: {reject}");
    }
    let nowhere = ExecModule::new("/nowhere/at/all", ModuleSettings::default()).load().await;
    assert_eq!(nowhere.rejected[0].kind, RejectKind::Unreadable);
    assert!(nowhere.rejected[0].reason.contains("/nowhere/at/all/toolcrib.yaml"), "{nowhere:?}");
}

#[tokio::test]
async fn arguments_come_as_json_and_what_the_runtime_knows_in_variables() {
    let script = r#"printf '{"arguments": %s, "variables": ["%s", "%s", "%s", "%s", "%s", "%s", "%s", "%s", "%s"], "scope": %s, "folder": "%s"}' \
        "$(cat)" "$TOOLCRIB_TOOL" "$TOOLCRIB_WORKSPACE" "$TOOLCRIB_SESSION" "$TOOLCRIB_USER" "$TOOLCRIB_AGENT" \
        "${TOOLCRIB_CONVERSATION-none}" "$TOOLCRIB_RUN_KEY" "$TOOLCRIB_MESSAGE" "$TOOLCRIB_THREAD" "$TOOLCRIB_SCOPE" "$PWD""#;
    let place = Place::running(script);
    let module =
        place.module_with(ModuleSettings { workspace: Some("/work space".into()), ..Default::default() });
    let scope = CallScope::default().with("tenant", "a\"b").unwrap();
    let context = CallContext::new("s-1").with_user("ada").with_agent("clerk").with_run_key("r-1");
    let context = context.with_message("3").with_thread("t-1").with_scope(scope);
    let arguments = json!({"user": "root", "session": "s-2", "text": "a\n\"b\" é", "n": [1, 2.5, null]});
    let result = call(&module, "run", arguments.clone(), &context).await;
    assert_eq!(result.error, None);
    assert_eq!(result.result["arguments"], arguments);
    assert_eq!(
        result.result["variables"],
        json!(["run", "/work space", "s-1", "ada", "clerk", "none", "r-1", "3", "t-1"])
    );
    assert_eq!(result.result["scope"], json!({"tenant": "a\"b"}));
    assert_eq!(result.result["folder"], json!(place.path()));
}

#[tokio::test]
async fn arguments_can_be_words_too_and_none_becomes_an_option() {
    let place = Place::new(
        "name: kit
tools:
  - name: greet
    description: Greets.
    argv: [sh, greet.sh, '{name}', [--times, '{times}']]
    parameters: {type: object, properties: {name: {type: string}, times: {type: integer}}}
",
    )
    .with_program("greet.sh", r#"printf '["%s", "%s", %d]' "$1" "${2-none}" "$#""#);
    let (module, context) = (place.module(), CallContext::new("test"));
    let result = call(&module, "greet", json!({"name": "Ada; rm"}), &context).await;
    assert_eq!((result.error, result.result), (None, json!(["Ada; rm", "none", 1])));
    let result = call(&module, "greet", json!({"name": "Ada", "times": 2}), &context).await;
    assert_eq!(result.result, json!(["Ada", "--times", 3]));
    let error = call(&module, "greet", json!({"name": "-x"}), &context).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::InvalidArgs);
}

#[tokio::test]
async fn variables_of_the_app_win_over_those_of_the_manifest_and_ours_stay_here() {
    let place = Place::new(
        "name: kit
env: {SHARED: all, OWN: all, KEY: none}
tools: [{name: run, description: Runs., argv: [./run], env: {OWN: mine}}]",
    )
    .with_program("run", "#!/bin/sh\nprintf '[\"%s\", \"%s\", \"%s\", \"%s\"]' \"$SHARED\" \"$OWN\" \"$KEY\" \"$CARGO_PKG_NAME\"");
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some(), "there is something to keep here");
    let env = [("KEY".to_owned(), Secret::new("k-1"))].into();
    let module = place.module_with(ModuleSettings { env, ..Default::default() });
    let result = call(&module, "run", json!({}), &CallContext::new("test")).await;
    assert_eq!((result.error, result.result), (None, json!(["all", "mine", "k-1", ""])));
}

#[tokio::test]
async fn a_failure_that_a_program_tells_of_is_an_error_of_the_call() {
    for (printed, kind, message, hint) in [
        (r#"{"status": "error", "error": "not_found"}"#, ErrorKind::NotFound, "not_found", None),
        (
            r#"{"status": "error", "error": "no_stock", "message": "none is left", "hint": "wait", "sku": 7}"#,
            ErrorKind::ToolFailed,
            "no_stock: none is left {\"sku\":7}",
            Some("wait"),
        ),
        (r#"{"status": "error"}"#, ErrorKind::ToolFailed, "the program says that it failed", None),
    ] {
        for ending in ["", "; exit 1"] {
            let error = run(&format!("echo '{printed}'{ending}")).await.unwrap_err();
            assert_eq!((error.kind, error.message.as_str(), error.hint.as_deref()), (kind, message, hint));
        }
    }
}

#[tokio::test]
async fn what_is_printed_is_the_result_and_how_it_ends_decides() {
    for (script, expected) in [
        ("echo '{\"n\": 1}'", json!({"n": 1})),
        ("printf '  [1, 2]\\n\\n'", json!([1, 2])),
        ("echo '\"text\"'", json!("text")),
        ("true", Value::Null),
        ("echo a warning >&2; echo 1", json!(1)),
        ("echo '{\"status\": \"ok\", \"error\": null}'", json!({"status": "ok", "error": null})),
    ] {
        assert_eq!(run(script).await, Ok(expected), "{script}");
    }
    for (script, expected) in [
        ("echo 1; exit 3", "run` ended with exit status: 3"),
        (
            "echo first >&2; echo 'no such report' >&2; exit 2",
            "ended with exit status: 2: first\nno such report",
        ),
        ("printf 'half a line' >&2; exit 2", "ended with exit status: 2: half a line"),
        ("kill -9 $$", "ended with signal: 9"),
        (
            "echo hello",
            "should print one JSON value, and nothing else on standard output: expected value at line 1 column 1; it printed: hello",
        ),
        ("echo 1; echo 2", "trailing characters"),
        ("yes '[' | head -c 10000000", "printed more than the 8388608 bytes of a result"),
    ] {
        let error = run(script).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::ToolFailed, "{script}: {error}");
        assert!(error.message.contains(expected), "{script}: {error}");
        assert!(error.message.len() < 3000, "{script}");
    }
    assert_eq!(MAX_STDOUT_BYTES, 8_388_608);
}

#[tokio::test]
async fn of_many_lines_on_standard_error_the_last_are_told() {
    let error =
        run("i=0; while [ $i -lt 100 ]; do i=$((i + 1)); echo line $i >&2; done; exit 1").await.unwrap_err();
    let (first, last) = (format!(": line {}\n", 101 - MAX_ERROR_LINES), "line 100");
    assert!(error.message.contains(&first) && error.message.ends_with(last), "{error}");
    let error = run("yes | head -c 3000000 | tr -d '\\n' >&2; exit 1").await.unwrap_err();
    assert!(error.message.len() < 3000, "{}", error.message.len());
}

/// Hands on what it is told.
struct Told(mpsc::UnboundedSender<Progress>);

impl ProgressListener for Told {
    fn progress(&self, progress: &Progress) {
        self.0.send(progress.clone()).unwrap();
    }
}

#[tokio::test]
async fn lines_on_standard_error_tell_how_far_it_is() {
    let place = Place::running("echo one >&2; echo >&2; printf 'two\\033[2J' >&2; echo 1");
    let (sender, mut told) = mpsc::unbounded_channel();
    let context = CallContext::new("test").with_progress(Arc::new(Told(sender)));
    let module = place.module();
    assert!(module.reports_progress());
    assert_eq!(call(&module, "run", json!({}), &context).await.result, json!(1));
    drop(context);
    let mut all = Vec::new();
    while let Some(Progress { done, total, message }) = told.recv().await {
        assert_eq!(total, None);
        all.push((done, message.unwrap()));
    }
    assert_eq!(
        all,
        [(1.0, "one".to_owned()), (2.0, "two [2J".to_owned())],
        "without what would clear a screen"
    );
}

#[tokio::test]
async fn a_call_that_is_given_up_ends_its_program_and_what_that_started() {
    let place = Place::running("sleep 1000 & echo $! >&2; wait");
    let (sender, mut told) = mpsc::unbounded_channel();
    let context = CallContext::new("test").with_progress(Arc::new(Told(sender)));
    let module = place.module();
    let process = {
        let call = call(&module, "run", json!({}), &context);
        tokio::select! {
            result = call => panic!("{result:?}"),
            told = told.recv() => told.unwrap().message.unwrap(),
        }
    };
    let began = Instant::now();
    let is_alive = || {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    while is_alive() {
        assert!(began.elapsed() < PATIENCE, "process {process} is still there");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn only_programs_that_may_be_started_are() {
    let place = Place::new(
        "name: kit
tools:
  - {name: own, description: d, argv: [./run]}
  - {name: shell, description: d, argv: [sh, run]}
  - {name: less, description: d, argv: [./run], access: {system: [sh]}}
",
    )
    .with_program("run", "#!/bin/sh\necho 1\n");
    let rules: AccessRules = serde_json::from_value(json!({"system": [place.path().join("run")]})).unwrap();
    let access = Access::new(&rules).unwrap();
    let module = place.module_with(ModuleSettings { access, ..Default::default() });
    let loaded = module.load().await;
    assert_eq!(loaded.tools.iter().map(|tool| tool.name.name()).collect::<Vec<_>>(), ["own"]);
    let told = "`sh` may not be started: `access.system` does not name it";
    assert!(reasons(&loaded, &place.path())[0].ends_with(told), "{loaded:?}");
    assert!(loaded.rejected[1].reason.contains("run` may not be started"), "{loaded:?}");

    // One that may not any more, as after the app file has changed.
    let place = Place::running("echo 1");
    let call = authorized(&place.module(), "run", &json!({})).await;
    let access = Access::new(&rules).unwrap();
    let module = place.module_with(ModuleSettings { access, ..Default::default() });
    let error = module.invoke(&call, &CallContext::new("test")).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Unavailable, "it is not even in what this module has read: {error}");
}

#[tokio::test]
async fn a_manifest_that_is_read_again_counts_from_then_on_unless_it_is_broken() {
    let place = Place::running("echo 1");
    let (module, context) = (place.module(), CallContext::new("test"));
    let first = authorized(&module, "run", &json!({})).await;
    let error_of = async || module.invoke(&first, &context).await.error.map(|error| error.kind);

    place.manifest("name: kit\ntools: [");
    assert_eq!(module.load().await.rejected.len(), 1);
    assert_eq!(error_of().await, None, "it is as it was");

    place.manifest("name: other\ntools: []");
    let loaded = module.load().await;
    assert!(loaded.rejected[0].reason.contains("is called `other` now"), "{loaded:?}");
    assert_eq!(error_of().await, None);

    place.manifest(
        "name: kit\ndescription: New.\ntools: [{name: run, description: Runs., argv: [sh, -c, echo 2]}]",
    );
    assert_eq!(module.load().await.rejected, []);
    assert_eq!(module.invoke(&first, &context).await.result, json!(2));
    assert_eq!(module.instructions().as_deref(), Some("New."));

    place.manifest("name: kit\ntools: []");
    assert_eq!(module.load().await, LoadOutcome::default());
    assert_eq!(error_of().await, Some(ErrorKind::Unavailable));
}
