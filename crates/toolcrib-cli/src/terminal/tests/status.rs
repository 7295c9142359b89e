//! The line that says what is happening.

use super::interleavings::FakeTerminal;
use crate::terminal::{Author, Stream};

/// The sequence that erases the line.
const ERASED: &str = "\r\u{1b}[K";

#[test]
fn it_stands_below_all_output_and_waits_for_the_end_of_a_line() {
    let terminal = FakeTerminal::new();
    terminal.show_status(Some("waiting"));
    terminal.write(Stream::Out, Author::Model, "Hello, ");
    assert_eq!(terminal.shown(), format!("waiting{ERASED}Hello, "));
    terminal.write(Stream::Err, Author::Program, "you.\n");
    terminal.show_status(Some("running"));
    terminal.show_status(None);
    terminal.write(Stream::Out, Author::Model, "End.\n");
    assert_eq!(terminal.shown(), format!("waiting{ERASED}Hello, you.\nwaiting{ERASED}running{ERASED}End.\n"));
}

#[tokio::test]
async fn a_dialogue_has_the_screen_to_itself() {
    let terminal = FakeTerminal::new();
    terminal.show_status(Some("waiting"));
    let dialogue = terminal.console.dialogue().await;
    dialogue.tell("may it?");
    terminal.show_status(Some("running"));
    terminal.write(Stream::Out, Author::Model, "Hello.\n");
    assert_eq!(terminal.shown(), format!("waiting{ERASED}may it?\n"));
    dialogue.close();
    assert_eq!(terminal.shown(), format!("waiting{ERASED}may it?\nHello.\nrunning"));
}
