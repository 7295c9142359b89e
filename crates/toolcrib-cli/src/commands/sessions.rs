//! `toolcrib sessions`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use toolcrib_agent::Message;
use toolcrib_app::{App, Extensions};
use toolcrib_tasks::store::LazyStore;

use crate::app_start::{app_word, name_app};
use crate::arguments::{Sessions, SessionsCommand};
use crate::exit::{Exit, Failure};
use crate::session::{StoredConversation, age, list, read, remove};
use crate::ui::output;
use crate::ui::printable::{Layout, excerpt, printable};

/// The most bytes of the arguments of a call, and of a result, in what is shown of a conversation.
const MAX_CALL_BYTES: usize = 200;

pub(crate) async fn run(arguments: &Sessions, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let app = arguments.app.as_path();
    if !app.is_file() {
        return Err(Failure::bad_input(format!("{}: there is no such app file", app.display())));
    }
    name_app(app);
    let store = App::open_with(app, extensions.clone())?.shared_store().cloned();
    let store = store.as_ref();
    match arguments.command.as_ref().unwrap_or(&SessionsCommand::List) {
        SessionsCommand::List => print_list(app, store, json).await?,
        SessionsCommand::Show { id } => show(&read(app, store, id).await?, json),
        SessionsCommand::Rm { ids } => {
            for id in ids {
                remove(app, store, id).await?;
                if !json {
                    output::say(&format!("removed: {id}"));
                }
            }
            if json {
                output::json(&json!({"removed": ids}));
            }
        }
        SessionsCommand::Export { id, output } => {
            export(&read(app, store, id).await?, output.as_deref(), json)?;
        }
    }
    Ok(Exit::Ok)
}

pub(crate) async fn print_list(
    app: &Path,
    store: Option<&Arc<LazyStore>>,
    json: bool,
) -> Result<(), Failure> {
    let (sessions, count) = list(app, store).await?;
    if json {
        output::json(&json!({"sessions": sessions, "count": count}));
        return Ok(());
    }
    if sessions.is_empty() {
        output::tell(&format!(
            "there are no sessions; `toolcrib run {} --session ID` begins one",
            app_word()
        ));
        return Ok(());
    }
    let left_out = count - sessions.len();
    let rows: Vec<[String; 5]> = sessions
        .into_iter()
        .map(|session| {
            let agent = session.agent.unwrap_or_else(|| "(cannot be read)".to_owned());
            let size = format!("{} KiB", session.bytes.div_ceil(1024));
            [session.id, agent, age(session.changed), size, session.prompt.unwrap_or_default()]
        })
        .collect();
    output::table(&["session", "agent", "last used", "size", "first prompt"], &rows);
    if left_out > 0 {
        output::tell(&format!("and {left_out} older ones"));
    }
    Ok(())
}

fn document(stored: &StoredConversation) -> serde_json::Value {
    json!({
        "session": stored.id,
        "agent": stored.agent,
        "unfinished": stored.conversation.is_open(),
        "messages": stored.conversation.messages(),
    })
}

fn show(stored: &StoredConversation, json: bool) {
    if json {
        return output::json(&document(stored));
    }
    for message in stored.conversation.messages() {
        output::say(lines(message).trim_end());
    }
    if stored.conversation.is_open() {
        let id = &stored.id;
        output::tell(&format!(
            "the last run was interrupted; `toolcrib run {} --session {id}` continues it",
            app_word()
        ));
    }
}

/// Returns a message as `toolcrib run` shows it.
fn lines(message: &Message) -> String {
    match message {
        Message::User { content } => format!("\n> {}\n", content.trim()),
        Message::Assistant { content, tool_calls, .. } => {
            let mut text = content.trim().to_owned();
            for call in tool_calls {
                // Writing to a string cannot fail.
                let _ = write!(text, "\n-> {} {}", call.name, excerpt(&call.arguments, MAX_CALL_BYTES));
            }
            text.trim_start_matches('\n').to_owned()
        }
        Message::Tool { content, .. } => format!("   {}", excerpt(content, MAX_CALL_BYTES)),
        Message::Pictures { pictures } => format!("   ({} pictures)", pictures.len()),
        _ => String::new(),
    }
}

fn export(stored: &StoredConversation, path: Option<&Path>, json: bool) -> Result<(), Failure> {
    let text = if json { format!("{:#}\n", document(stored)) } else { markdown(stored) };
    let Some(path) = path else {
        if json {
            output::json(&document(stored));
        } else {
            output::result_text(text.trim_end());
        }
        return Ok(());
    };
    let written = File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", path.display())))?;
    if json {
        output::json(&json!({"session": stored.id, "file": path}));
    } else {
        output::say(&format!("wrote {}", path.display()));
    }
    Ok(())
}

/// Returns the conversation as a document for people.
fn markdown(stored: &StoredConversation) -> String {
    let mut text = format!("# Session {}\n\nAgent: {}\n", stored.id, stored.agent);
    for message in stored.conversation.messages() {
        // Writing to a string cannot fail.
        let _ = match message {
            Message::User { content } => write!(text, "\n## User\n\n{}\n", content.trim()),
            Message::Assistant { content, tool_calls, .. } => {
                let _ = write!(text, "\n## Agent\n\n{}\n", content.trim());
                tool_calls.iter().try_for_each(|call| {
                    write!(text, "\nCalls `{}`:\n\n{}\n", call.name, fenced(&call.arguments))
                })
            }
            Message::Tool { name, content, .. } => {
                write!(text, "\n### Result of `{name}`\n\n{}\n", fenced(content))
            }
            Message::Pictures { pictures } => write!(text, "\n({} pictures)\n", pictures.len()),
            _ => Ok(()),
        };
    }
    printable(&text, Layout::Lines)
}

/// Returns a text in a code block, behind a fence that is longer than any within.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}\n{}\n{fence}", text.trim_end())
}
