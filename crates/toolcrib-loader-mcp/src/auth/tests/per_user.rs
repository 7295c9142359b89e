//! Users with a login each at one server.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use futures::future::join_all;
use toolcrib_model::{ErrorKind, SubjectToken, ToolError, UserAnswer, UserQuestion};
use toolcrib_oauth::client::LoginLinks;
use toolcrib_policy::Access;
use toolcrib_port::{ApprovalRequest, Approver, CallContext};
use toolcrib_sdk::{UserHeaders, UserText};

use super::*;
use crate::SessionEngines;
use crate::oauth::{ClientCredentials, Grant, TokenExchange, TokenStore};

/// The users, by the numbers of their logins.
const USERS: [&str; 2] = ["alice", "bob's friend"];

/// The calls of both users together.
const CALLS: usize = 10_000;

/// The tasks of each user that call at the same time.
const TASKS: usize = 4;

/// The requests that a token is good for.
const USES: usize = 100;

/// The origin of the tokens of calls.
#[derive(Clone, Copy)]
enum TokenOrigin {
    Login,
    Exchange,
}

struct Users {
    world: World,
    auth: ClientSettings,
    engines: Arc<SessionEngines>,
    /// Of a source that exchanges the tokens of callers.
    exchanging: Arc<SessionEngines>,
    _folder: tempfile::TempDir,
}

impl Users {
    /// A server at which every user has logged in.
    async fn new() -> Self {
        let world = World::start(Rules::default()).await;
        let folder = tempfile::tempdir().unwrap();
        let auth = ClientSettings::new().with_store(TokenStore::folder(folder.path().join("oauth"), None));
        for user in USERS {
            let authorization = source(&world, auth.clone()).for_user(user).authorization().unwrap().unwrap();
            authorization.login(&*Browser::new()).await.unwrap();
        }
        let engines = |auth| {
            let connection = McpConnection::new(source(&world, auth));
            Arc::new(SessionEngines::per_user(connection, NonZeroUsize::new(8).unwrap()))
        };
        let settings = ClientCredentials {
            token_url: format!("{}/token", world.issuer()),
            client_id: "toolcrib".into(),
            client_secret: Secret::new("hunter2"),
            scopes: Vec::new(),
            audience: None,
            secret_in_body: false,
        };
        let exchange = TokenExchange::new(settings, Some(world.url()), &Access::unlimited(), None).unwrap();
        let exchanging = engines(ClientSettings::new().with_grant(Grant::TokenExchange(exchange)));
        let engines = engines(auth.clone());
        Self { world, auth, engines, exchanging, _folder: folder }
    }

    async fn call(&self, user: &str, login: usize) -> ToolResult {
        self.call_with(TokenOrigin::Login, user, login).await
    }

    async fn call_with(&self, origin: TokenOrigin, user: &str, login: usize) -> ToolResult {
        let mut context = CallContext::new("session").with_user(user);
        let token = SubjectToken { token: Secret::new(format!("caller-{login}")), expires_at: u64::MAX };
        context.subject_token = Some(Arc::new(token));
        let engines = match origin {
            TokenOrigin::Login => &self.engines,
            TokenOrigin::Exchange => &self.exchanging,
        };
        invoke(&**engines, authorized("read", json!({"login": login})), &context).await
    }

    async fn close(&self) {
        self.engines.close().await;
        self.exchanging.close().await;
    }

