//! Questions about calls: one by itself, several together.

use std::collections::VecDeque;
use std::fmt::Write as _;

use parking_lot::Mutex;
use toolcrib_model::JsonObject;
use toolcrib_policy::{Approval, Question, Remember};
use toolcrib_port::{Answer, ApprovalRequest};

use super::edit::{self, Edited};
use super::prompter::Dialogue;
use super::reply::{Confirmation, Reach, Reply, numbered, reply};
use super::rule_writer::RuleWriter;
use super::show::{self, Sizes};
use super::{diff, show::quoted};
use crate::exit::Failure;
use crate::ui::printable::{Layout, cut, excerpt};

/// The number of unclear answers before the question counts as denied.
const MAX_UNCLEAR: usize = 10;

/// The number of edits that are stored in case they are rejected.
const MAX_DRAFTS: usize = 64;

/// The most bytes of the name of the app file in a prompt.
const MAX_FILE_NAME_BYTES: usize = 40;

/// The most bytes of a reason that is shown.
const MAX_REASON_BYTES: usize = 1000;

/// The approvals that a person can give.
pub(super) struct Scope {
    pub(super) reach: Reach,
    /// The writer of rules into the app file.
    pub(super) rules: Option<RuleWriter>,
}

/// The last edits by question, as a starting point for another edit.
#[derive(Default)]
pub(super) struct Drafts(Mutex<VecDeque<(u64, JsonObject)>>);

impl Drafts {
    fn keep(&self, question: u64, arguments: JsonObject) {
        let mut drafts = self.0.lock();
        if drafts.len() >= MAX_DRAFTS {
            drafts.pop_front();
        }
        drafts.push_back((question, arguments));
    }

    fn take(&self, question: u64) -> Option<JsonObject> {
        let mut drafts = self.0.lock();
        let at = drafts.iter().rposition(|(known, _)| *known == question)?;
        drafts.remove(at).map(|(_, arguments)| arguments)
    }
}

/// Asks about a batch. What is answered is put down at once.
pub(super) async fn ask(
    dialogue: &dyn Dialogue,
    drafts: &Drafts,
    scope: &Scope,
    batch: &mut [ApprovalRequest],
) {
    // A question that interrupts is answered by the name of its tool, so each call has a question.
    let is_interruption = batch.iter().any(|asked| interrupts(dialogue, asked.question()));
    if batch.len() > 1 && !is_interruption && !together(dialogue, drafts, scope, batch).await {
        return;
    }
    for at in 0..batch.len() {
        if let Some(question) = open(batch, at) {
            let answer = one(dialogue, drafts, scope, &question).await;
            put(dialogue, batch, at, answer);
        }
    }
}

/// Asks about all at once, until each has an answer; whether the rest is to be asked about one by one.
async fn together(
    dialogue: &dyn Dialogue,
    drafts: &Drafts,
    scope: &Scope,
    batch: &mut [ApprovalRequest],
) -> bool {
    let shown = show::calls(batch.iter().enumerate().map(|(at, asked)| (at + 1, asked.question())));
    let mut text = shown.text;
    let prompt = "run them? [y all, n none, o one by one, or one of them: 2 y, 2 n, 2 e …; or say why not] ";
    for _ in 0..batch.len() + MAX_UNCLEAR {
        let line = dialogue.ask(&text, prompt).await;
        text = String::new();
        if let Some((number, rest)) = line.as_deref().and_then(numbered) {
            match number.checked_sub(1).and_then(|at| Some((at, open(batch, at)?))) {
                None => text = format!("no question {number} is open"),
                Some((at, question)) => {
                    let answer = match reply(Some(rest), &Confirmation::Letter) {
                        Reply::Yes(remember) => yes(&question, None, remember),
                        Reply::No(said) if !rest.is_empty() => Answer::Denied(said),
                        Reply::Edit => edited(dialogue, drafts, scope, &question).await,
                        // By its number alone: this one in full.
                        _ => one(dialogue, drafts, scope, &question).await,
                    };
                    put(dialogue, batch, at, answer);
                }
            }
        } else {
            match reply(line.as_deref(), &Confirmation::Letter) {
                Reply::Yes(remember) => {
                    for at in 0..batch.len() {
                        if let Some(question) = open(batch, at) {
                            put(dialogue, batch, at, yes(&question, None, remember));
                        }
                    }
                }
                Reply::No(said) => {
                    for asked in batch.iter_mut().filter(|asked| asked.answer.is_none()) {
                        asked.answer = Some(Answer::Denied(said.clone()));
                    }
                }
                Reply::Unclear if line.as_deref().is_some_and(|line| line.trim() == "o") => return true,
                Reply::All => return true,
                Reply::Unclear | Reply::Edit | Reply::Undo | Reply::WriteRule => {
                    "expected y, n or o, or a number".clone_into(&mut text);
                }
            }
        }
        let open: Vec<_> = batch.iter().enumerate().filter(|(_, asked)| asked.answer.is_none()).collect();
        if open.is_empty() {
            return false;
        }
        let numbers: Vec<_> = open.iter().map(|(at, _)| (at + 1).to_string()).collect();
        let open = format!("still open: {}", numbers.join(", "));
        text = if text.is_empty() { open } else { format!("{text}\n{open}") };
    }
    true
}

