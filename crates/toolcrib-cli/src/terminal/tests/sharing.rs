//! A dialogue, the chat prompt and output that share a terminal.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::interleavings::FakeTerminal;
use crate::terminal::{Author, ConsoleDialogue, Stream};

/// The longest time that anything takes here.
const PATIENCE: Duration = Duration::from_secs(10);

fn chat(terminal: &FakeTerminal) -> JoinHandle<Option<String>> {
    let console = Arc::clone(&terminal.console);
    tokio::spawn(async move { console.line("> ").await })
}

/// Lets all tasks go on as far as they can.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

async fn dialogue(terminal: &FakeTerminal) -> ConsoleDialogue {
    timeout(PATIENCE, terminal.console.dialogue()).await.expect("a dialogue")
}

#[tokio::test]
async fn output_waits_while_a_dialogue_is_open_and_comes_in_order_after_it() {
    let terminal = FakeTerminal::new();
    terminal.write(Stream::Out, Author::Model, "before ");
    let dialogue = dialogue(&terminal).await;
    terminal.write(Stream::Out, Author::Model, "a cup of coffee? ");
    terminal.write(Stream::Err, Author::Program, "tasks: 1\n");
    dialogue.tell("may it?");
    assert_eq!(terminal.shown(), "before may it?\n");
    dialogue.close();
    assert_eq!(terminal.shown(), "before may it?\na cup of coffee? tasks: 1\n");
}

#[tokio::test]
async fn a_dialogue_interrupts_the_chat_prompt_and_what_was_typed_there_answers_nothing() {
    let terminal = FakeTerminal::new();
    let line = chat(&terminal);
    settle().await;
    terminal.types("yes");
    let dialogue = dialogue(&terminal).await;
    assert!(dialogue.is_interruption());
    let answering = tokio::spawn(async move {
        let answer = dialogue.ask("may it?", "? ").await;
        dialogue.close();
        answer
    });
    settle().await;
    terminal.types("\n");
    terminal.pump();
    assert_eq!(answering.await.unwrap().as_deref(), Some("\n"));
    settle().await;
    terminal.types("hello\n");
    terminal.pump();
    assert_eq!(line.await.unwrap().as_deref(), Some("hello\n"));
    assert_eq!(terminal.shown(), "> \nmay it?\n? > ");
}

#[tokio::test]
async fn a_dialogue_after_a_models_words_or_a_withdrawn_question_is_an_interruption() {
    let terminal = FakeTerminal::new();
    terminal.write(Stream::Out, Author::Model, "coffee?");
    let first = dialogue(&terminal).await;
    assert!(first.is_interruption());
    first.close();
    terminal.write(Stream::Err, Author::Program, "-> filesystem.delete {}\n");
    let second = dialogue(&terminal).await;
    assert!(!second.is_interruption());
    // Nobody waits for its answer any more.
    drop(second);
    assert!(terminal.shown().ends_with("(withdrawn: this question no longer waits for an answer)\n"));
    assert!(dialogue(&terminal).await.is_interruption());
}

#[tokio::test]
async fn an_answer_to_a_withdrawn_question_is_told_that_it_came_too_late() {
    let terminal = FakeTerminal::new();
    drop(dialogue(&terminal).await);
    terminal.types("y\n");
    terminal.pump();
    assert!(
        terminal.shown().ends_with("too late: the question was withdrawn, and your answer has no effect\n")
    );
    // It is no line of the conversation either.
    let line = chat(&terminal);
    settle().await;
    terminal.types("hello\n");
    terminal.pump();
    assert_eq!(line.await.unwrap().as_deref(), Some("hello\n"));
}

#[tokio::test]
async fn no_dialogue_is_left_when_the_wait_for_that_ends() {
    let terminal = FakeTerminal::new();
    let (first, console) = (dialogue(&terminal).await, Arc::clone(&terminal.console));
    let second = tokio::spawn(async move { console.dialogue().await.close() });
    settle().await;
    let console = Arc::clone(&terminal.console);
    let waiting = tokio::spawn(async move { console.no_dialogue().await });
    settle().await;
    assert!(!waiting.is_finished());
    first.close();
    timeout(PATIENCE, waiting).await.expect("an end").unwrap();
    assert!(second.is_finished());
}

#[tokio::test]
async fn pasted_lines_are_one_message_and_an_empty_line_is_a_line() {
    let terminal = FakeTerminal::new();
    let line = chat(&terminal);
    settle().await;
    terminal.types("\u{1b}[200~fix this:\n\nplease\u{1b}[201~\n");
    for _ in 0..3 {
        terminal.pump();
        settle().await;
    }
    assert_eq!(line.await.unwrap().as_deref(), Some("fix this:\n\nplease\n"));
    let line = chat(&terminal);
    settle().await;
    terminal.types("\n");
    terminal.pump();
    assert_eq!(line.await.unwrap().as_deref(), Some("\n"));
}
