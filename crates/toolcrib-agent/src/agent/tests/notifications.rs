//! What happened beside the conversation.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use toolcrib_port::CallContext;

use super::{Caller, agent, call, calls, limited, says, scripted};
use crate::notifications::{Note, NotificationQueue};
use crate::{Conversation, Message, Outcome, RunLimits};

/// Has notes until they were told.
#[derive(Default)]
struct Letters(Mutex<Vec<Note>>);

impl Letters {
    fn put(&self, text: &str) {
        let mut notes = self.0.lock();
        notes.push(Note { id: text.to_owned(), text: text.to_owned() });
    }
}

#[async_trait]
impl NotificationQueue for Letters {
    async fn pending(&self, context: &CallContext, most: usize) -> Vec<Note> {
        assert_eq!((&*context.session, context.agent.as_deref()), ("session", Some("assistant")));
        self.0.lock().iter().take(most).cloned().collect()
    }

    async fn acknowledge(&self, _context: &CallContext, notes: Vec<Note>) {
        self.0.lock().retain(|note| !notes.contains(note));
    }
}

#[tokio::test]
async fn the_model_is_told_at_its_next_turn_what_happened_meanwhile_and_once() {
    let inbox = Arc::new(Letters::default());
    inbox.put("the build has ended");
    let during = Arc::clone(&inbox);
    let model = scripted(move |turn, _| match turn {
        1 => {
            during.put("the tests have ended");
            calls(vec![call("a", "notes__search", "{}")])
        }
        _ => says("Done."),
    });
    let (agent, mut conversation) = (agent().with_notifications(inbox.clone()), Conversation::new());
    let context = CallContext::new("session");
    let report = agent.run("Go.", &mut conversation, &model, &Caller::default(), &context, &mut ()).await;
    assert_eq!((report.turns, report.text.as_str()), (2, "Done."));
    let [Message::User { content: prompt }, _, Message::Tool { note, .. }, _] = conversation.messages()
    else {
        panic!("{conversation:?}");
    };
    assert!(prompt.starts_with("Go.") && prompt.contains("the build has ended"), "{prompt}");
    assert!(note.contains("the tests have ended") && !note.contains("the build"), "{note}");
    assert!(inbox.0.lock().is_empty());
}

#[tokio::test]
async fn an_inbox_that_never_empties_keeps_no_run_from_its_end() {
    /// Always has something new.
    struct Endless;
    #[async_trait]
    impl NotificationQueue for Endless {
        async fn pending(&self, _context: &CallContext, most: usize) -> Vec<Note> {
            vec![Note { id: "n".to_owned(), text: "again".to_owned() }; most]
        }
        async fn acknowledge(&self, _context: &CallContext, _notes: Vec<Note>) {}
    }
    let model = scripted(|_, _| calls(vec![call("", "notes__search", "{}")]));
    let agent =
        limited(RunLimits { max_turns: 2, ..RunLimits::default() }).with_notifications(Arc::new(Endless));
    let (mut conversation, context) = (Conversation::new(), CallContext::new("session"));
    let report = agent.run("Go.", &mut conversation, &model, &Caller::default(), &context, &mut ()).await;
    assert!(matches!(report.outcome, Outcome::LimitReached { .. }), "{report:?}");
    // Two turns, and the last answer, which nothing is told before.
    assert_eq!(report.turns, 3);
    let told: usize = conversation
        .messages()
        .iter()
        .map(|message| match message {
            Message::User { content } => content.matches("again").count(),
            Message::Tool { note, .. } => note.matches("again").count(),
            _ => 0,
        })
        .sum();
    assert_eq!(told, 20);
}
