//! A real terminal, and the recipients of what is typed there.

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::time::timeout;
use toolcrib_testkit::TestTerminal;

use crate::terminal::keyboard::Keyboard;
use crate::terminal::tty;

/// How long anything may take here before the test fails.
const PATIENCE: Duration = Duration::from_secs(10);

/// A terminal with somebody at it.
struct Typist {
    fingers: File,
    terminal: File,
    keyboard: Arc<Keyboard>,
}

impl Typist {
    fn new() -> Self {
        let TestTerminal { seat: fingers, terminal, .. } = TestTerminal::open().unwrap();
        let keyboard = Arc::new(Keyboard::new(terminal.try_clone().map(tty::open)));
        Self { fingers, terminal, keyboard }
    }

    fn types(&mut self, text: &str) {
        self.fingers.write_all(text.as_bytes()).unwrap();
    }

    /// Types a line, and waits until it lies ready to be read.
    fn types_ahead(&mut self, line: &str) {
        self.types(line);
        let patience = Timespec { tv_sec: 10, tv_nsec: 0 };
        let ready = poll(&mut [PollFd::new(&self.terminal, PollFlags::IN)], Some(&patience)).unwrap();
        assert_eq!(ready, 1, "what is typed arrives");
    }

    /// Waits until somebody waits for a line, and has not given up.
    async fn is_asked(&self) {
        let asked = async {
            while !self.keyboard.shared().is_reading() {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, asked).await.expect("a question");
    }

    fn question(&self) -> tokio::task::JoinHandle<Option<String>> {
        let keyboard = Arc::clone(&self.keyboard);
        tokio::spawn(async move { keyboard.answer(|| {}).await })
    }

    /// A question that is given up before a late answer to it is typed.
    async fn gives_up_a_question(&mut self) {
        let question = self.question();
        self.is_asked().await;
        question.abort();
        assert!(question.await.unwrap_err().is_cancelled());
        self.types_ahead("y\n");
    }
}

async fn settled(question: tokio::task::JoinHandle<Option<String>>) -> Option<String> {
    timeout(PATIENCE, question).await.expect("an answer").unwrap()
}

#[tokio::test]
async fn what_was_typed_before_a_question_does_not_answer_it() {
    let mut typist = Typist::new();
    // A line that has not ended counts as little.
    typist.types_ahead("y\ny");
    let question = typist.question();
    typist.is_asked().await;
    typist.types("no\n");
    assert_eq!(settled(question).await.as_deref(), Some("no\n"));
}

#[tokio::test]
async fn a_question_that_was_given_up_leaves_the_keyboard_to_the_next() {
    let mut typist = Typist::new();
    typist.gives_up_a_question().await;
    let next = typist.question();
    typist.is_asked().await;
    typist.types("no\n");
    assert_eq!(settled(next).await.as_deref(), Some("no\n"));
}

#[tokio::test]
async fn the_late_answer_to_a_question_is_no_line_of_the_conversation() {
    let mut typist = Typist::new();
    typist.gives_up_a_question().await;
    let keyboard = Arc::clone(&typist.keyboard);
    let line = tokio::spawn(async move { keyboard.line().await });
    typist.is_asked().await;
    typist.types("hello\n");
    assert_eq!(settled(line).await.as_deref(), Some("hello\n"));
}

#[tokio::test]
async fn a_conversation_may_be_typed_ahead() {
    let mut typist = Typist::new();
    typist.types_ahead("one\ntwo\n");
    for expected in ["one\n", "two\n"] {
        let line = timeout(PATIENCE, typist.keyboard.line()).await.expect("a line");
        assert_eq!(line.as_deref(), Some(expected));
    }
}

#[tokio::test]
async fn ctrl_d_ends_the_input_once() {
    let mut typist = Typist::new();
    typist.types_ahead("\u{4}");
    assert_eq!(timeout(PATIENCE, typist.keyboard.line()).await.expect("an end"), None);
    typist.types("more\n");
    let line = timeout(PATIENCE, typist.keyboard.line()).await.expect("a line");
    assert_eq!(line.as_deref(), Some("more\n"));
}

#[tokio::test]
async fn the_late_answer_to_a_withdrawn_question_is_told_so_until_the_next_line_is_wanted() {
    let mut typist = Typist::new();
    let (sender, mut told) = tokio::sync::mpsc::unbounded_channel();
    typist.keyboard.expect_late_answers(Box::new(move || sender.send(()).unwrap()));
    for answer in ["y\n", "yes\n"] {
        typist.types(answer);
        timeout(PATIENCE, told.recv()).await.expect("a note").unwrap();
    }
    let keyboard = Arc::clone(&typist.keyboard);
    let line = tokio::spawn(async move { keyboard.line().await });
    // The reader of late answers is gone.
    assert_eq!(timeout(PATIENCE, told.recv()).await.expect("an end"), None);
    typist.types("hello\n");
    assert_eq!(settled(line).await.as_deref(), Some("hello\n"));
}

#[tokio::test]
async fn a_terminal_that_cannot_be_opened_gives_no_answer() {
    let keyboard = Keyboard::new(Err(std::io::ErrorKind::NotFound.into()));
    assert_eq!(timeout(PATIENCE, keyboard.answer(|| {})).await.expect("an end"), None);
}
