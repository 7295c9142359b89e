//! Questions of servers to the user, in both eras.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolcrib_model::{ErrorKind, UserAnswer, UserQuestion};
use toolcrib_port::{
    Answer, ApprovalRequest, Approver, CallContext, CallPhase, ClientPrompter, ToolEngine as _,
};

use super::server::ScriptServer;
use super::{authorized, context, eventually, invoke};
use crate::elicitation::MAX_QUESTIONS;

/// A person who answers in this order, and then nothing more.
#[derive(Default)]
pub(super) struct User {
    answers: Mutex<VecDeque<UserAnswer>>,
    asked: Mutex<Vec<UserQuestion>>,
    /// The contexts of the questions.
    contexts: Mutex<Vec<CallContext>>,
    /// Says each time that something is asked.
    hears: Notify,
}

impl User {
    pub(super) fn saying(answers: impl IntoIterator<Item = UserAnswer>) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.into_iter().collect()), ..Self::default() })
    }

    pub(super) fn asked(&self) -> Vec<UserQuestion> {
        self.asked.lock().clone()
    }
}

#[async_trait]
impl Approver for User {
    async fn ask(&self, batch: &mut [ApprovalRequest], _context: &CallContext) {
        for asked in batch {
            asked.answer = Some(Answer::Nobody);
        }
    }

    async fn ask_user(&self, question: &UserQuestion, context: &CallContext) -> UserAnswer {
        self.asked.lock().push(question.clone());
        self.contexts.lock().push(context.clone());
        self.hears.notify_one();
        let answer = self.answers.lock().pop_front();
        match answer {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }

    fn has_user(&self) -> bool {
        true
    }
}

pub(super) fn filled(fields: Value) -> UserAnswer {
    let fields = serde_json::from_value(fields).unwrap();
    UserAnswer::Approved { content: None, choice: None, fields, feedback: None }
}

fn chosen(choice: &str) -> UserAnswer {
    UserAnswer::Approved {
        content: None,
        choice: Some(choice.into()),
        fields: serde_json::Map::new().into_iter().collect(),
        feedback: None,
    }
}

/// A server of revision 2025-11-25, which asks before it answers a call and tells what came back.
pub(super) const OLD: &str = r#"
FORM='{"type":"object","properties":{"age":{"type":"integer","minimum":18,"default":30}},"required":["age"]}'
ask() { printf '{"jsonrpc":"2.0","id":"%s","method":"elicitation/create","params":{"message":"How old?","requestedSchema":%s}}\n' "$1" "$FORM"; }
on_call() { call=$id; ask q; }
on_other() { case $line in *'"id":"q"'*) id=$call
  text "$(printf '%s' "$line" | sed -e 's/.*"\(result\|error\)"://' -e 's/"/-/g')" ;; esac; }
"#;

/// A server of revision 2026-07-28, which asks in the place of its result. `QUESTIONS` are the requests, `STATE` is what it
/// hands back besides.
pub(super) const NEW: &str = r#"
FORM='{"type":"object","properties":{"age":{"type":"integer","minimum":18,"default":30}},"required":["age"]}'
QUESTIONS="{\"age\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":\"How old?\",\"requestedSchema\":$FORM}}}"
STATE=',"requestState":"opaque=1"'
on_discover() { reply '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"},"ttlMs":0,"cacheScope":"private"}'; }
on_list() { reply "{\"resultType\":\"complete\",\"ttlMs\":60000,\"cacheScope\":\"private\",\"tools\":[$(tool one)]}"; }
on_call() { case $line in
  *inputResponses*) text "$(printf '%s' "$line" | sed -e 's/.*"inputResponses":\({.*}}\).*/\1/' -e 's/"/-/g')" ;;
  *) reply "{\"resultType\":\"input_required\",\"inputRequests\":$QUESTIONS$STATE}" ;;
  esac; }
"#;