/// Asks about one call.
async fn one(dialogue: &dyn Dialogue, drafts: &Drafts, scope: &Scope, question: &Question) -> Answer {
    PendingQuestion::new(dialogue, drafts, scope, question).until_answered(false).await
}

/// Returns the same, with the editor open.
async fn edited(dialogue: &dyn Dialogue, drafts: &Drafts, scope: &Scope, question: &Question) -> Answer {
    PendingQuestion::new(dialogue, drafts, scope, question).until_answered(true).await
}

/// One call, and what the person has made of it so far.
struct PendingQuestion<'a> {
    dialogue: &'a dyn Dialogue,
    drafts: &'a Drafts,
    scope: &'a Scope,
    question: &'a Question,
    /// The arguments to run instead.
    edited: Option<JsonObject>,
    draft: String,
    /// The error of the last edit.
    problem: Option<String>,
    confirmation: Confirmation,
}

impl<'a> PendingQuestion<'a> {
    fn new(dialogue: &'a dyn Dialogue, drafts: &'a Drafts, scope: &'a Scope, question: &'a Question) -> Self {
        let last = drafts.take(question.id);
        let draft = edit::draft(last.as_ref().unwrap_or(&question.arguments));
        let confirmation = Confirmation::of(&question.tool, interrupts(dialogue, question));
        Self { dialogue, drafts, scope, question, edited: None, draft, problem: None, confirmation }
    }

    async fn until_answered(&mut self, mut is_editing: bool) -> Answer {
        let (mut sizes, mut unclear) = (Sizes::ONE, 0);
        let mut note = String::new();
        while unclear < MAX_UNCLEAR {
            if std::mem::take(&mut is_editing) {
                self.edit().await;
            }
            let (text, prompt) = self.shown(sizes);
            let text = if note.is_empty() { text } else { format!("{text}\n{note}") };
            note.clear();
            match reply(self.dialogue.ask(&text, &prompt).await.as_deref(), &self.confirmation) {
                Reply::Yes(remember) => {
                    if let Some(arguments) = &self.edited {
                        self.drafts.keep(self.question.id, arguments.clone());
                    }
                    return yes(self.question, self.edited.clone(), remember);
                }
                Reply::No(said) => return Answer::Denied(said),
                Reply::Edit => is_editing = true,
                Reply::Undo if self.edited.is_some() => {
                    self.edited = None;
                    self.draft = edit::draft(&self.question.arguments);
                }
                Reply::All => sizes = Sizes::ALL,
                Reply::WriteRule if self.rule_writer().is_some() => match self.write_rule().await {
                    Ok(written) => {
                        self.dialogue.tell(&written);
                        return yes(self.question, None, Remember::Tool);
                    }
                    Err(problem) => {
                        unclear += 1;
                        note = problem;
                    }
                },
                Reply::Unclear | Reply::Undo | Reply::WriteRule => {
                    unclear += 1;
                    note = self.confirmation.note();
                }
            }
        }
        Answer::Denied(None)
    }

    /// Returns the writer of rules, where a rule would answer this question the next time.
    fn rule_writer(&self) -> Option<&RuleWriter> {
        let can_answer = self.confirmation == Confirmation::Letter
            && self.edited.is_none()
            && RuleWriter::can_answer(self.question);
        self.scope.rules.as_ref().filter(|_| can_answer)
    }

