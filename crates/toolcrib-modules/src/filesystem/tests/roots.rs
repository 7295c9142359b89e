//! Folders besides the workspace.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use toolcrib_model::ErrorKind;
use toolcrib_policy::Access;

use super::Place;
use crate::ModuleContext;
use crate::filesystem::{FilesystemConfig, module_from_config};

/// A place with a folder besides that is only read, and one that may be changed.
fn place(context: impl FnOnce(ModuleContext) -> ModuleContext) -> (Place, PathBuf, PathBuf) {
    let mut place = Place::with_notes();
    let outer = place.outer.path().canonicalize().unwrap();
    let (manuals, out) = (outer.join("manuals"), outer.join("out"));
    fs::create_dir_all(manuals.join("deep")).unwrap();
    fs::create_dir(&out).unwrap();
    fs::write(manuals.join("deep/guide.md"), "Turn it on.\n").unwrap();
    let config = json!({"roots": {"manuals": {"path": manuals}, "out": {"path": "../out", "mode": "write"}}});
    let config: FilesystemConfig = serde_json::from_value(config).unwrap();
    place.module = module_from_config(config, &context(ModuleContext::new(place.inner()))).unwrap();
    (place, manuals, out)
}

#[tokio::test]
async fn a_folder_besides_the_workspace_is_read_by_absolute_paths_and_told_by_them() {
    let (place, manuals, _) = place(|context| context);
    let guide = manuals.join("deep/guide.md");
    assert!(place.ok("read", json!({"path": guide})).await.to_string().contains("Turn it on."));
    let found = place.ok("find", json!({"path": manuals, "pattern": "*.md"})).await;
    let [Value::String(path)] = found["paths"].as_array().unwrap().as_slice() else { panic!("{found}") };
    assert_eq!(*path, guide.to_str().unwrap());
    let grep = place.ok("grep", json!({"path": manuals, "pattern": "Turn"})).await;
    assert!(grep.to_string().contains(guide.to_str().unwrap()), "{grep}");
    let told = place.module.description();
    assert!(told.contains(&format!("`manuals` at {} is only read.", manuals.display())), "{told}");
}

#[tokio::test]
async fn a_folder_besides_the_workspace_is_only_read_unless_it_may_be_written() {
    let (place, manuals, out) = place(|context| context);
    let guide = manuals.join("deep/guide.md");
    for (name, arguments) in [
        ("write", json!({"path": guide, "content": "x"})),
        ("append", json!({"path": guide, "content": "x"})),
        ("edit", json!({"path": guide, "old_text": "on", "new_text": "off"})),
        ("mkdir", json!({"path": manuals.join("new")})),
        ("move", json!({"from": guide, "to": manuals.join("other.md")})),
        ("copy", json!({"from": guide, "to": manuals.join("other.md")})),
        ("delete", json!({"path": guide})),
        ("delete", json!({"path": manuals.join("deep"), "recursive": true})),
    ] {
        let error = place.error(name, arguments.clone()).await;
        assert_eq!(error.kind, ErrorKind::Denied, "{name} {arguments}: {error}");
    }
    assert_eq!(fs::read_to_string(&guide).unwrap(), "Turn it on.\n");
    let report = out.join("report.txt");
    let written = place.ok("write", json!({"path": report, "content": "done"})).await;
    assert_eq!(written["path"], report.to_str().unwrap());
    let error = place.error("copy", json!({"from": guide, "to": "guide.md"})).await;
    assert!(error.message.contains("different folders"), "{error}");
}

#[tokio::test]
async fn no_path_leads_out_of_a_folder_besides_the_workspace_and_access_holds_there_too() {
    let (place, manuals, _) = place(|context| context);
    for path in [manuals.join("../secret.txt"), manuals.parent().unwrap().join("secret.txt")] {
        assert_eq!(place.error("read", json!({"path": path})).await.kind, ErrorKind::ToolFailed);
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../secret.txt", manuals.join("link")).unwrap();
        place.error("read", json!({"path": manuals.join("link")})).await;
    }
    let rules = serde_json::from_value(json!({"filesystem": [{"path": "deep"}]})).unwrap();
    let access = Access::new(&rules).unwrap();
    let (place, manuals, _) = self::place(|context| context.with_access(access));
    let error = place.error("read", json!({"path": manuals.join("deep/guide.md")})).await;
    assert_eq!(error.kind, ErrorKind::Denied, "a relative rule is of the workspace: {error}");
}
