//! A browser that a test drives.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

use crate::clients::{node, script};
use crate::serve::client::SOON;
use crate::support::{PATIENCE, TestDir, chromium, peer};

/// A headless browser with one page.
pub(super) struct Browser {
    _child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Browser {
    /// Starts one with a separate profile, or nothing where no browser is installed.
    pub(super) fn start(dir: &TestDir) -> Option<Self> {
        let (packages, browser) = (peer("clients")?, chromium()?);
        let mut command = dir.command(node(&packages), &dir.path("home"));
        command.arg(script("browser.mjs")).arg(browser).arg(dir.path("driven"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
        let mut child = command.spawn().expect("the browser starts");
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Some(Self { _child: child, input, lines: BufReader::new(output).lines() })
    }

    async fn send(&mut self, command: Value) -> Value {
        self.input.write_all(format!("{command}\n").as_bytes()).await.unwrap();
        let line = timeout(PATIENCE, self.lines.next_line()).await.expect("the browser answers").unwrap();
        let answer: Value = serde_json::from_str(&line.expect("the browser runs")).unwrap();
        assert_eq!(answer["error"], Value::Null, "{command}: {answer}");
        answer["value"].clone()
    }

    pub(super) async fn goto(&mut self, address: &str) {
        self.send(json!({"goto": address})).await;
    }

    pub(super) async fn evaluate(&mut self, expression: &str) -> Value {
        self.send(json!({"evaluate": expression})).await
    }

    pub(super) async fn key(&mut self, key: &str) {
        self.send(json!({"key": key})).await;
    }

    /// Clicks the first element that a selector matches.
    pub(super) async fn click(&mut self, selector: &str) {
        self.send(json!({"click": selector})).await;
    }

    pub(super) async fn size(&mut self, width: u32, height: u32, is_dark: bool) {
        self.send(json!({"size": [width, height, is_dark]})).await;
    }

    pub(super) async fn screenshot(&mut self, path: &Path, is_full: bool) {
        self.send(json!({"screenshot": path, "full": is_full})).await;
    }

    /// Waits until an expression is true.
    pub(super) async fn until(&mut self, expression: &str) {
        let begun = tokio::time::Instant::now();
        // A page that is about to be left may not answer.
        let guarded =
            format!("(() => {{ try {{ return Boolean({expression}); }} catch {{ return false; }} }})()");
        while self.evaluate(&guarded).await != json!(true) {
            if begun.elapsed() > SOON {
                let page = self.evaluate("document.title + '\\n' + document.body.innerText").await;
                panic!("not so: {expression}\n{}", page.as_str().unwrap_or_default());
            }
            tokio::task::yield_now().await;
        }
    }

    /// Fills in the first input whose label begins with a text.
    pub(super) async fn fill(&mut self, label: &str, value: &str) {
        let (label, value) = (json!(label), json!(value));
        let found = format!(
            "[...document.querySelectorAll('label')].find((one) => one.textContent.trim().startsWith({label}))"
        );
        self.evaluate(&format!("{found}.querySelector('input, textarea').value = {value}, 0")).await;
    }

    /// Submits the form with this action, after filling in these fields.
    pub(super) async fn submit(&mut self, action: &str, fields: &[(&str, &str)]) {
        let form = format!("document.querySelector('form[action=\"{action}\"]')");
        for (name, value) in fields {
            let value = json!(value);
            self.evaluate(&format!("{form}.elements['{name}'].value = {value}, 0")).await;
        }
        self.evaluate(&format!(
            "document.body.dataset.left = 1, {form}.requestSubmit({form}.querySelector('button')), 0"
        ))
        .await;
        self.until("document.readyState === 'complete' && !document.body.dataset.left").await;
    }
}

/// The script that checks a page for people who read it in other ways, or nothing where it is not installed.
pub(super) fn axe() -> Option<String> {
    let path: PathBuf = peer("axe")?.join("node_modules/axe-core/axe.min.js");
    Some(std::fs::read_to_string(path).unwrap())
}
