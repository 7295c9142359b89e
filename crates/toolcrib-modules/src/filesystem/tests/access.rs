//! What `access` lets the tools reach, in a real directory.

use serde_json::json;
use toolcrib_model::ErrorKind;
use toolcrib_policy::Access;
use toolcrib_port::{CallContext, ToolEngine as _};

use super::Place;
use crate::{ModuleContext, build};

/// A place with notes, of which these may be reached.
fn place(rules: serde_json::Value) -> Place {
    let mut place = Place::with_notes();
    let rules = serde_json::from_value(rules).unwrap();
    let access = Access::new(&rules).unwrap();
    place.module = build("filesystem", &ModuleContext::new(place.inner()).with_access(access)).unwrap();
    place
}

#[tokio::test]
async fn only_what_access_names_is_read_and_written() {
    let place = place(json!({"filesystem": [{"path": "notes"}, {"path": "out/*.txt", "mode": "write"}]}));
    place.put("out/old.txt", "old");
    place.put("out/old.csv", "old");
    for (name, arguments) in [
        ("read", json!({"path": "notes/monday.md"})),
        ("read", json!({"path": "./notes//old/april.md"})),
        ("ls", json!({"path": "notes"})),
        ("find", json!({"path": "notes", "pattern": "*.md"})),
        ("grep", json!({"path": "notes", "pattern": "milk"})),
        ("write", json!({"path": "out/new.txt", "content": "new"})),
        ("read", json!({"path": place.inner().join("out/new.txt")})),
    ] {
        assert_eq!(place.call(name, arguments.clone()).await.error, None, "{name} {arguments}");
    }
    for (name, arguments) in [
        ("read", json!({"path": "todo.txt"})),
        ("read", json!({"path": place.inner().join("todo.txt")})),
        ("read", json!({"path": "out/old.csv"})),
        ("ls", json!({})),
        ("find", json!({"pattern": "*"})),
        ("grep", json!({"pattern": "milk"})),
        ("write", json!({"path": "notes/monday.md", "content": "mine"})),
        ("write", json!({"path": "notes/new/deep.md", "content": "mine", "create_parents": true})),
        ("write", json!({"path": "out/old.csv", "content": "mine"})),
        ("mkdir", json!({"path": "notes/new"})),
    ] {
        let error = place.error(name, arguments.clone()).await;
        assert!(error.message.contains("under `access.filesystem`"), "{name} {arguments}: {error}");
        assert_eq!((error.kind, error.retryable), (ErrorKind::Denied, false), "{name} {arguments}");
    }
    assert!(!place.inner().join("notes/new").exists());
    assert_eq!(std::fs::read_to_string(place.inner().join("out/old.csv")).unwrap(), "old");
}

#[cfg(unix)]
#[tokio::test]
async fn no_symlink_leads_from_what_is_allowed_to_what_is_not() {
    use std::os::unix::fs::symlink;
    let place = place(json!({"filesystem": [{"path": "notes", "mode": "write"}]}));
    symlink("../todo.txt", place.inner().join("notes/alias.txt")).unwrap();
    symlink("..", place.inner().join("notes/up")).unwrap();
    for (name, arguments) in [
        ("read", json!({"path": "notes/alias.txt"})),
        ("write", json!({"path": "notes/alias.txt", "content": "mine"})),
        ("read", json!({"path": "notes/up/todo.txt"})),
        ("ls", json!({"path": "notes/up"})),
        ("grep", json!({"path": "notes/up", "pattern": "bread"})),
        ("write", json!({"path": "notes/up/new.txt", "content": "mine"})),
    ] {
        let error = place.error(name, arguments.clone()).await;
        assert_eq!(error.kind, ErrorKind::Denied, "{name} {arguments}: {error}");
    }
    let grep = place.ok("grep", json!({"path": "notes", "pattern": "bread"})).await;
    assert_eq!(grep["matches"], json!([]));
    assert_eq!(std::fs::read_to_string(place.inner().join("todo.txt")).unwrap(), "milk\nbread\n");
}

#[tokio::test]
async fn an_empty_list_reaches_nothing() {
    let place = place(json!({"filesystem": []}));
    assert_eq!(place.error("read", json!({"path": "todo.txt"})).await.kind, ErrorKind::Denied);
    assert_eq!(place.error("ls", json!({})).await.kind, ErrorKind::Denied);
}

#[tokio::test]
async fn a_call_reaches_no_more_than_its_own_tool_names() {
    let place = place(json!({"filesystem": [{"path": ".", "mode": "write"}]}));
    let rules = serde_json::from_value(json!({"filesystem": [{"path": "notes"}]})).unwrap();
    let mut context = CallContext::new("s");
    context.access = Access::new(&rules).unwrap();
    let call = |name, arguments| crate::tests::call_with(&place.module, &context, name, arguments);
    assert_eq!(call("read", json!({"path": "notes/monday.md"})).await.error, None);
    assert_eq!(call("grep", json!({"path": "notes", "pattern": "milk"})).await.error, None);
    let write = json!({"path": "notes/monday.md", "content": "mine"});
    for (name, arguments) in [("read", json!({"path": "todo.txt"})), ("write", write.clone())] {
        let error = call(name, arguments).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Denied, "{name}: {error}");
    }
    let checked = crate::tests::authorized(&place.module, "write", &write).await;
    let refused = place.module.check(&checked, &context).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Denied, "{refused}");
    assert_eq!(
        place.call("read", json!({"path": "todo.txt"})).await.error,
        None,
        "the limit was that of a call"
    );
}
