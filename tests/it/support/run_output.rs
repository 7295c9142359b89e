//! What came of a run of the binary.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Output;

use serde_json::Value;

/// How the binary ended, and what it said.
#[derive(Debug)]
pub(crate) struct RunOutput {
    /// Nothing when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl RunOutput {
    pub(crate) fn new(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("the output is UTF-8");
        Self {
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// Fails unless the exit code is this one.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Standard output, which has to be one JSON document and nothing else.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("standard output is not one JSON document: {error}\n{self:#?}"))
    }

    /// All of it, as a person sees it.
    pub(crate) fn report(&self) -> String {
        let code = self.code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        format!("exit {code}\n--- stdout\n{}--- stderr\n{}", self.stdout, self.stderr)
    }
}