    /// Makes calls of both users at once, and returns those that failed, of each user.
    async fn interleave(&self, calls: usize) -> [Vec<ToolResult>; 2] {
        let task = |login: usize| async move {
            let mut failed = Vec::new();
            let origins = [TokenOrigin::Login, TokenOrigin::Exchange].into_iter().cycle();
            for origin in origins.take(calls / (TASKS * USERS.len())) {
                let result = self.call_with(origin, USERS[login], login).await;
                if !result.is_ok() {
                    failed.push(result);
                }
            }
            (login, failed)
        };
        let tasks = (0..TASKS * USERS.len()).map(|number| task(number % USERS.len()));
        let mut failed = [Vec::new(), Vec::new()];
        for (login, results) in join_all(tasks).await {
            failed[login].extend(results);
        }
        failed
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_has_the_login_of_another_user_while_tokens_end_and_none_runs_after_revocation() {
    let users = Users::new().await;
    users.world.rules().uses = USES;
    users.world.rules().tokens = json!({"expires_in": 2});
    let calls = CALLS;
    let failed = users.interleave(calls).await;
    assert!(failed.iter().all(Vec::is_empty), "{:?}", failed.iter().flatten().next());
    let (ran, of_others) = users.world.calls_of_logins();
    assert_eq!((ran[&0], ran[&1], of_others), (calls / 2, calls / 2, 0));
    let issued = users.world.issued();
    assert!(issued > calls / USES, "tokens ended in between: {issued}");

    users.world.rules().revoked_logins.push(0);
    let [of_alice, of_bob] = users.interleave(calls / 10).await;
    assert!(of_bob.is_empty(), "{:?}", of_bob.first());
    assert_eq!(of_alice.len(), calls / 20, "all calls of alice fail");
    for (error, problem) in
        of_alice.iter().rev().zip(["needs login: toolcrib login test --as alice", "invalid_grant"])
    {
        let error = error.error.as_ref().unwrap();
        assert!(error.message.contains(problem), "{error}");
    }
    let (after, of_others) = users.world.calls_of_logins();
    assert_eq!((after[&0], after[&1], of_others), (calls / 2, calls / 2 + calls / 20, 0));
    users.close().await;
}

#[tokio::test]
async fn a_call_without_a_token_to_exchange_is_denied_and_an_expired_one_is_not_exchanged() {
    let users = Users::new().await;
    assert!(users.call_with(TokenOrigin::Exchange, "alice", 0).await.is_ok());
    let before = users.world.log();
    let mut context = CallContext::new("session").with_user("alice");
    let call = async |context: &CallContext| {
        invoke(&*users.exchanging, authorized("read", json!({})), context).await.error.unwrap()
    };
    let error = call(&context).await;
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Denied, "`test` is called with the token of the caller, and this call has none")
    );
    let token = SubjectToken { token: Secret::new("caller-0"), expires_at: 1 };
    context.subject_token = Some(Arc::new(token));
    let error = call(&context).await;
    assert!(error.message.contains("the token of the caller has expired"), "{error}");
    assert_eq!(users.world.log(), before, "nothing is sent");
    users.close().await;
}

#[tokio::test]
async fn a_user_without_a_login_has_that_of_no_other_and_is_told_how_to_get_one() {
    let users = Users::new().await;
    for (user, login) in USERS.iter().zip(0..) {
        assert!(users.call(user, login).await.is_ok());
    }
    let error = users.call("carol", 0).await.error.unwrap();
    assert!(
        error.message.contains("needs login: toolcrib login test --as carol (no user has logged in)"),
        "{error}"
    );
    let context = CallContext::new("session");
    let error = invoke(&*users.engines, authorized("read", json!({})), &context).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Denied);
    assert_eq!(error.message, "`test` is called with the credentials of a user, and this call has no user");
    assert!(error.hint.is_some_and(|hint| hint.contains("--user")));
    assert_eq!(users.world.calls(), USERS.len());
    users.engines.close().await;
}

#[tokio::test]
async fn a_logout_elsewhere_ends_the_calls_of_that_user_at_once() {
    let users = Users::new().await;
    assert!(users.call(USERS[1], 1).await.is_ok());
    // As another process does, with a store of its own.
    let authorization =
        source(&users.world, users.auth.clone()).for_user(USERS[1]).authorization().unwrap().unwrap();
    assert!(authorization.logout().await.unwrap());
    let error = users.call(USERS[1], 1).await.error.unwrap();
    assert!(error.message.contains(r"needs login: toolcrib login test --as 'bob'\''s friend'"), "{error}");
    assert!(users.call(USERS[0], 0).await.is_ok());
    users.engines.close().await;
}

#[tokio::test]
async fn an_idle_connection_is_closed_in_favour_of_another_user() {
    let users = Users::new().await;
    let connection = McpConnection::new(source(&users.world, users.auth.clone()));
    let engines = SessionEngines::per_user(connection, NonZeroUsize::MIN);
    for round in 0..4 {
        let login = round % USERS.len();
        let context = CallContext::new("session").with_user(USERS[login]);
        let result = invoke(&engines, authorized("read", json!({"login": login})), &context).await;
        assert!(result.is_ok(), "{result:?}");
    }
    assert_eq!(users.world.calls_of_logins(), ([(0, 2), (1, 2)].into(), 0));
    engines.close().await;
}

/// The `Authorization` of each user that has one.
#[derive(Debug, Default)]
struct Keys(Mutex<BTreeMap<String, String>>);

#[async_trait]
impl UserText for Keys {
    async fn for_user(&self, user: &str) -> Result<Secret, ToolError> {
        let key = self.0.lock().get(user).map(Secret::new);
        key.ok_or_else(|| ToolError::new(ErrorKind::Unavailable, format!("there is no key of {user}")))
    }
}

