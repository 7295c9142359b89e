//! A run, as a person watches it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolcrib_agent::Observer;
use toolcrib_agent::observer::Compacted;
use toolcrib_model::{ToolCall, ToolResult};

use crate::arguments::Reasoning;
use crate::terminal::{Stream, screen};
use crate::ui::activity::{Activity, ActivityDetail};
use crate::ui::markdown::MarkdownStream;
use crate::ui::output::{say_model, tell_model, tell_raw};
use crate::ui::printable::{Layout, excerpt, printable};
use crate::ui::results::Results;
use crate::ui::style::{END, Meaning, is_colourful};
use crate::ui::width::{fit, terminal_width, width};

/// The most bytes of a call's arguments, or of its outcome, on one line.
const MAX_SHOWN_BYTES: usize = 100;

/// The columns of a line of a result around its text: the indent, the longest mark, and the number of the result.
const AROUND_RESULT: usize = 16;

/// Writes the answer to standard output as it comes, and a line for each call to standard error.
pub(crate) struct Watcher<'a> {
    colour: bool,
    is_mid_line: bool,
    reasoning: Reasoning,
    /// True if the last output is reasoning, and its line has not ended.
    is_thinking: bool,
    /// The number of running calls, and of those that began together.
    running: usize,
    together: usize,
    /// Keeps the results that are not shown whole, if they can be asked for.
    results: Option<&'a mut Results>,
    /// The text of a message that may be the answer, if answers have a schema.
    held: Option<String>,
    /// Lays out the answer, if a person reads it.
    markdown: Option<MarkdownStream>,
    activity: Activity,
    /// The width of the terminal to which calls and results are written, each on a line.
    columns: Option<usize>,
    /// The names of the running calls.
    names: Vec<String>,
}

/// The activity while no call runs.
const MODEL_ACTIVITY: &str = "waiting for the model";

impl<'a> Watcher<'a> {
    /// Creates an observer. With `has_schema`, it does not write the answer, whose value is
    /// written when it is known.
    pub(crate) fn new(reasoning: Reasoning, results: Option<&'a mut Results>, has_schema: bool) -> Self {
        let (is_mid_line, is_thinking) = (false, false);
        let colour = is_colourful();
        let markdown =
            screen().is_terminal(Stream::Out).then(|| MarkdownStream::new(terminal_width(), colour));
        let activity = Activity::start(MODEL_ACTIVITY);
        let columns = screen().is_terminal(Stream::Err).then(terminal_width);
        let names = Vec::new();
        Self {
            colour,
            is_mid_line,
            reasoning,
            is_thinking,
            running: 0,
            together: 0,
            results,
            held: has_schema.then(String::new),
            markdown,
            activity,
            columns,
            names,
        }
    }

    /// Returns a listener that shows the progress of calls.
    pub(crate) fn progress(&self) -> Arc<ActivityDetail> {
        self.activity.detail()
    }

    /// Says which calls run, or that the model is waited for.
    fn show_activity(&self) {
        if self.names.is_empty() {
            self.activity.set(MODEL_ACTIVITY);
        } else {
            self.activity.set(&format!("running {}", self.names.join(", ")));
        }
    }

    fn end_line(&mut self) {
        self.end_thought();
        if let Some(markdown) = &mut self.markdown {
            say_finished(&markdown.finish());
        } else if self.is_mid_line {
            say_model("\n");
            self.is_mid_line = false;
        }
    }

    /// Shows a message that is not the answer.
    fn show_held(&mut self) {
        if let Some(held) = self.held.as_mut().map(std::mem::take).filter(|held| !held.is_empty()) {
            tell_model(&format!("{}\n", held.trim_end()));
        }
    }

    fn end_thought(&mut self) {
        if std::mem::take(&mut self.is_thinking) {
            tell_raw(if self.colour { END } else { "" });
            tell_raw("\n");
        }
    }

    fn mark(&self, ok: bool) -> String {
        let (meaning, word) = if ok { (Meaning::Success, "ok") } else { (Meaning::Failure, "failed") };
        if self.colour { meaning.paint(word) } else { word.to_owned() }
    }
}

/// Ends the last line of the output, also if a turn is interrupted.
impl Drop for Watcher<'_> {
    fn drop(&mut self) {
        self.end_line();
    }
}

