//! Runs that start runs, and what they spend together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Barrier;
use toolcrib_model::{ToolCall, ToolResult};
use toolcrib_port::{CallContext, Catalogue, RunBudget, ToolCaller};

use super::super::report::Spent;
use super::super::{Agent, Conversation, Limit, Outcome, RunLimits, RunReport};
use super::{agent, call, calls, says, scripted};
use crate::chat::{ChatReply, ChatRequest, TextSink, Usage};
use crate::journal::Entry;
use crate::{Budget, ChatModel, Error};

/// What each request takes, which is as much as it may.
const EACH: u64 = 2_000;
const COST: u64 = 50;

/// A model that calls this tool so many times, one in each turn, and then answers.
struct Calls {
    tool: &'static str,
    times: usize,
    asked: AtomicUsize,
    /// How many requests there were in all.
    requests: Arc<AtomicUsize>,
    /// Each request waits until so many are under way.
    together: Option<Arc<Barrier>>,
}

#[async_trait]
impl ChatModel for Calls {
    async fn complete(&self, _: &ChatRequest<'_>, _: &mut TextSink<'_>) -> Result<ChatReply, Error> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if let Some(together) = &self.together {
            together.wait().await;
        }
        // Others have the time to begin.
        tokio::task::yield_now().await;
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let arguments = json!({"number": number}).to_string();
        let reply =
            if number < self.times { calls(vec![call("", self.tool, &arguments)]) } else { says("Done.") };
        let usage = Usage { prompt_tokens: EACH - 10, completion_tokens: 10, cost: COST, ..Usage::default() };
        Ok(ChatReply { usage, ..reply })
    }

    fn most_cost(&self, _tokens: u64) -> u64 {
        COST
    }
}

/// An agent whose requests take no more than they do here.
fn within(limits: RunLimits) -> Agent {
    let settings = agent().settings().clone().with_limits(limits);
    Agent::new(settings.with_context_window(u32::try_from(EACH).unwrap()))
}

/// Runs agents: `down::a` is one that calls `plain` so many times, `down::b` one that calls `down::a`, and so on.
struct House {
    /// How often each calls what is below it.
    times: usize,
    limits: RunLimits,
    requests: Arc<AtomicUsize>,
    together: Option<Arc<Barrier>>,
    reports: Mutex<Vec<RunReport>>,
}

impl House {
    fn new(times: usize) -> Self {
        let limits = RunLimits::default();
        Self { times, limits, requests: Arc::default(), together: None, reports: Mutex::default() }
    }

    fn model(&self, tool: &'static str) -> Calls {
        Calls {
            tool,
            times: self.times,
            asked: AtomicUsize::new(0),
            requests: self.requests.clone(),
            together: None,
        }
    }

    async fn run(&self, model: &dyn ChatModel, limits: RunLimits, context: &CallContext) -> RunReport {
        within(limits).run("Go.", &mut Conversation::new(), model, self, context, &mut ()).await
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    /// The reports of those that were started, in the order in which they ended.
    fn reports(&self) -> Vec<(Option<Limit>, bool, u32)> {
        let reports = self.reports.lock();
        reports.iter().map(|report| (limit(report), report.limit_of_caller, report.turns)).collect()
    }
}

fn limit(report: &RunReport) -> Option<Limit> {
    match report.outcome {
        Outcome::LimitReached { limit } => Some(limit),
        _ => None,
    }
}

#[async_trait]
impl ToolCaller for House {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        let below = match call.name.as_str() {
            "down::a" => "plain",
            "down::b" => "down::a",
            "down::c" => "down::b",
            _ => return ToolResult::ok(call.call_id, call.name, json!("done")),
        };
        let model = Calls { together: self.together.clone(), ..self.model(below) };
        let report = self.run(&model, self.limits, context).await;
        let text = report.text.clone();
        self.reports.lock().push(report);
        ToolResult::ok(call.call_id, call.name, json!(text))
    }

    fn catalogue(&self) -> &dyn Catalogue {
        self
    }
}

impl Catalogue for House {
    fn only_reads(&self, call: &ToolCall, _context: &CallContext) -> bool {
        self.together.is_some() && call.name.starts_with("down::")
    }
}

fn context() -> CallContext {
    CallContext::new("session")
}

fn tokens(requests: u64) -> RunLimits {
    RunLimits { max_tokens: requests * EACH, ..RunLimits::default() }
}

