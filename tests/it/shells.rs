//! What packages install next to the binary: completions and manual pages.

use std::fs;

use crate::support::{TestDir, mcp_script};

#[tokio::test]
async fn each_shell_has_completions_that_it_can_read() {
    let dir = TestDir::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = dir.run(["completions", shell]).await.expect(0).stdout;
        for word in ["toolcrib", "serve", "namespace"] {
            assert!(script.contains(word), "{shell}: {word} is not in it");
        }
        let json = dir.run(["completions", shell, "--json"]).await.expect(0).json();
        assert_eq!(json["script"], script.as_str());
    }
    let script = dir.run(["completions", "bash"]).await.expect(0).stdout;
    let complete = format!(
        "{script}\nCOMP_WORDS=(toolcrib tools app.yaml --na); COMP_CWORD=3\n_toolcrib toolcrib --na app.yaml\n\
         echo \"${{COMPREPLY[@]}}\""
    );
    let dir = dir.with_file("complete.bash", complete);
    let output = dir.command("bash", &dir.path("")).arg("complete.bash").output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "--namespace", "{output:?}");
}

#[tokio::test]
async fn each_command_has_a_manual_page() {
    let dir = TestDir::new();
    dir.run(["man", "--to", "man"]).await.expect(0);
    let pages: Vec<String> = fs::read_dir(dir.path("man"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    for page in ["toolcrib.1", "toolcrib-serve.1", "toolcrib-new-exec.1"] {
        assert!(pages.iter().any(|name| name == page), "{page}: {pages:?}");
    }
    assert!(!pages.iter().any(|name| name.contains("-man") || name.contains("-help")), "{pages:?}");
    let main = dir.read("man/toolcrib.1");
    for text in ["Exit codes:", "The policy or a person denied it.", "toolcrib\\-serve(1)"] {
        assert!(main.contains(text), "{text}: {main}");
    }
    assert!(dir.read("man/toolcrib-serve.1").contains("toolcrib serve app.yaml"), "examples are in it");
}

#[tokio::test]
async fn the_help_lists_the_exit_codes_and_fits_80_columns() {
    let dir = TestDir::new().with_variable("COLUMNS", "80");
    let help = dir.run(["--help"]).await.expect(0).stdout;
    for text in ["Start:", "Inspect:", "Run:", "Serve:", "Maintain:", "Exit codes:", "4  It needs approval"] {
        assert!(help.contains(text), "{text}: {help}");
    }
    assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    assert!(!dir.run(["-h"]).await.expect(0).stdout.contains("Exit codes:"), "the short help is short");
}

#[tokio::test]
async fn warnings_are_on_standard_error_unless_they_are_turned_off() {
    // The lists of tools cannot be kept where a file is in place of the folder.
    let dir =
        TestDir::with_app("tools: {registry: [{type: mcp, namespace: desk, command: [sh, server.sh]}]}\n")
            .with_file("server.sh", mcp_script(""))
            .with_file("file", "");
    let cache = dir.path("file").display().to_string();
    let dir = dir.with_variable("XDG_CACHE_HOME", cache);
    let said = dir.run(["tools", "app.yaml"]).await.expect(0).stderr;
    assert!(said.contains("WARN"), "{said}");
    let dir = dir.with_variable("TOOLCRIB_LOG", "off");
    let said = dir.run(["tools", "app.yaml"]).await.expect(0).stderr;
    assert!(!said.contains("WARN"), "{said}");
    let dir = dir.with_variable("TOOLCRIB_LOG", "toolcrib=loud");
    let said = dir.run(["tools", "app.yaml"]).await.expect(0).stderr;
    assert!(said.contains("warning: `TOOLCRIB_LOG`") && said.contains("WARN"), "{said}");
}

#[tokio::test]
async fn tools_are_selected_by_namespace_and_by_words() {
    let dir = TestDir::with_app("modules: {hello: {}, filesystem: {}}\n");
    let names = async |words: &[&str]| {
        let mut all = vec!["tools", "app.yaml", "--json"];
        all.extend(words);
        let listed = dir.run_words(&all).await.expect(0).json();
        let tools = listed["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["qualified_name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let hello = names(&["--namespace", "hello"]).await;
    assert!(!hello.is_empty() && hello.iter().all(|name| name.starts_with("hello::")), "{hello:?}");
    let read = names(&["--filter", "READS file", "--namespace", "filesystem"]).await;
    assert!(read.contains(&"filesystem::read".to_owned()), "{read:?}");
    assert!(read.len() < names(&["--namespace", "filesystem"]).await.len(), "{read:?}");
    assert_eq!(names(&["--filter", "no such words"]).await, [""; 0]);
    let all = names(&["--all"]).await;
    assert!(all.contains(&"context_builder::read_result".to_owned()), "{all:?}");
    let wrong = dir.run(["tools", "app.yaml", "--namespace", "helo"]).await.expect(2);
    assert!(wrong.stderr.contains("did you mean `hello`?"), "{wrong:?}");
}
