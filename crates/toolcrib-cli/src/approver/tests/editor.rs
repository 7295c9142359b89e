//! The editor, as a real program.

use std::time::Duration;

use toolcrib_testkit::wait_until;

use crate::approver::editor::{command, edit};

fn words(script: &str) -> Vec<String> {
    ["sh", "-c", script, "editor"].map(str::to_owned).to_vec()
}

#[test]
fn the_editor_is_the_one_that_the_environment_names() {
    let set = |visual: Option<&str>, editor: Option<&str>| {
        command(|name| if name == "VISUAL" { visual } else { editor }.map(str::to_owned))
    };
    assert_eq!(set(Some("code --wait"), Some("vi")), Some(vec!["code".into(), "--wait".into()]));
    assert_eq!(set(None, Some("'my editor' -x")), Some(vec!["my editor".into(), "-x".into()]));
    assert_eq!(set(Some(" "), Some("vi")), Some(vec!["vi".into()]));
    assert_eq!(set(None, Some("'unclosed")), None);
    assert_eq!(set(None, None), None);
}

#[cfg(unix)]
#[tokio::test]
async fn what_is_saved_comes_back_and_nobody_else_can_read_the_file() {
    let command = words("stat -c %a \"$1\" > \"$1.mode\"; cat \"$1.mode\" >> \"$1\"; rm \"$1.mode\"");
    let saved = edit(&command, "text ", ".json");
    assert_eq!(saved.await.unwrap(), "text 600\n");
}

#[tokio::test]
async fn an_editor_that_fails_is_an_error_that_names_it() {
    let fails = async |script: &str| edit(&words(script), "x", ".json").await.unwrap_err();
    assert_eq!(fails("exit 3").await, "the editor `sh` ended with exit status: 3");
    assert_eq!(fails("printf '\\377' > \"$1\"").await, "what was saved is not UTF-8");
    assert!(fails("head -c 2000000 /dev/zero > \"$1\"").await.contains("larger than 1048576 bytes"));
    assert!(fails("rm \"$1\"").await.contains("does not exist"));
    let missing = edit(&["no-such-editor".to_owned()], "x", ".json").await.unwrap_err();
    assert!(missing.starts_with("cannot start the editor `no-such-editor`: "), "{missing}");
}

#[cfg(unix)]
#[tokio::test]
async fn an_editor_ends_when_nobody_waits_for_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (began, ended) = (folder.path().join("began"), folder.path().join("ended"));
    let script = format!(
        "trap 'touch {}; exit' TERM; touch {}; while :; do sleep 0.05; done",
        ended.display(),
        began.display()
    );
    let editing = tokio::spawn(async move { edit(&words(&script), "x", ".json").await });
    let patience = Duration::from_secs(20);
    wait_until("the editor runs", patience, || Ok(began.exists().then_some(()))).await.unwrap();
    editing.abort();
    wait_until("the editor ends", patience, || Ok(ended.exists().then_some(()))).await.unwrap();
}
