//! The commands of a conversation: `/tools` and the others.

use toolcrib_agent::{Conversation, Message, RunReport};
use toolcrib_app::sections::capabilities;
use toolcrib_document::nearest;
use toolcrib_policy::{Principal, RUNTIME_NAMESPACE};

use super::Session;
use crate::commands::{plan, sessions};
use crate::decision_display;
use crate::ui::output::{self, say, tell};
use crate::ui::width::{fit, terminal_width};

/// A command, its argument, and its meaning.
struct Description {
    name: &'static str,
    argument: &'static str,
    meaning: &'static str,
}

const COMMANDS: &[Description] = &[
    Description { name: "tools", argument: "", meaning: "List the tools of the agent." },
    Description { name: "plan", argument: "", meaning: "Show how the tools are offered, and their tokens." },
    Description {
        name: "policy",
        argument: "[TOOL]",
        meaning: "Show the rule that decides about each tool.",
    },
    Description { name: "sessions", argument: "", meaning: "List the stored conversations of the app." },
    Description { name: "cost", argument: "", meaning: "Show what the conversation has used so far." },
    Description { name: "expand", argument: "[N]", meaning: "Show result N whole; the last one without N." },
    Description { name: "undo", argument: "", meaning: "Forget the last exchange. Effects of tools stay." },
    Description { name: "help", argument: "", meaning: "Show these commands and the keys." },
    Description { name: "quit", argument: "", meaning: "End the conversation." },
];

const KEYS: &str = "\
Enter sends, Alt-Enter begins a new line, and pasted lines are one message.
Up and Down walk through earlier messages, and Ctrl-R searches them.
Ctrl-C stops the answer. At an empty prompt twice, or with Ctrl-D, it ends the
conversation. A message that begins with a space is sent as it is.";

/// A line that is a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlashCommand<'a> {
    name: &'a str,
    argument: &'a str,
}

/// The effect of a command on the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterCommand {
    GoOn,
    Quit,
}

/// The usage of all turns of a conversation.
#[derive(Debug, Default)]
pub(super) struct Totals {
    prompts: u64,
    turns: u64,
    calls: u64,
    prompt_tokens: u64,
    completion_tokens: u64,
    /// In millionths of the currency.
    cost: u64,
}

impl Totals {
    pub(super) fn add(&mut self, report: &RunReport) {
        self.prompts += 1;
        self.turns += u64::from(report.turns);
        self.calls += report.calls.len() as u64 + u64::from(report.calls_left_out) + report.spent_below.calls;
        self.prompt_tokens += report.usage.prompt_tokens;
        self.completion_tokens += report.usage.completion_tokens;
        self.cost += report.usage.cost + report.spent_below.cost;
    }

    fn lines(&self) -> String {
        let Self { prompts, turns, calls, prompt_tokens, completion_tokens, cost } = self;
        let cost = match cost {
            0 => "unknown: the model has no price in the app file".to_owned(),
            cost => format!("{}.{:06}", cost / 1_000_000, cost % 1_000_000),
        };
        format!(
            "since the start: {prompts} messages, {turns} turns, {calls} calls\n\
             tokens: {prompt_tokens} read, {completion_tokens} written\ncost: {cost}"
        )
    }
}

/// Returns the command of a line: `/NAME` and an argument. `None` for a message, such as one that begins with a path.
pub(super) fn parse(line: &str) -> Option<SlashCommand<'_>> {
    let text = line.strip_prefix('/')?.trim_end();
    let (name, argument) = text.split_once(' ').unwrap_or((text, ""));
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic());
    (is_name && !text.contains('\n')).then_some(SlashCommand { name, argument: argument.trim() })
}

/// Returns the text about a command that there is not.
fn unknown(name: &str) -> String {
    match nearest(name, COMMANDS.iter().map(|command| command.name)) {
        Some(near) => format!("there is no command `/{name}`; did you mean `/{near}`?"),
        None => format!("there is no command `/{name}`; `/help` lists all"),
    }
}

fn help() -> String {
    let lines = COMMANDS.iter().map(|Description { name, argument, meaning }| {
        let call = format!("/{name} {argument}");
        format!("{call:<15}{meaning}\n")
    });
    lines.collect::<String>() + "\n" + KEYS
}