#[tokio::test]
async fn what_was_spent_below_ends_the_run_above_at_the_right_place() {
    // The first run asks, what it calls asks three times, the first one asks again and calls: six until then, and nine after.
    for (limits, reached) in
        [(tokens(8), Limit::Tokens), (RunLimits { max_cost: 8 * COST, ..RunLimits::default() }, Limit::Cost)]
    {
        let house = House::new(2);
        let report = house.run(&house.model("down::a"), limits, &context()).await;
        assert_eq!(limit(&report), Some(reached));
        assert!(!report.limit_of_caller);
        let below = Spent { tokens: 6 * EACH, cost: 6 * COST, calls: 4 };
        // The last answer of the first run is its third request.
        assert_eq!((report.turns, report.usage.tokens(), report.spent_below), (3, 3 * EACH, below));
        assert_eq!(house.reports(), [(None, false, 3), (None, false, 3)]);
    }
}

#[tokio::test]
async fn a_run_ends_where_the_rest_of_its_caller_is_used_up_and_says_whose_limit_it_was() {
    let house = House::new(5);
    let report = house.run(&house.model("down::a"), tokens(3), &context()).await;
    assert_eq!(house.reports(), [(Some(Limit::Tokens), true, 2)], "it is not asked for a last answer");
    // Which the first one gives, beyond its limit.
    assert_eq!((limit(&report), report.turns, house.requests()), (Some(Limit::Tokens), 2, 4));
    let told = serde_json::to_value(&house.reports.lock()[0]).unwrap();
    assert_eq!((&told["limit"], &told["limit_of_caller"]), (&json!("tokens"), &json!(true)));
}

#[tokio::test]
async fn what_is_called_again_and_again_gets_no_more_each_time() {
    let model = scripted(|turn, _| {
        let six = (0..6).map(|number| call("", "down::a", &json!({"number": number}).to_string()));
        let usage = Usage { prompt_tokens: EACH, ..Usage::default() };
        ChatReply { usage, ..if turn == 1 { calls(six.collect()) } else { says("Done.") } }
    });
    let house = House::new(1);
    let report = house.run(&model, tokens(4), &context()).await;
    assert_eq!(limit(&report), Some(Limit::Tokens));
    assert_eq!(house.requests(), 3, "of twelve that all six would have made");
    let unasked = (Some(Limit::Tokens), true, 0);
    let ended = [(None, false, 2), (Some(Limit::Tokens), true, 1), unasked, unasked, unasked, unasked];
    assert_eq!(house.reports(), ended);
}

#[tokio::test]
async fn runs_at_once_share_one_rest_and_go_no_further_beyond_than_one_request() {
    for (limits, reached) in [
        (RunLimits { max_tokens: 5 * EACH - 1, ..RunLimits::default() }, Limit::Tokens),
        (RunLimits { max_cost: 5 * COST - 1, ..RunLimits::default() }, Limit::Cost),
    ] {
        let model = scripted(|turn, _| {
            let eight = (0..8).map(|number| call("", "down::a", &json!({"number": number}).to_string()));
            let usage = Usage { prompt_tokens: EACH, cost: COST, ..Usage::default() };
            ChatReply { usage, ..if turn == 1 { calls(eight.collect()) } else { says("Done.") } }
        });
        // Of eight at once, four may be under way: they only go on when all of them are.
        let together = Some(Arc::new(Barrier::new(4)));
        let house = House { together, ..House::new(10) };
        let report = house.run(&model, limits, &context()).await;
        assert_eq!((limit(&report), house.requests()), (Some(reached), 4));
        let spent = report.spent_below;
        assert_eq!((spent.tokens, spent.cost), (4 * EACH, 4 * COST), "and one by the first run itself");
        assert!(house.reports().iter().all(|(limit, of_caller, _)| *limit == Some(reached) && *of_caller));
    }
}

#[tokio::test]
async fn calls_below_never_exceed_what_the_first_run_may_call() {
    let house = House::new(5);
    let limits = RunLimits { max_calls: 4, ..RunLimits::default() };
    let report = house.run(&house.model("down::a"), limits, &context()).await;
    assert_eq!((limit(&report), report.spent_below.calls), (Some(Limit::Calls), 3));
    assert_eq!(report.calls.len(), 1);
    // There are tokens left, so it is asked for a last answer.
    assert_eq!(house.reports(), [(Some(Limit::Calls), true, 5)]);
}

#[tokio::test]
async fn three_below_the_first_spend_no_more_than_it_may() {
    let house = House::new(100);
    let report = house.run(&house.model("down::c"), tokens(20), &context()).await;
    assert_eq!(limit(&report), Some(Limit::Tokens));
    let all = report.usage.tokens() + report.spent_below.tokens;
    assert_eq!(all, 21 * EACH, "the limit, and the last answer of the first");
    assert_eq!(
        house.reports(),
        [(Some(Limit::Tokens), true, 17), (Some(Limit::Tokens), true, 1), (Some(Limit::Tokens), true, 1)]
    );
}

