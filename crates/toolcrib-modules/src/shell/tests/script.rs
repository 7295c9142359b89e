//! Scripts, which are off unless the operator allows them.

use serde_json::json;
use toolcrib_model::ErrorKind;
use toolcrib_port::{CallContext, ToolEngine as _, ToolLoader as _};

use super::{Place, Shell, ShellConfig};
use crate::ModuleContext;

#[tokio::test]
async fn scripts_and_shells_are_off_unless_they_are_allowed() {
    let place = Place::new();
    let touch = json!({"interpreter": "sh", "script": "touch ran"});
    let offered = place.module.load().await.tools;
    assert!(offered.iter().all(|tool| tool.name.name() != "script"), "no model is offered it");
    assert!(place.module.actions().any(|action| action == "script"), "an app file may name it");
    for shell in ["sh", "/bin/sh", "bash", "rbash", "/usr/bin/../bin/dash"] {
        let error = place.error("run", json!({"argv": [shell, "-c", "touch ran"]})).await;
        assert_eq!(error.kind, ErrorKind::Denied, "{shell}: {error}");
        let error = place.error("background_run", json!({"argv": [shell, "-c", "touch ran"]})).await;
        assert_eq!(error.kind, ErrorKind::Denied, "{shell}: {error}");
    }
    std::os::unix::fs::symlink("/bin/sh", place.path().join("linked")).unwrap();
    std::fs::hard_link(std::fs::canonicalize("/bin/sh").unwrap(), place.path().join("same"))
        .or_else(|_| std::os::unix::fs::symlink("/bin/sh", place.path().join("same")))
        .unwrap();
    for link in ["./linked", "./same"] {
        let error = place.error("run", json!({"argv": [link, "-c", "touch ran"]})).await;
        assert_eq!(error.kind, ErrorKind::Denied, "{link}: {error}");
    }
    assert!(!place.path().join("ran").exists());

    let place = Place::with_scripts();
    assert_eq!(place.ok("script", touch).await["exit_code"], 0);
    assert!(place.path().join("ran").exists());
    assert_eq!(place.ok("run", json!({"argv": ["sh", "-c", "echo $0"]})).await["stdout"], "sh\n");
}

#[tokio::test]
async fn a_script_has_its_arguments_and_its_input_and_is_never_an_option() {
    let place = Place::with_scripts();
    let arguments = json!({
        "interpreter": "sh", "script": "echo \"$0 $1 $#\"; cat", "arguments": ["a b", "-c"], "stdin": "read\n",
    });
    assert_eq!(place.ok("script", arguments).await["stdout"], "sh a b 2\nread\n");
    let option = place.ok("script", json!({"interpreter": "sh", "script": "-x"})).await;
    assert_eq!(option["exit_code"], 127, "it is taken for a command: {option}");
    let python =
        json!({"interpreter": "python3", "script": "import sys; print(sys.argv[1:])", "arguments": ["x"]});
    if place.ok("which", json!({"program": "python3"})).await["found"] == true {
        assert_eq!(place.ok("script", python).await["stdout"], "['x']\n");
    }
}

#[tokio::test]
async fn an_interpreter_is_one_that_is_known_and_named_and_allowed() {
    let place = Place::with(
        json!({"allow_scripts": true, "interpreters": ["sh"]}),
        Some(json!({"system": ["bash"]})),
    );
    let error = place.error("script", json!({"interpreter": "bash", "script": "true"})).await;
    assert_eq!((error.kind, error.hint.as_deref()), (ErrorKind::InvalidArgs, Some("there are sh")));
    let error = place.error("script", json!({"interpreter": "sh", "script": "true"})).await;
    assert_eq!(error.kind, ErrorKind::Denied, "{error}");
    let long = json!({"interpreter": "sh", "script": "x".repeat(super::super::MAX_SCRIPT_BYTES + 1)});
    assert_eq!(place.error("script", long).await.kind, ErrorKind::InvalidArgs);
    let wrong: ShellConfig = serde_json::from_value(json!({"interpreters": ["awk"]})).unwrap();
    let error = Shell::new(wrong, &ModuleContext::new(place.path())).err().unwrap().to_string();
    assert!(error.contains("`awk` under `interpreters` is not supported"), "{error}");
}

#[tokio::test]
async fn nobody_is_asked_about_a_program_that_cannot_be_started() {
    let place = Place::with(json!({}), Some(json!({"system": ["true"]})));
    for (argv, allowed) in [(json!(["true"]), true), (json!(["rm", "x"]), false), (json!(["sh"]), false)] {
        for tool in ["run", "background_run"] {
            let call = crate::tests::pending(&place.module, tool, &json!({"argv": argv})).await;
            let checked = place.module.check(&call, &CallContext::new("test")).await;
            assert_eq!(checked.is_ok(), allowed, "{tool} {argv}: {checked:?}");
        }
    }
}