#[tokio::test]
async fn each_user_sends_their_own_headers_and_a_user_without_one_sends_nothing() {
    // Only for the tokens of the logins.
    let users = Users::new().await;
    let keys = Arc::new(Keys::default());
    for (user, login) in USERS.iter().zip(0..) {
        keys.0.lock().insert((*user).into(), format!("Bearer access-token-{login}"));
    }
    let shared = vec![("authorization".into(), Secret::new("Bearer of-nobody"))];
    let mut source = McpSource::new("test", http(users.world.url(), shared));
    let text: Arc<dyn UserText> = Arc::clone(&keys) as _;
    source.user_headers = UserHeaders::new([("Authorization".into(), text)]);
    let engines = SessionEngines::per_user(McpConnection::new(source), NonZeroUsize::new(8).unwrap());
    let engines = &engines;
    let call = async |user: &str, login: usize| {
        let context = CallContext::new("session").with_user(user);
        invoke(engines, authorized("read", json!({"login": login})), &context).await
    };
    let calls = (0..20).map(|number| call(USERS[number % 2], number % 2));
    assert!(join_all(calls).await.iter().all(ToolResult::is_ok));
    assert_eq!(users.world.calls_of_logins(), ([(0, 10), (1, 10)].into(), 0));

    let before = users.world.log();
    assert_eq!(call("carol", 0).await.error.unwrap().message, "there is no key of carol");
    assert_eq!(users.world.log(), before, "nothing is sent");

    // Another key is used from the next call on.
    keys.0.lock().insert(USERS[0].into(), "Bearer access-token-1".into());
    assert!(call(USERS[0], 1).await.is_ok());
    keys.0.lock().remove(USERS[0]);
    assert!(!call(USERS[0], 1).await.is_ok());
    assert_eq!(users.world.calls_of_logins(), ([(0, 10), (1, 11)].into(), 0));
    engines.close().await;
}

/// Users who follow each link, as browsers do, or none.
struct Following {
    links: LoginLinks,
    browser: Arc<Browser>,
    follows: bool,
    /// The links.
    seen: Mutex<Vec<String>>,
}

#[async_trait]
impl Approver for Following {
    async fn ask(&self, _batch: &mut [ApprovalRequest], _context: &CallContext) {}

    async fn ask_user(&self, question: &UserQuestion, context: &CallContext) -> UserAnswer {
        let link: Url = question.link.as_deref().unwrap().parse().unwrap();
        assert!(
            question.question.contains("Log in to `test` as `carol`")
                && question.question.contains(link.as_str())
        );
        self.seen.lock().push(link.to_string());
        if !self.follows {
            return UserAnswer::Denied(None);
        }
        let answer = self.browser.authorize(&link).await.unwrap();
        let owner = self.links.owner(answer.state.as_deref().unwrap()).unwrap();
        assert_eq!(Some(owner.user.as_str()), context.user.as_deref());
        assert_eq!(self.links.complete(answer.clone()), Some(owner));
        assert_eq!(self.links.complete(answer), None, "an answer counts once");
        let fields = toolcrib_model::JsonObject::new();
        UserAnswer::Approved { content: None, choice: None, fields, feedback: None }
    }
}

#[tokio::test]
async fn a_user_without_a_login_logs_in_by_a_link_in_the_middle_of_the_call() {
    let users = Users::new().await;
    let links = LoginLinks::default();
    let mut source = source(&users.world, users.auth.clone());
    source.per_user = true;
    source.login_links = Some(links.clone());
    let engines = SessionEngines::per_user(McpConnection::new(source), NonZeroUsize::new(8).unwrap());
    let call = async |follows: bool| {
        let browser = Browser::new();
        let approver = Arc::new(Following { links: links.clone(), browser, follows, seen: Mutex::default() });
        let mut context = CallContext::new("session").with_user("carol");
        context.approver = Some(Arc::clone(&approver) as _);
        let result = invoke(&engines, authorized("read", json!({"login": USERS.len()})), &context).await;
        (result, approver.seen.lock().len())
    };
    let needs_login = |result: &ToolResult| {
        result
            .error
            .as_ref()
            .is_some_and(|error| error.message.contains("needs login: toolcrib login test --as carol"))
    };
    let (result, seen) = call(true).await;
    assert!(needs_login(&result) && seen == 0, "no server waits for the answer: {result:?}");
    links.serve_at("http://127.0.0.1:1/callback".into());
    let (result, seen) = call(false).await;
    assert!(needs_login(&result) && seen == 1, "the user has declined: {result:?}");
    let (result, seen) = call(true).await;
    assert!(result.is_ok() && seen == 1, "{result:?}");
    let (result, seen) = call(true).await;
    assert!(result.is_ok() && seen == 0, "{result:?}");
    assert_eq!(users.world.calls_of_logins(), ([(USERS.len(), 2)].into(), 0));
    engines.close().await;
}
