//! Approvals that are written into the app file as rules.

use std::path::PathBuf;

use serde_json::json;
use toolcrib_app::Extensions;
use toolcrib_policy::Question;

use super::diff;
use crate::decision_display::is_changed_by_grant;
use crate::exit::Failure;
use crate::file_edit::{AppEdit, CollectionStyle};

/// The list of rules that run calls without a question.
const GRANT: [&str; 3] = ["tools", "capabilities", "grant"];

/// The file of the running app, to which rules can be added.
#[derive(Clone)]
pub(crate) struct RuleWriter {
    app: PathBuf,
    extensions: Extensions,
}

/// A rule that has not been written yet.
#[derive(Debug)]
pub(super) struct ProposedRule(AppEdit);

impl RuleWriter {
    pub(crate) fn new(app: PathBuf, extensions: Extensions) -> Self {
        Self { app, extensions }
    }

    /// Returns the name of the app file.
    pub(super) fn file_name(&self) -> String {
        self.app.file_name().unwrap_or(self.app.as_os_str()).to_string_lossy().into_owned()
    }

    /// Returns true if a rule for the tool would answer this question the next time.
    pub(super) fn can_answer(question: &Question) -> bool {
        // The characters of patterns would name more than this tool, and further dots leave its namespace open.
        let is_plain = !question.tool.contains(['*', '?', '[']) && question.tool.matches('.').count() == 1;
        is_plain && question.script.is_none() && is_changed_by_grant(&question.rule)
    }

    /// Returns the rule that runs all calls of a tool.
    ///
    /// # Errors
    ///
    /// The app file cannot be read or edited, or is not valid with the rule.
    pub(super) fn propose(&self, tool: &str) -> Result<ProposedRule, Failure> {
        let (namespace, name) = tool.split_once('.').unwrap_or_default();
        let mut edit = AppEdit::open(&self.app)?;
        let rule = json!({"module": namespace, "actions": [name]});
        edit.append(&GRANT, &rule, CollectionStyle::Flow)?;
        edit.check(&self.extensions)?;
        Ok(ProposedRule(edit))
    }
}

impl ProposedRule {
    /// Returns the change of the app file, for people.
    pub(super) fn diff(&self) -> String {
        diff::lines(self.0.before(), self.0.after())
    }

    /// Writes the rule, and returns a sentence about it.
    ///
    /// # Errors
    ///
    /// The app file has changed meanwhile, or cannot be written.
    pub(super) fn write(&self) -> Result<String, Failure> {
        let copy = self.0.write()?;
        let copy = copy.map(|copy| format!("; the former is {}", copy.display())).unwrap_or_default();
        Ok(format!("wrote the rule into {}{copy}", self.0.path().display()))
    }
}
