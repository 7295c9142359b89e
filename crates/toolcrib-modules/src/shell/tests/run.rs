//! Programs that run to their end.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib_model::ErrorKind;
use toolcrib_policy::Access;
use toolcrib_port::CallContext;

use super::{PATIENCE, Place, watched};

#[tokio::test]
async fn a_program_is_run_in_the_workspace_and_its_words_arrive_as_they_stand() {
    let place = Place::new();
    let ran = place.ok("run", json!({"argv": ["printf", "%s|", "$HOME; `id` 'x'", "", "*"]})).await;
    assert_eq!(ran["stdout"], "$HOME; `id` 'x'||*|");
    assert_eq!((&ran["exit_code"], &ran["stderr"]), (&json!(0), &json!("")));
    assert!(ran.get("signal").is_none() && ran.get("timed_out").is_none());
    let pwd = place.ok("run", json!({"argv": ["pwd"]})).await;
    assert_eq!(
        pwd["stdout"].as_str().unwrap().trim(),
        place.path().canonicalize().unwrap().to_str().unwrap()
    );
    let cat = place.ok("run", json!({"argv": ["cat"], "stdin": "to read\n"})).await;
    assert_eq!(cat["stdout"], "to read\n");
    let none = place.ok("run", json!({"argv": ["cat"]})).await;
    assert_eq!(none["stdout"], "");
}

#[tokio::test]
async fn an_exit_code_and_a_signal_are_results() {
    let place = Place::with_scripts();
    let failed = place.ok("script", json!({"interpreter": "sh", "script": "echo no >&2; exit 3"})).await;
    assert_eq!((&failed["exit_code"], &failed["stderr"]), (&json!(3), &json!("no\n")));
    let killed = place.ok("script", json!({"interpreter": "sh", "script": "kill -SEGV $$"})).await;
    assert_eq!((&killed["exit_code"], &killed["signal"]), (&json!(null), &json!("SEGV")));
}

#[tokio::test]
async fn a_directory_is_one_of_the_workspace() {
    let place = Place::new();
    std::fs::create_dir_all(place.path().join("a/b")).unwrap();
    symlink("a", place.path().join("alias")).unwrap();
    symlink("/", place.path().join("out")).unwrap();
    std::fs::write(place.path().join("file"), "").unwrap();
    for cwd in ["a/b", "alias/b", "./a//b/"] {
        let ran = place.ok("run", json!({"argv": ["pwd", "-P"], "cwd": cwd})).await;
        assert!(ran["stdout"].as_str().unwrap().ends_with("/a/b\n"), "{cwd}: {ran}");
    }
    for cwd in ["..", "a/../..", "/", "/etc", "out", "out/etc", "/proc/self/root", "missing", "file"] {
        let error = place.error("run", json!({"argv": ["pwd"], "cwd": cwd})).await;
        assert_eq!(error.kind, ErrorKind::ToolFailed, "{cwd}: {error}");
        assert!(error.hint.is_some(), "{cwd}");
    }
}

#[tokio::test]
async fn only_programs_that_access_names_are_started() {
    let place = Place::with(json!({}), Some(json!({"system": ["echo"]})));
    std::fs::create_dir(place.path().join("bin")).unwrap();
    symlink("/bin/cat", place.path().join("echo")).unwrap();
    assert_eq!(place.ok("run", json!({"argv": ["echo", "hi"]})).await["stdout"], "hi\n");
    for program in ["cat", "/bin/echo", "./echo", "../echo", "ECHO", "env"] {
        for tool in ["run", "background_run"] {
            let error = place.error(tool, json!({"argv": [program, "hi"]})).await;
            assert_eq!(error.kind, ErrorKind::Denied, "{program}: {error}");
            assert!(error.message.contains("access.system"), "{error}");
        }
    }
    let which = |program: &str| json!({"program": program});
    assert_eq!(place.ok("which", which("echo")).await["found"], true);
    let cat = place.ok("which", which("cat")).await;
    assert_eq!(cat["found"], false);
    assert!(cat["reason"].as_str().unwrap().contains("access.system"), "{cat}");
    // The rules of the tool of a call narrow those of the module.
    let mut context = CallContext::new("test");
    context.access = Access::new(&serde_json::from_value(json!({"system": []})).unwrap()).unwrap();
    for tool in ["run", "background_run"] {
        let result = place.call_with(&context, tool, json!({"argv": ["echo", "hi"]})).await;
        assert_eq!(result.error.unwrap().kind, ErrorKind::Denied);
    }
    let none = Place::with(json!({}), Some(json!({"system": []})));
    assert_eq!(none.error("run", json!({"argv": ["echo"]})).await.kind, ErrorKind::Denied);
}