/// Returns the context of a call whose user is asked.
fn asking(user: &Arc<User>, mut context: CallContext) -> CallContext {
    context.approver = Some(Arc::clone(user) as _);
    context
}

async fn call(server: &ScriptServer, user: Option<&Arc<User>>) -> Result<String, (ErrorKind, String)> {
    call_in(server, user, &context()).await
}

async fn call_in(
    server: &ScriptServer,
    user: Option<&Arc<User>>,
    context: &CallContext,
) -> Result<String, (ErrorKind, String)> {
    server.engine.set_has_user(user.is_some());
    let mut context = context.clone();
    context.approver = user.map(|user| Arc::clone(user) as _);
    let result = invoke(&server.engine, authorized("one", json!({})), &context).await;
    server.engine.close().await;
    match result.error {
        None => Ok(result.result.as_str().unwrap().to_owned()),
        Some(error) => Err((error.kind, error.message)),
    }
}

#[tokio::test]
async fn a_question_in_the_middle_of_a_call_is_put_to_the_user_in_both_eras() {
    for (era, got) in [
        (OLD, "-action-:-accept-,-content-:{-age-:42}"),
        (NEW, "{-age-:{-action-:-accept-,-content-:{-age-:42}}}"),
    ] {
        let user = User::saying([filled(json!({"age": 42}))]);
        let server = ScriptServer::new(era);
        let context = CallContext::new("session").with_agent("clerk");
        let said = call_in(&server, Some(&user), &context).await.unwrap();
        assert!(said.contains(got), "{said}");
        let asked = user.asked();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].server.as_deref(), Some("test"));
        assert_eq!(asked[0].agent.as_deref(), Some("clerk"));
        assert_eq!(asked[0].question, "> How old?");
        assert_eq!(asked[0].fields[0].default, Some(json!(30)));
    }
}

