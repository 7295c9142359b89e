//! `cargo xtask book`: the documentation as a site.

mod links;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::cargo_tool::CargoTool;
use crate::process::describe;
use crate::workspace::Workspace;

/// The program that builds the site.
const MDBOOK: CargoTool = CargoTool {
    package: "mdbook",
    version: "0.5.4",
    features: &["--no-default-features", "--features", "search"],
};

/// The folder of the pages, relative to the root.
const SOURCE: &str = "docs";

/// Checks the links, installs mdBook if necessary, and writes the site to `target/book`.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    check(&workspace.root)?;
    let program = MDBOOK.installed(workspace)?;
    let folder = workspace.target.join("book");
    let mut command = Command::new(program);
    command.current_dir(&workspace.root).args(["build", SOURCE, "--dest-dir"]).arg(&folder);
    let line = describe(&command);
    println!("xtask: {line}");
    let output = command.output().with_context(|| format!("could not start {line}"))?;
    let log = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{line}: {}\n{log}", output.status);
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("WARN")).collect();
    ensure!(warnings.is_empty(), "{line}:\n{}", warnings.join("\n"));
    println!("book: {}", folder.join("index.html").display());
    Ok(())
}

/// Fails if a link of the documentation leads nowhere, or if a page is missing in the table of contents.
fn check(root: &Path) -> Result<()> {
    let broken = links::check(root)?;
    ensure!(broken.is_empty(), "{} broken links:\n{}", broken.len(), broken.join("\n"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn every_link_of_the_documentation_leads_to_a_page_and_a_heading() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        super::check(root).unwrap();
    }

    /// Returns the fenced blocks of a page in this language, without the indentation of the list that they are in.
    fn blocks(page: &str, language: &str) -> Vec<String> {
        let fence = format!("```{language}\n");
        let rest = page.split(fence.as_str()).skip(1);
        rest.filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
    }

    #[test]
    fn every_block_of_json_and_toml_can_be_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut count = 0;
        for text in super::links::texts(root).unwrap() {
            let json = blocks(&text, "json");
            let lines = blocks(&text, "jsonl");
            for block in json.iter().map(String::as_str).chain(lines.iter().flat_map(|block| block.lines())) {
                serde_json::from_str::<serde_json::Value>(block)
                    .unwrap_or_else(|error| panic!("{error}:\n{block}"));
                count += 1;
            }
            for block in blocks(&text, "toml") {
                toml::de::DeTable::parse(&block).unwrap_or_else(|error| panic!("{error}:\n{block}"));
                count += 1;
            }
        }
        assert!(count > 10, "{count} blocks");
    }

    #[test]
    fn every_task_that_the_documentation_names_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut named = 0;
        for text in super::links::texts(root).unwrap() {
            for rest in text.split("cargo xtask ").skip(1) {
                let task =
                    rest.split(|c: char| !c.is_ascii_lowercase() && c != '-').next().unwrap_or_default();
                assert!(crate::HELP.contains(&format!("\n  {task} ")), "there is no task {task:?}");
                named += 1;
            }
        }
        assert!(named > 5, "{named} tasks");
    }
}
