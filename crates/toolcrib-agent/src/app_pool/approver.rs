//! The approver of the calling app, used by the called app.

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_model::{UserAnswer, UserQuestion};
use toolcrib_port::{ApprovalRequest, Approver, CallContext};

/// The approver of a called app. It asks the approver of the caller, and names the app.
pub struct AppApprover {
    name: String,
    approver: Arc<dyn Approver>,
}

impl AppApprover {
    /// Creates the approver of the app with this name.
    pub fn new(name: &str, approver: Arc<dyn Approver>) -> Self {
        Self { name: name.to_owned(), approver }
    }

    /// Returns the agent as a person is told it.
    fn agent(&self, agent: Option<&str>) -> String {
        match agent {
            Some(agent) => format!("{}: {agent}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Brings back what was answered, also where the time for answers is over before all is.
struct Relay<'a> {
    asked: &'a mut [ApprovalRequest],
    passed_on: Vec<ApprovalRequest>,
}

impl Drop for Relay<'_> {
    fn drop(&mut self) {
        for (asked, passed_on) in self.asked.iter_mut().zip(&mut self.passed_on) {
            asked.answer = passed_on.answer.take();
        }
    }
}

#[async_trait]
impl Approver for AppApprover {
    async fn ask(&self, batch: &mut [ApprovalRequest], context: &CallContext) {
        let named = |asked: &ApprovalRequest| {
            let mut question = asked.question().clone();
            question.agent = Some(self.agent(question.agent.as_deref()));
            ApprovalRequest::new(question)
        };
        let passed_on = batch.iter().map(named).collect();
        let mut relay = Relay { asked: batch, passed_on };
        self.approver.ask(&mut relay.passed_on, context).await;
    }

    async fn available(&self) {
        self.approver.available().await;
    }

    async fn ask_user(&self, question: &UserQuestion, context: &CallContext) -> UserAnswer {
        let mut question = question.clone();
        question.agent = Some(self.agent(question.agent.as_deref()).into());
        self.approver.ask_user(&question, context).await
    }

    fn has_user(&self) -> bool {
        self.approver.has_user()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use toolcrib_model::{QualifiedName, Tool};
    use toolcrib_policy::{Call, Capabilities, Effect, PendingApproval, Policy, Verdict};
    use toolcrib_port::Answer;

    use super::{
        AppApprover, ApprovalRequest, Approver, Arc, CallContext, UserAnswer, UserQuestion, async_trait,
    };

    /// Answers the first question, and thinks about the others for ever.
    struct Slow;

    #[async_trait]
    impl Approver for Slow {
        async fn ask(&self, batch: &mut [ApprovalRequest], _context: &CallContext) {
            assert!(batch.iter().all(|asked| asked.question().agent.as_deref() == Some("shop: clerk")));
            let approval = batch[0].question().approve();
            batch[0].answer = Some(Answer::Approved(approval));
            std::future::pending::<()>().await;
        }

        async fn ask_user(&self, question: &UserQuestion, _context: &CallContext) -> UserAnswer {
            UserAnswer::Denied(question.agent.as_deref().map(str::to_owned))
        }
    }

    fn pending(policy: &Policy) -> PendingApproval {
        let call = Call::new(Arc::new(Tool::new(QualifiedName::new("a", "b").unwrap())), "a".into(), 1);
        let principal = toolcrib_policy::Principal::new("s").with_agent("clerk");
        match policy.authorize(call, principal) {
            Verdict::Ask(pending) => *pending,
            _ => panic!("it is not asked about"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_answered_before_the_time_was_over_counts_for_the_very_call() {
        let asks = Capabilities { default_policy: Effect::Approve, ..Capabilities::default() };
        let policy = Policy::new(&asks, []).unwrap();
        let calls = [pending(&policy), pending(&policy)];
        let mut batch = calls.each_ref().map(|call| ApprovalRequest::new(call.question()));
        let approver = AppApprover::new("shop", Arc::new(Slow));
        tokio::time::timeout(Duration::from_secs(1), approver.ask(&mut batch, &CallContext::new("s")))
            .await
            .unwrap_err();
        assert_eq!(batch[1].answer, None);
        assert_eq!(batch[0].question().agent.as_deref(), Some("clerk"), "the question itself is as it was");
        let Some(Answer::Approved(approval)) = batch[0].answer.take() else { panic!("no answer") };
        let [first, _] = calls;
        assert!(first.approve(&approval, &toolcrib_policy::Approvals::new()).is_ok());
    }

    #[tokio::test]
    async fn what_an_agent_asks_its_user_names_the_app_too() {
        let question = UserQuestion::new("s", "Sure?");
        let approver = AppApprover::new("shop", Arc::new(Slow));
        assert_eq!(
            approver.ask_user(&question, &CallContext::new("s")).await,
            UserAnswer::Denied(Some("shop".to_owned()))
        );
    }
}