#[tokio::test]
async fn a_no_of_the_user_is_told_to_the_server() {
    for era in [OLD, NEW] {
        let user = User::saying([UserAnswer::Denied(Some("never".into()))]);
        let said = call(&ScriptServer::new(era), Some(&user)).await.unwrap();
        assert!(said.contains("-action-:-decline-"), "{said}");
        assert!(!said.contains("content"), "{said}");
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_for_again_and_then_given_up() {
    for era in [OLD, NEW] {
        let user = User::saying([filled(json!({"age": 3})), filled(json!({"age": 33}))]);
        let said = call(&ScriptServer::new(era), Some(&user)).await.unwrap();
        assert!(said.contains("-content-:{-age-:33}"), "{said}");
        let again = user.asked().remove(1).question;
        assert_eq!(again, "That answer is not valid: `age` has to be: at least 18.\n\n> How old?");

        let user = User::saying((0..3).map(|_| filled(json!({"age": 3}))));
        let said = call(&ScriptServer::new(era), Some(&user)).await.unwrap();
        assert!(said.contains("-action-:-cancel-"), "{said}");
    }
}

#[tokio::test]
async fn without_a_user_nothing_is_offered_and_the_call_ends_with_a_clear_error() {
    let server = ScriptServer::new(OLD);
    let said = call(&server, None).await.unwrap();
    assert!(said.contains("-32601"), "{said}");
    let server_of_today = ScriptServer::new(NEW);
    let (kind, message) = call(&server_of_today, None).await.unwrap_err();
    assert_eq!(kind, ErrorKind::InputRequired);
    assert_eq!(
        message,
        "the server needs an answer from the user to continue, and there is no way to ask for it"
    );
    for server in [server, server_of_today] {
        assert!(server.logged("\"elicitation\":{").is_empty());
    }
}

#[tokio::test]
async fn a_user_who_has_left_is_nobody() {
    let user = User::saying([UserAnswer::Nobody]);
    let (kind, _) = call(&ScriptServer::new(NEW), Some(&user)).await.unwrap_err();
    assert_eq!(kind, ErrorKind::InputRequired);
    let user = User::saying([UserAnswer::Nobody]);
    let said = call(&ScriptServer::new(OLD), Some(&user)).await.unwrap();
    assert!(said.contains("-action-:-cancel-"), "{said}");
}

#[tokio::test]
async fn the_capability_is_declared_where_there_is_somebody_to_ask() {
    for era in [OLD, NEW] {
        let server = ScriptServer::new(era);
        call(&server, Some(&User::saying([filled(json!({}))]))).await.unwrap();
        assert!(!server.logged("\"elicitation\":{\"form\":{},\"url\":{}}").is_empty());
    }
}

#[tokio::test]
async fn the_state_is_handed_back_as_it_is_and_only_where_there_is_one() {
    for (state, sent) in [("", 0), (",\"requestState\":\"opaque=1\"", 1)] {
        let server = ScriptServer::new(&format!("{NEW}\nSTATE='{state}'"));
        call(&server, Some(&User::saying([filled(json!({}))]))).await.unwrap();
        assert_eq!(server.logged("\"requestState\":\"opaque=1\"").len(), sent);
        let calls = server.logged("\"method\":\"tools/call\"");
        assert_eq!(calls.len(), 2);
        let ids: Vec<Value> =
            calls.iter().map(|call| serde_json::from_str::<Value>(call).unwrap()["id"].clone()).collect();
        assert_ne!(ids[0], ids[1]);
    }
}

#[tokio::test]
async fn a_server_that_asks_without_end_is_answered_a_few_times() {
    // In the place of its results.
    let server = ScriptServer::new(&format!(
        "{NEW}\non_call() {{ reply \"{{\\\"resultType\\\":\\\"input_required\\\",\\\"inputRequests\\\":$QUESTIONS}}\"; }}"
    ));
    let user = User::saying((0..100).map(|_| filled(json!({}))));
    let (kind, message) = call(&server, Some(&user)).await.unwrap_err();
    assert_eq!(
        (kind, message.as_str()),
        (ErrorKind::ToolFailed, "the server asked 8 times to be called again, and gave no result")
    );
    assert_eq!(user.asked().len(), MAX_QUESTIONS);

    // By requests.
    let flood = "on_call() { call=$id; n=0; while [ $n -lt 30 ]; do ask $n; n=$((n+1)); done; ask q; }";
    let server = ScriptServer::new(&format!("{OLD}\n{flood}"));
    let user = User::saying((0..100).map(|_| filled(json!({}))));
    let said = call(&server, Some(&user)).await.unwrap();
    assert!(said.contains("at most 8 questions are asked in one call"), "{said}");
    assert_eq!(user.asked().len(), MAX_QUESTIONS);
}

#[tokio::test]
async fn a_form_of_monstrous_size_is_refused_and_nobody_is_asked() {
    let giant = r#"
PROPERTIES=$(awk 'BEGIN{for(i=0;i<2000;i++) printf "%s\"f%d\":{\"type\":\"boolean\"}", (i?",":""), i}')
FORM="{\"type\":\"object\",\"properties\":{$PROPERTIES}}"
QUESTIONS="{\"age\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"Fill in.\",\"requestedSchema\":$FORM}}}"
"#;
    let user = User::saying([]);
    let said = call(&ScriptServer::new(&format!("{OLD}{giant}")), Some(&user)).await.unwrap();
    assert!(said.contains("-32602") && said.contains("2000 lines, at most 50"), "{said}");
    let (kind, message) = call(&ScriptServer::new(&format!("{NEW}{giant}")), Some(&user)).await.unwrap_err();
    assert_eq!(kind, ErrorKind::InputRequired);
    assert!(message.contains("2000 lines, at most 50"), "{message}");
    assert!(user.asked().is_empty());
}

#[tokio::test]
async fn what_is_no_question_of_the_protocol_is_refused() {
    let user = User::saying([]);
    let nested = "FORM='{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"object\"}}}'";
    let said = call(&ScriptServer::new(&format!("{OLD}{nested}")), Some(&user)).await.unwrap();
    assert!(said.contains("-32602"), "{said}");
    let sampling = "QUESTIONS='{\"s\":{\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[],\"maxTokens\":9}}}'";
    let (kind, message) =
        call(&ScriptServer::new(&format!("{NEW}{sampling}")), Some(&user)).await.unwrap_err();
    assert_eq!(kind, ErrorKind::InputRequired);
    assert!(message.ends_with("it asks for something other than an answer of the user"), "{message}");
    assert!(user.asked().is_empty());
}

#[tokio::test]
async fn a_question_outside_of_a_call_is_not_put() {
    let user = User::saying([filled(json!({}))]);
    let server = ScriptServer::new(&format!(
        "{OLD}\non_list() {{ ask q; reply \"{{\\\"tools\\\":[$(tool one)]}}\"; }}\non_other() {{ :; }}"
    ));
    server.engine.set_has_user(true);
    toolcrib_port::ToolLoader::load(&server.loader).await;
    eventually(|| async { server.logged("\"id\":\"q\"").pop() }).await;
    server.engine.close().await;
    assert!(server.logged("\"id\":\"q\"")[0].contains("-32600"), "{:?}", server.logged("\"id\":\"q\""));
    assert!(user.asked().is_empty());
}

/// A client that is never asked here.
struct Client;

#[async_trait]
impl ClientPrompter for Client {
    async fn ask(&self, _batch: &mut [ApprovalRequest]) -> bool {
        false
    }

    async fn ask_user(&self, _question: &UserQuestion) -> Option<UserAnswer> {
        None
    }
}

#[tokio::test]
async fn of_two_requests_of_a_session_neither_answers_for_the_other() {
    let (a, b): (Arc<dyn ClientPrompter>, Arc<dyn ClientPrompter>) = (Arc::new(Client), Arc::new(Client));
    let (a, b) = (context().with_reply_to(a), context().with_reply_to(b));
    for (contexts, has_client) in [
        (vec![a.clone()], true),
        (vec![a.clone(), a.clone()], true),
        (vec![a.clone(), b], false),
        (vec![a, context()], false),
    ] {
        let user = User::saying([filled(json!({}))]);
        let server = ScriptServer::new(&format!(
            "{OLD}\non_call() {{ calls=$calls.; call=$id; [ ${{#calls}} = {} ] && ask q; }}",
            contexts.len()
        ));
        server.engine.set_has_user(true);
        let contexts = contexts.into_iter().map(|context| asking(&user, context)).collect::<Vec<_>>();
        let calls =
            contexts.iter().map(|context| invoke(&server.engine, authorized("one", json!({})), context));
        let asked = eventually(|| async { user.contexts.lock().pop() });
        let context = tokio::select! {
            context = asked => context,
            _ = futures::future::join_all(calls) => panic!("all have ended"),
        };
        assert_eq!(context.reply_to.is_some(), has_client, "{} calls", contexts.len());
        server.engine.close().await;
    }
}

#[tokio::test]
async fn of_two_sessions_none_answers_for_the_other() {
    let user = User::saying([]);
    let server = Arc::new(ScriptServer::new(&format!(
        "{OLD}\non_call() {{ calls=$calls.; call=$id; [ \"$calls\" = .. ] && ask q; }}"
    )));
    server.engine.set_has_user(true);
    let one = |session: &str| {
        let (server, context) = (Arc::clone(&server), asking(&user, CallContext::new(session.to_owned())));
        tokio::spawn(async move { invoke(&server.engine, authorized("one", json!({})), &context).await })
    };
    let (a, b) = (one("a"), one("b"));
    eventually(|| async { server.logged("\"id\":\"q\"").pop() }).await;
    assert!(server.logged("\"id\":\"q\"")[0].contains("no call of one user runs"));
    assert!(user.asked().is_empty());
    a.abort();
    b.abort();
    server.engine.close().await;
}

#[tokio::test]
async fn a_question_is_withdrawn_when_its_call_is_given_up() {
    let user = User::saying([]);
    let server = ScriptServer::new(&format!("{OLD}\non_other() {{ :; }}"));
    server.engine.set_has_user(true);
    let context = asking(&user, context());
    let call = invoke(&server.engine, authorized("one", json!({})), &context);
    let (result, ()) = tokio::join!(call, async {
        user.hears.notified().await;
        context.cancel.cancel();
    });
    assert_eq!(result.error.unwrap().kind, ErrorKind::Cancelled);
    let answer = eventually(|| async { server.logged("\"id\":\"q\"").pop() }).await;
    assert!(answer.contains("\"action\":\"cancel\""), "{answer}");
    server.engine.close().await;
}

#[tokio::test]
async fn a_call_whose_server_asks_its_user_waits_for_a_person() {
    for era in [OLD, NEW] {
        let context = context();
        let user = User::saying([]);
        let server = ScriptServer::new(era);
        let call = call_in(&server, Some(&user), &context);
        tokio::select! {
            outcome = call => panic!("nobody has answered: {outcome:?}"),
            () = context.phase.wait_until(|phase| phase == CallPhase::WaitingForPerson) => {}
        }
        // The call was given up, and its question with it.
        context.phase.wait_until(|phase| phase == CallPhase::Pending).await;
        server.engine.close().await;
    }
}

#[tokio::test]
async fn a_page_that_a_call_needs_is_opened_and_the_call_made_again() {
    let functions = r#"
on_call() { calls=$calls.; [ "$calls" = .. ] && text done && return
  printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"log in first","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://a.example/login","message":"Log in."}]}}}\n' "$id"; }
