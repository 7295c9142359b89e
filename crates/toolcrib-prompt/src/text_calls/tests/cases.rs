//! The cases of `cases.yaml`.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;
use toolcrib_document::{Format, Limits, parse};

use super::super::{ParsedText, TextCall, TextReader, ToolNames};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cases {
    known: Vec<String>,
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    family: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) text: String,
    #[serde(default)]
    pub(super) calls: Vec<ExpectedCall>,
    #[serde(default)]
    prose: String,
    #[serde(default)]
    reasoning: String,
    /// What tools have returned before.
    #[serde(default)]
    results: Vec<String>,
}

/// A call with its arguments, or with a part of what says why they cannot be read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectedCall {
    name: String,
    arguments: Option<Value>,
    error: Option<String>,
}

/// All cases of the file.
pub(super) fn all() -> &'static Cases {
    static CASES: LazyLock<Cases> = LazyLock::new(|| {
        let document = parse(include_bytes!("cases.yaml"), Format::Yaml, &Limits::default()).unwrap();
        document.deserialize().unwrap()
    });
    &CASES
}

impl Cases {
    pub(super) fn names(&self) -> ToolNames {
        ToolNames::new(&self.known)
    }

    pub(super) fn each(&self) -> impl Iterator<Item = &Case> {
        self.groups.iter().flat_map(|group| &group.cases)
    }
}

impl Case {
    pub(super) fn reader<'a>(&'a self, names: &'a ToolNames) -> TextReader<'a> {
        TextReader::new(names).with_results(self.results.iter().map(String::as_str))
    }
}

impl ExpectedCall {
    fn is(&self, call: &TextCall) -> bool {
        call.name == self.name
            && match (&call.arguments, &self.arguments, &self.error) {
                (Ok(arguments), Some(expected), None) => Value::from(arguments.clone()) == *expected,
                (Err(why), None, Some(expected)) => why.contains(expected),
                _ => false,
            }
    }
}

#[test]
fn every_case_is_read_as_it_says() {
    let (cases, names) = (all(), all().names());
    let mut failures = Vec::new();
    for group in &cases.groups {
        for case in &group.cases {
            let parsed = case.reader(&names).read(&case.text);
            let ParsedText { prose, reasoning, calls } = &parsed;
            let fits = calls.len() == case.calls.len()
                && calls.iter().zip(&case.calls).all(|(call, expected)| expected.is(call))
                && (prose, reasoning) == (&case.prose, &case.reasoning);
            if !fits {
                failures.push(format!("{}: {}: {parsed:?}", group.family, case.name));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn there_are_enough_cases_of_both_kinds() {
    let calls = all().each().filter(|case| !case.calls.is_empty()).count();
    let others = all().each().filter(|case| case.calls.is_empty()).count();
    assert!(calls >= 150 && others >= 60, "{calls} with calls, {others} without");
}

#[test]
fn what_a_call_was_read_from_stands_in_the_message() {
    let names = all().names();
    for case in all().each() {
        for call in case.reader(&names).read(&case.text).calls {
            assert!(case.text.contains(&call.raw), "{}: {:?}", case.name, call.raw);
        }
    }
}
