//! Whom an approver with clients asks.

use std::sync::Arc;

use async_trait::async_trait;
use toolcrib_exec::Callback;
use toolcrib_model::{Tool, UserAnswer, UserQuestion};
use toolcrib_policy::{Call, Capabilities, Policy, Principal, Verdict};
use toolcrib_port::{Answer, ApprovalRequest, CallContext, ClientPrompter};

use super::ClientApprover;

/// A client whose user denies everything, if the client can ask.
struct Client {
    can_ask: bool,
}

fn denial(who: &str) -> UserAnswer {
    UserAnswer::Denied(Some(who.to_owned()))
}

#[async_trait]
impl ClientPrompter for Client {
    async fn ask(&self, batch: &mut [ApprovalRequest]) -> bool {
        for asked in batch.iter_mut().filter(|_| self.can_ask) {
            asked.answer = Some(Answer::Denied(Some("client".to_owned())));
        }
        self.can_ask
    }

    async fn ask_user(&self, _question: &UserQuestion) -> Option<UserAnswer> {
        self.can_ask.then(|| denial("client"))
    }
}

#[tokio::test]
async fn the_user_of_the_client_that_made_the_call_is_asked_and_else_the_operator() {
    let operator = Callback::new(|_| async { Answer::Denied(Some("operator".to_owned())) })
        .with_user(|_| async { denial("operator") });
    let approver = ClientApprover::new(Arc::new(operator));
    let policy = Policy::new(&Capabilities::default(), []).unwrap();
    let tool = Arc::new(Tool::new("files::write".parse().unwrap()));
    let Verdict::Ask(pending) = policy.authorize(Call::new(tool, "test".into(), 1), Principal::new("s"))
    else {
        panic!("no approval is needed")
    };
    for (can_ask, who) in [(Some(true), "client"), (Some(false), "operator"), (None, "operator")] {
        let mut context = CallContext::new("s");
        context.reply_to = can_ask.map(|can_ask| Arc::new(Client { can_ask }) as _);
        let mut batch = [ApprovalRequest::new(pending.question())];
        approver.ask(&mut batch, &context).await;
        assert_eq!(batch[0].answer, Some(Answer::Denied(Some(who.to_owned()))), "{can_ask:?}");
        let answer = approver.ask_user(&UserQuestion::new("s", "Sure?"), &context).await;
        assert_eq!(answer, denial(who), "{can_ask:?}");
    }
}
