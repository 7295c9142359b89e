//! Apps that would start themselves.

use crate::nesting::{MAX_PROCESS_DEPTH, MAX_SERVED_APPS};
use crate::{Blueprint, serve_arguments, too_deep};

#[test]
fn every_form_of_our_own_command_line_is_recognised() {
    let cases: [(&[&str], Option<&[&str]>); 12] = [
        (&["toolcrib", "serve", "app.yaml", "--stdio"], Some(&["app.yaml", "--stdio"])),
        (&["/opt/bin/toolcrib", "serve", "/a/app.yaml"], Some(&["/a/app.yaml"])),
        (&["C:\\bin\\toolcrib.exe", "--json", "serve", "a.yaml"], Some(&["a.yaml"])),
        (&["npx", "-y", "@tools/toolcrib@0.1.0", "serve", "a.yaml"], Some(&["a.yaml"])),
        (&["docker", "run", "-i", "ghcr.io/x/toolcrib:0.1", "serve", "a.yaml"], Some(&["a.yaml"])),
        (&["uvx", "--from", "toolcrib", "toolcrib", "serve", "a.yaml"], Some(&["a.yaml"])),
        (&["bash", "-lc", "exec 'toolcrib' serve \"a.yaml\""], Some(&["a.yaml"])),
        (&["toolcrib serve a.yaml"], Some(&["a.yaml"])),
        (&["toolcrib", "run", "serve"], None),
        (&["npx", "serve", "toolcrib"], None),
        (&["my-toolcrib", "serve", "a.yaml"], None),
        (&[], None),
    ];
    for (command, expected) in cases {
        assert_eq!(serve_arguments(command).as_deref(), expected, "{command:?}");
    }
}

#[test]
fn an_app_whose_source_serves_the_same_app_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.yaml");
    let absolute = path.display().to_string();
    for command in [
        "[toolcrib, serve, app.yaml]".to_owned(),
        format!("[toolcrib, serve, --http, '8080', '{absolute}']"),
        "[npx, -y, toolcrib, serve, ./app.yaml]".to_owned(),
        "['${TOOLCRIB}', serve, app.yaml]".to_owned(),
    ] {
        let text = format!("tools:\n  registry:\n    - {{type: mcp, name: me, command: {command}}}\n");
        std::fs::write(&path, text).unwrap();
        let error = Blueprint::open(&path).unwrap_err().to_string();
        assert!(error.contains("app.yaml:3:7: "), "{error}");
        assert!(error.contains("serves this same app"), "{error}");
    }
    let other = "tools: {registry: [{type: mcp, name: other, command: [toolcrib, serve, other.yaml]}]}\n";
    std::fs::write(&path, other).unwrap();
    Blueprint::open(&path).unwrap();
}

#[test]
fn a_chain_of_processes_that_start_one_another_ends() {
    assert_eq!(too_deep(MAX_PROCESS_DEPTH), None);
    let message = too_deep(MAX_PROCESS_DEPTH + 1).unwrap();
    assert!(message.contains("3 Toolcrib processes have started one another, at most 2 may"), "{message}");
}

#[test]
fn sources_that_serve_more_apps_than_one_app_may_start_are_rejected() {
    let entry = "{type: mcp, name: appN, command: [toolcrib, serve, other.yaml]}";
    let most = MAX_SERVED_APPS[0];
    let entries: Vec<String> = (0..=most).map(|number| entry.replace('N', &number.to_string())).collect();
    let text = format!("tools:\n  registry:\n    - {}", entries.join("\n    - "));
    let app = Blueprint::from_text("app.yaml", &text).unwrap();
    let unusable: Vec<_> = app.sources.into_iter().filter_map(|built| built.unusable).collect();
    insta::assert_snapshot!(
        unusable.join("\n"),
        @"app.yaml:19:7: it is not started: at most 16 sources of an app with 0 Toolcrib processes above it may serve other apps; remove the source, or name the other app under `tools.apps`"
    );
}