impl Session<'_> {
    /// Runs a command.
    pub(super) async fn command(&mut self, command: SlashCommand<'_>, totals: &Totals) -> AfterCommand {
        match command.name {
            "tools" => self.tell_tools(),
            "plan" => {
                self.renew();
                plan::print(&self.setup);
            }
            "policy" => self.tell_policy(command.argument),
            "sessions" => {
                let store = self.runtime.app().shared_store();
                if let Err(failure) = sessions::print_list(&self.app, store, false).await {
                    tell(&format!("error: {}", failure.message));
                }
            }
            "cost" => say(&totals.lines()),
            "expand" => match self.results.shown(command.argument) {
                Ok(result) => say(&result),
                Err(problem) => tell(&problem),
            },
            "undo" => self.undo().await,
            "help" => say(&help()),
            "quit" | "exit" => return AfterCommand::Quit,
            name => tell(&unknown(name)),
        }
        AfterCommand::GoOn
    }

    fn tell_tools(&self) {
        let (snapshot, policy) = (self.runtime.snapshot(), self.runtime.executor().policy().clone());
        let rules = &self.runtime.app().config.tools.capabilities;
        let principal = Principal::new(self.id).with_agent(&self.setup.id);
        let rows: Vec<[String; 4]> = snapshot
            .iter()
            .filter(|entry| entry.tool.name.namespace() != RUNTIME_NAMESPACE)
            .filter(|entry| policy.is_visible(&entry.tool, principal))
            .map(|entry| {
                let tool = &entry.tool;
                let decision = decision_display::in_words(&policy.decide(tool, principal), rules);
                let description = output::first_line(&tool.description);
                [tool.name.dotted(), tool.traits().risk.to_string(), decision, description]
            })
            .collect();
        table(&["tool", "risk", "policy", "description"], &rows);
        tell(&format!("{} tools", rows.len()));
    }

    /// Tells which rule decides about the calls of each tool, or of one.
    fn tell_policy(&self, name: &str) {
        let (snapshot, policy) = (self.runtime.snapshot(), self.runtime.executor().policy().clone());
        let rules = &self.runtime.app().config.tools.capabilities;
        let principal = Principal::new(self.id).with_agent(&self.setup.id);
        if name.is_empty() {
            let rows: Vec<[String; 3]> = snapshot
                .iter()
                .filter(|entry| entry.tool.name.namespace() != RUNTIME_NAMESPACE)
                .map(|entry| {
                    let decision = policy.decide(&entry.tool, principal);
                    let words = decision_display::in_words(&decision, rules);
                    [entry.tool.name.dotted(), words, decision.rule.to_string()]
                })
                .collect();
            return table(&["tool", "policy", "decided by"], &rows);
        }
        match snapshot.find(name, |_| true) {
            Err(error) => tell(&format!("error: {error}")),
            Ok(overloads) => {
                for entry in overloads.iter() {
                    let decision = policy.decide(&entry.tool, principal);
                    let words = decision_display::in_words(&decision, rules);
                    say(&format!("{}: {words}", entry.tool.name.dotted()));
                    say(&format!("  decided by: {}", decision.rule));
                    say(&format!("  because: {}", capabilities::reason(&decision)));
                    say(&format!("  risk: {}   source: {}", entry.tool.traits().risk, entry.source));
                }
            }
        }
    }

    /// Removes the last prompt, and all that followed from it, from the conversation.
    async fn undo(&mut self) {
        let undone = match &self.file {
            Some(file) => file.undo().await.map_err(|error| error.to_string()),
            None => Ok(without_last_exchange(&self.conversation)),
        };
        match undone {
            Ok(Some(conversation)) => {
                self.conversation = conversation;
                tell("the last exchange is forgotten; the effects of its tools stay");
            }
            Ok(None) => tell("there is nothing to undo"),
            Err(error) => tell(&format!("error: the last exchange cannot be forgotten: {error}")),
        }
    }
}

/// Returns the conversation before the last prompt. `None` if there is no prompt.
fn without_last_exchange(conversation: &Conversation) -> Option<Conversation> {
    let messages = conversation.messages();
    let prompt = messages.iter().rposition(|message| matches!(message, Message::User { .. }))?;
    Some(Conversation::from_messages(messages.get(..prompt)?.to_vec()))
}

/// Prints a table, each row on one line of the terminal.
fn table<const N: usize>(head: &[&str; N], rows: &[[String; N]]) {
    let width = terminal_width();
    for line in output::table_lines(head, rows) {
        say(&fit(&line, width));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_command_only_if_it_begins_with_a_slash_and_a_word() {
        let command = |name, argument| Some(SlashCommand { name, argument });
        assert_eq!(parse("/help"), command("help", ""));
        assert_eq!(parse("/expand  12 \n"), command("expand", "12"));
        for message in ["help", " /help", "/", "/etc/passwd", "/2", "/tools\nand more", "/ tools"] {
            assert_eq!(parse(message), None, "{message}");
        }
    }

    #[test]
    fn an_unknown_command_is_told_with_the_nearest() {
        assert_eq!(unknown("tool"), "there is no command `/tool`; did you mean `/tools`?");
        assert_eq!(unknown("session"), "there is no command `/session`; did you mean `/sessions`?");
        assert_eq!(unknown("zzz"), "there is no command `/zzz`; `/help` lists all");
    }

    #[test]
    fn help_names_each_command_within_80_columns() {
        let help = help();
        assert!(COMMANDS.iter().all(|command| help.contains(&format!("/{}", command.name))));
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        insta::assert_snapshot!(help);
    }

    #[test]
    fn an_exchange_is_taken_back_with_all_that_followed_from_it() {
        let user = |content: &str| Message::User { content: content.into() };
        let conversation = Conversation::from_messages(vec![user("one"), user("two")]);
        let before = without_last_exchange(&conversation).unwrap();
        assert_eq!(before.messages(), [user("one")]);
        let empty = without_last_exchange(&before).unwrap();
        assert!(empty.messages().is_empty());
        assert!(without_last_exchange(&empty).is_none());
    }
}