    /// Writes a rule that approves all calls of the tool. An error says why none was written.
    async fn write_rule(&self) -> Result<String, String> {
        let quoted = |text: &str| quoted(&cut(text, Layout::Lines, MAX_REASON_BYTES));
        let Some(writer) = self.rule_writer() else { return Err(self.confirmation.note()) };
        let failed = |failure: Failure| format!("no rule was written:\n{}", quoted(&failure.message));
        let rule = writer.propose(&self.question.tool).map_err(failed)?;
        let text = format!("\n{} would change\n{}", writer.file_name(), rule.diff());
        let said = self.dialogue.ask(&text, "write it, and run the call? [y, n] ").await.unwrap_or_default();
        match said.trim().to_lowercase().as_str() {
            "y" | "yes" => rule.write().map_err(failed),
            _ => Err("no rule was written; the call still waits".to_owned()),
        }
    }

    async fn edit(&mut self) {
        let current = self.edited.as_ref().unwrap_or(&self.question.arguments);
        match edit::arguments(self.dialogue, &self.draft, current).await {
            Edited::Arguments(arguments) => {
                self.draft = edit::draft(&arguments);
                self.problem = None;
                self.edited = (arguments != self.question.arguments).then_some(arguments);
            }
            Edited::Broken { draft, problem } => (self.draft, self.problem) = (draft, Some(problem)),
        }
    }

    /// Returns the next text to show, and the prompt after it.
    fn shown(&self, sizes: Sizes) -> (String, String) {
        let (mut text, mut more) = match &self.edited {
            None => {
                let shown = show::call(self.question, sizes);
                let more = if shown.is_cut { ", a all of it" } else { "" };
                (shown.text, more)
            }
            Some(arguments) => {
                let tool = show::name(&self.question.tool);
                let changes = diff::arguments(&self.question.arguments, arguments);
                (format!("\n{tool} with these changes\n{changes}"), ", u undo")
            }
        };
        if let Some(problem) = &self.problem {
            let problem = quoted(&cut(problem, Layout::Lines, MAX_REASON_BYTES));
            text.extend(["\nthe edit was not taken:\n", &problem]);
        }
        if matches!((sizes.value_bytes, &self.edited), (bytes, None) if bytes == Sizes::ALL.value_bytes) {
            more = "";
        }
        let is_in_script = self.question.script.is_some() && self.scope.reach != Reach::Once;
        let reach = if is_in_script { Reach::Script } else { self.scope.reach };
        let mut choices = self.confirmation.choices(reach);
        if let Some(writer) = self.rule_writer() {
            // Writing to a string cannot fail.
            let _ = write!(choices, "p in {}, ", excerpt(&writer.file_name(), MAX_FILE_NAME_BYTES));
        }
        let prompt = match &self.confirmation {
            Confirmation::Letter => format!("run it? [{choices}e edit{more}, n no, or say why not] "),
            Confirmation::Word(_) => format!("run it? type {choices}or e edit{more}, n no, or say why not: "),
        };
        (text, prompt)
    }
}

/// Returns true if the person may be about to answer something else than this question.
fn interrupts(dialogue: &dyn Dialogue, question: &Question) -> bool {
    dialogue.is_interruption() || question.detached
}

/// Returns the approval of the call, as it is or as it was edited.
fn yes(question: &Question, edited: Option<JsonObject>, remember: Remember) -> Answer {
    let approval: Approval = match edited {
        Some(arguments) => question.approve_edited(arguments),
        None => question.approve(),
    };
    Answer::Approved(approval.remember(remember))
}

/// Returns the question at this place, if it has no answer.
fn open(batch: &[ApprovalRequest], at: usize) -> Option<Question> {
    let asked = batch.get(at).filter(|asked| asked.answer.is_none())?;
    Some(asked.question().clone())
}

/// Puts an answer down, and with it those of the calls that it covers.
fn put(dialogue: &dyn Dialogue, batch: &mut [ApprovalRequest], at: usize, answer: Answer) {
    let Some(question) = open(batch, at) else { return };
    let covers = covered(&answer);
    if let Some(asked) = batch.get_mut(at) {
        asked.answer = Some(answer);
    }
    let Some(remember) = covers else { return };
    for (other, asked) in batch.iter_mut().enumerate().filter(|(_, asked)| asked.answer.is_none()) {
        if asked.question().is_answered_by(&question, remember) {
            asked.answer = Some(Answer::Approved(asked.question().approve()));
            let scope = if question.script.is_some() { "script" } else { "session" };
            dialogue.tell(&format!("{} runs too: that was the answer for this {scope}", other + 1));
        }
    }
}

/// Returns the scope of the answer. Edited values are no longer those that the question was about.
fn covered(answer: &Answer) -> Option<Remember> {
    let Answer::Approved(approval) = answer else { return None };
    match approval.remembered() {
        Remember::Once => None,
        Remember::Arguments if approval.edited().is_some() => None,
        remember => Some(remember),
    }
}