"#;
    let yes = User::saying([chosen("yes, go on")]);
    assert_eq!(call(&ScriptServer::new(functions), Some(&yes)).await.unwrap(), "done");
    assert!(yes.asked()[0].question.contains("https://a.example/login"), "{:?}", yes.asked());
    let no = User::saying([chosen("no")]);
    for user in [Some(&no), None] {
        let (kind, message) = call(&ScriptServer::new(functions), user).await.unwrap_err();
        assert_eq!((kind, message.as_str()), (ErrorKind::InputRequired, "log in first"));
    }
}

#[tokio::test]
async fn a_task_that_wants_an_answer_goes_on_with_it() {
    let functions = r#"
on_call() { reply '{"resultType":"task","taskId":"t","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null,"pollIntervalMs":50}'; }
on_other() { case $line in
  *'"method":"tasks/update"'*) answered=yes; reply '{"resultType":"complete"}' ;;
  *'"method":"tasks/get"'*) if [ "$answered" ]; then
      reply '{"resultType":"complete","taskId":"t","status":"completed","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null,"result":{"content":[{"type":"text","text":"done"}]}}'
    else
      reply "{\"resultType\":\"complete\",\"taskId\":\"t\",\"status\":\"input_required\",\"createdAt\":\"2026-01-01T00:00:00Z\",\"lastUpdatedAt\":\"2026-01-01T00:00:00Z\",\"ttlMs\":null,\"pollIntervalMs\":50,\"inputRequests\":$QUESTIONS}"
    fi ;;
  esac; }
"#;
    let user = User::saying([filled(json!({"age": 20}))]);
    let server = ScriptServer::new(&format!("{NEW}{functions}"));
    assert_eq!(call(&server, Some(&user)).await.unwrap(), "done");
    let update = server.logged("tasks/update").remove(0);
    assert!(
        update.contains(r#""inputResponses":{"age":{"action":"accept","content":{"age":20}}}"#),
        "{update}"
    );
    let (kind, _) = call(&ScriptServer::new(&format!("{NEW}{functions}")), None).await.unwrap_err();
    assert_eq!(kind, ErrorKind::InputRequired);
}