impl Observer for Watcher<'_> {
    fn on_reasoning(&mut self, text: &str) {
        if self.reasoning == Reasoning::Hide || text.is_empty() {
            return;
        }
        if !self.is_thinking {
            self.end_line();
            tell_raw(if self.colour { Meaning::Aside.begin() } else { "(thinking) " });
            self.is_thinking = true;
        }
        tell_model(&printable(text, Layout::Lines));
    }

    fn on_shortened(&mut self, what: Compacted) {
        self.end_line();
        tell_raw(&match what {
            Compacted::Results(count) => format!("-- {count} older results were put aside to make room\n"),
            Compacted::Summarized => "-- the older part of the conversation is a summary now\n".to_owned(),
            _ => "-- the older part of the conversation was dropped to make room\n".to_owned(),
        });
    }

    fn on_text(&mut self, text: &str) {
        self.end_thought();
        let text = printable(text, Layout::Lines);
        if let Some(held) = &mut self.held {
            self.activity.set("the model is writing");
            held.push_str(&text);
            return;
        }
        if let Some(markdown) = &mut self.markdown {
            self.activity.set("the model is writing");
            say_finished(&markdown.push(&text));
            return;
        }
        say_model(&text);
        if let Some(last) = text.chars().last() {
            self.is_mid_line = last != '\n';
        }
    }

    fn on_turn_finished(&mut self) {
        self.end_line();
    }

    fn on_notice(&mut self, text: &str) {
        self.end_line();
        self.show_held();
        let note = format!("note: {}", printable(text, Layout::Line));
        tell_raw(&format!("{}\n", if self.colour { Meaning::Caution.paint(&note) } else { note }));
    }

    fn on_call_unreadable(&mut self, name: &str, arguments: &str) {
        self.end_line();
        self.show_held();
        tell_raw(&format!("-> {} {}\n", shown(name), shortened(arguments)));
    }

    fn on_call_started(&mut self, call: &ToolCall) {
        self.end_line();
        self.show_held();
        self.running += 1;
        self.together = if self.running == 1 { 1 } else { self.together + 1 };
        let name = shown(&call.name);
        self.names.push(name.clone());
        self.show_activity();
        let arguments = shortened(&Value::Object(call.arguments.clone()).to_string());
        let line = format!("-> {name} {arguments}");
        tell_raw(&(self.columns.map_or_else(|| line.clone(), |columns| fit(&line, columns)) + "\n"));
    }

    fn on_call_finished(&mut self, result: &ToolResult, elapsed: Duration) {
        let outcome = match &result.error {
            None => match &result.result {
                Value::String(text) => Value::String(text.trim().to_owned()).to_string(),
                other => other.to_string(),
            },
            Some(error) => error.to_string(),
        };
        // Of several at once it has to be said which one it was.
        let which = if self.together > 1 { format!(" {}", shown(&result.name)) } else { String::new() };
        let behind_mark = format!("{which} in {} ms: ", elapsed.as_millis());
        let room = self.columns.map(|columns| columns.saturating_sub(AROUND_RESULT + width(&behind_mark)));
        let whole = shortened(&outcome);
        let line = room.map_or_else(|| whole.clone(), |room| fit(&whole, room));
        let number = match &mut self.results {
            Some(results) if outcome.len() > MAX_SHOWN_BYTES || line != whole => {
                format!(" [{}]", results.keep(&shown(&result.name), result))
            }
            _ => String::new(),
        };
        let mark = self.mark(result.is_ok());
        tell_raw(&format!("   {mark}{behind_mark}{line}{number}\n"));
        self.running = self.running.saturating_sub(1);
        if self.running == 0 {
            self.together = 0;
        }
        let name = shown(&result.name);
        if let Some(at) = self.names.iter().position(|running| *running == name) {
            self.names.remove(at);
        }
        self.show_activity();
    }
}

/// Writes the blocks of an answer that are whole. Nothing is no output of the model, by which questions are judged.
fn say_finished(blocks: &str) {
    if !blocks.is_empty() {
        say_model(blocks);
    }
}

/// Returns the name of a tool as people read it.
fn shown(name: &str) -> String {
    shortened(&name.replacen("::", ".", 1))
}

/// Returns the beginning, on one line.
fn shortened(text: &str) -> String {
    let line: Vec<&str> = text.lines().collect();
    excerpt(&line.join(" "), MAX_SHOWN_BYTES)
}
