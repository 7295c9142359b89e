//! What the table of modules promises.

use std::path::PathBuf;

use toolcrib_port::ToolLoader;

use crate::{Error, ModuleContext, build, names};

fn context(workspace: impl Into<PathBuf>) -> ModuleContext {
    ModuleContext::new(workspace)
}

#[tokio::test]
async fn every_name_in_the_table_makes_a_module_whose_tools_all_load() {
    let workspace = tempfile::tempdir().unwrap();
    for name in names() {
        let module = build(name, &context(workspace.path())).unwrap();
        assert_eq!(module.id(), name);
        let loaded = module.load().await;
        assert_eq!(loaded.rejected, [], "{name}");
        // Scripts are off unless the operator allows them.
        let off = usize::from(name == "shell");
        assert_eq!(loaded.tools.len() + off, module.actions().count(), "{name}");
        for tool in loaded.tools {
            assert!(!tool.description.is_empty(), "{}", tool.name);
            assert_eq!(tool.parameters["additionalProperties"], false, "{}", tool.name);
            assert!(tool.output_parameters.get("type").is_some(), "{}", tool.name);
        }
    }
}

#[test]
fn an_unknown_module_is_told_what_there_is() {
    let error = build("filesytem", &context(".")).err().unwrap();
    assert!(matches!(&error, Error::UnknownModule { id } if id == "filesytem"), "{error:?}");
    assert_eq!(
        error.to_string(),
        "there is no built-in module `filesytem`; there are hello, memory, filesystem, http, shell"
    );
}

#[test]
fn a_workspace_that_cannot_be_opened_is_an_error_that_names_it() {
    let outer = tempfile::tempdir().unwrap();
    let missing = outer.path().join("missing");
    let error = build("filesystem", &context(&missing)).err().unwrap();
    assert!(
        matches!(&error, Error::WorkspaceMissing { workspace, .. } if *workspace == missing),
        "{error:?}"
    );
    assert!(error.to_string().contains("create it"), "{error}");

    let file = outer.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = build("filesystem", &context(&file)).err().unwrap();
    assert!(matches!(&error, Error::WorkspaceUnusable { workspace, .. } if *workspace == file), "{error:?}");
    assert!(error.to_string().contains("is not a directory"), "{error}");
}

#[test]
fn a_module_without_files_needs_no_workspace() {
    assert_eq!(build("hello", &context("/nowhere/at/all")).unwrap().id(), "hello");
}