#[tokio::test]
async fn a_limit_of_its_own_ends_a_run_below_and_nobody_else() {
    let house = House { limits: tokens(2), ..House::new(3) };
    let report = house.run(&house.model("down::a"), tokens(100), &context()).await;
    assert!(matches!(report.outcome, Outcome::Completed));
    assert_eq!(house.reports(), [(Some(Limit::Tokens), false, 3); 3]);
}

/// Keeps in which context it was called last.
struct Keep<'a>(&'a Mutex<Option<CallContext>>);
#[async_trait]
impl ToolCaller for Keep<'_> {
    async fn call(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        *self.0.lock() = Some(context.clone());
        ToolResult::ok(call.call_id, call.name, json!("started"))
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_the_first_run_is_that_of_all_below_it_also_of_those_that_go_on_without_it() {
    let kept = Mutex::new(None);
    let limits = RunLimits { max_duration: Duration::from_mins(10), ..tokens(5) };
    let (house, caller) = (House::new(1), Keep(&kept));
    let model = house.model("start");
    let report =
        within(limits).run("Go.", &mut Conversation::new(), &model, &caller, &context(), &mut ()).await;
    assert!(matches!(report.outcome, Outcome::Completed));
    let mut left = kept.lock().take().unwrap();
    left.deadline = None;
    tokio::time::advance(Duration::from_mins(9)).await;
    // Two of five requests were made, and it is over. One that goes on makes three more.
    let house = House::new(9);
    let report = house.run(&house.model("plain"), RunLimits::default(), &left).await;
    assert_eq!((limit(&report), report.limit_of_caller, report.turns), (Some(Limit::Tokens), true, 3));
    // And none when the time is over.
    let budget = Budget::new(RunLimits::default().most());
    left.budget = Some(Arc::new(budget.with_end(left.budget.as_ref().unwrap().end().unwrap())));
    tokio::time::advance(Duration::from_mins(2)).await;
    let report = house.run(&house.model("plain"), RunLimits::default(), &left).await;
    assert_eq!((limit(&report), report.usage.tokens()), (Some(Limit::Duration), 0));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_its_turn_ends_when_it_is_cancelled_or_its_time_is_over() {
    let budget: Arc<dyn RunBudget> = Arc::new(Budget::new(tokens(1).most()));
    let _under_way = Arc::clone(&budget).reserve(tokens(1).most()).unwrap().unwrap();
    let mut waiting = context();
    waiting.budget = Some(budget);
    let house = House::new(1);
    let limits = RunLimits { max_duration: Duration::from_mins(1), ..RunLimits::default() };
    let late = house.run(&house.model("plain"), limits, &waiting).await;
    assert_eq!(limit(&late), Some(Limit::Duration));
    let model = house.model("plain");
    let begins = house.run(&model, RunLimits::default(), &waiting);
    let cancel = async { waiting.cancel.cancel() };
    let (cancelled, ()) = tokio::join!(begins, cancel);
    assert!(matches!(cancelled.outcome, Outcome::Failed { error: Error::Cancelled }));
    assert_eq!(house.requests(), 0);
}

#[tokio::test]
async fn what_was_spent_below_counts_on_after_a_crash() {
    let usage = Usage { prompt_tokens: EACH, ..Usage::default() };
    let asked = call("a", "plain", "{}");
    let message = crate::Message::Assistant {
        content: String::new(),
        tool_calls: vec![asked.clone()],
        reasoning: String::new(),
        written: None,
        provider_items: None,
    };
    let entries = [
        Entry::Began { prompt: "Go.".to_owned() },
        Entry::Said { messages: vec![crate::Message::user("Go.")] },
        Entry::Replied { message, calls: vec![asked], usage, model: None },
        Entry::Begun { call_id: "a".to_owned() },
        Entry::SpentBelow { spent: Spent { tokens: 2 * EACH, cost: 7, calls: 3 } },
        Entry::Finished {
            call_id: "a".to_owned(),
            ok: true,
            answer: "b".to_owned(),
            note: String::new(),
            loads: Vec::new(),
            pictures: Vec::new(),
            ms: None,
        },
    ];
    let house = House::new(9);
    let mut conversation = Conversation::restore(entries);
    let report =
        within(tokens(4)).resume(&mut conversation, &house.model("plain"), &house, &context(), &mut ()).await;
    // One request before, two below, one now, and the last answer.
    assert_eq!((limit(&report), house.requests()), (Some(Limit::Tokens), 2));
    assert_eq!(report.spent_below, Spent { tokens: 2 * EACH, cost: 7, calls: 3 });
}