#[tokio::test]
async fn what_cannot_be_started_is_told_with_what_to_do() {
    let place = Place::new();
    std::fs::write(place.path().join("tool.py"), "").unwrap();
    for (argv, kind, said) in [
        (json!(["no-such-program"]), ErrorKind::ToolFailed, "not found"),
        (json!(["./tool.py"]), ErrorKind::ToolFailed, "not executable"),
        (json!(["ls -l"]), ErrorKind::InvalidArgs, "no shell splits it"),
        (json!([]), ErrorKind::InvalidArgs, "empty"),
        (json!(["echo", "a\0b"]), ErrorKind::InvalidArgs, "NUL"),
        (json!(vec!["x"; 1001]), ErrorKind::InvalidArgs, "1001 words"),
        (json!(["echo", "x".repeat(200_000)]), ErrorKind::InvalidArgs, "200004 bytes"),
    ] {
        let error = place.error("run", json!({"argv": argv})).await;
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(said) && error.hint.is_some(), "{error}");
        assert!(error.message.len() < 500);
    }
}

#[tokio::test]
async fn much_output_is_told_by_its_beginning_and_its_end() {
    let place =
        Place::with(json!({"allow_scripts": true, "max_output_bytes": 100, "max_output_lines": 4}), None);
    let script = "printf first; head -c 1000000 /dev/zero | tr '\\0' x; printf last; seq 10 >&2";
    let ran = place.ok("script", json!({"interpreter": "sh", "script": script})).await;
    let stdout = ran["stdout"].as_str().unwrap();
    assert!(stdout.starts_with("first") && stdout.ends_with("last") && stdout.len() < 200, "{stdout}");
    assert!(stdout.contains("[999909 bytes were left out here]"), "{stdout}");
    assert_eq!(ran["stderr"], "1\n2\n[6 lines were left out here]\n9\n10\n");
}

#[tokio::test]
async fn what_a_program_writes_is_told_while_it_runs() {
    let place = Place::with_scripts();
    let (context, listener) = watched();
    // It goes on only when its first line has been told.
    let arguments = json!({"interpreter": "sh", "script": "printf 'so \\033[1mfar\\n'; while [ ! -e go ]; do sleep 0.01; done"});
    let call = place.call_with(&context, "script", arguments);
    let watch = async {
        let told = || Ok(listener.0.lock().first().cloned());
        let first = toolcrib_testkit::wait_until("progress", PATIENCE, told).await.unwrap();
        std::fs::write(place.path().join("go"), "").unwrap();
        first
    };
    let (result, first) = tokio::join!(call, watch);
    assert_eq!(result.result["exit_code"], 0);
    assert_eq!((first.message.as_deref(), first.done), (Some("so  [1mfar"), 11.0));
}

#[tokio::test]
async fn a_program_whose_time_is_over_is_asked_to_end_and_what_it_wrote_is_told() {
    let place = Place::with_scripts();
    let script = "trap 'echo bye; exit 7' TERM; echo hello; while :; do sleep 0.01; done";
    let arguments = json!({"interpreter": "sh", "script": script, "timeout_seconds": 1});
    let ran = place.ok("script", arguments).await;
    assert_eq!(
        (&ran["stdout"], &ran["exit_code"], &ran["timed_out"]),
        (&json!("hello\nbye\n"), &json!(7), &json!(true))
    );
    place.await_processes(0).await;
}

#[tokio::test]
async fn a_program_ends_before_the_deadline_of_its_call_does() {
    let place = Place::new();
    let mut context = CallContext::new("test");
    context.deadline = Some(tokio::time::Instant::now() + Duration::from_secs(1));
    let began = Instant::now();
    let result = place.call_with(&context, "run", json!({"argv": ["sleep", "300"]})).await;
    assert_eq!((&result.result["timed_out"], &result.result["signal"]), (&json!(true), &json!("TERM")));
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test]
async fn only_names_of_variables_are_told_and_only_those_of_the_list_are_there() {
    let config =
        json!({"environment": {"OWN_KEY": "a-secret-value"}, "pass_environment": ["CARGO_PKG_NAME"]});
    let place = Place::with(config, None);
    let env = place.ok("env", json!({})).await.to_string();
    assert!(env.contains("OWN_KEY") && env.contains("PATH") && env.contains("CARGO_PKG_NAME"), "{env}");
    assert!(!env.contains("a-secret-value") && !env.contains("CARGO_MANIFEST_DIR"), "{env}");
    let printed = place.ok("run", json!({"argv": ["env"]})).await["stdout"].as_str().unwrap().to_owned();
    assert!(printed.contains("OWN_KEY=a-secret-value\n"), "it is for programs");
    assert!(printed.contains("CARGO_PKG_NAME=toolcrib-modules\n"), "{printed}");
    assert!(!printed.contains("CARGO_MANIFEST_DIR"), "{printed}");
    let wrong = serde_json::from_value(json!({"environment": {"A=B": "x"}})).unwrap();
    let error = super::Shell::new(wrong, &crate::ModuleContext::new(place.path())).err().unwrap();
    assert!(error.to_string().contains("`A=B`"), "{error}");
}
