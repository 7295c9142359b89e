//! What is used again, for whom, and for how long.

use super::*;

/// Makes calls whose result is the number of the attempt.
#[derive(Default)]
struct Bed {
    flow: FlowControl,
    attempts: Count,
}

impl Bed {
    fn new(settings: Value) -> Self {
        Self { flow: flow(settings), ..Self::default() }
    }

    async fn ask_as(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        let attempt = |_| async { call.ok(self.attempts.up()) };
        self.flow.run(call, context, &CallChain::default(), within(60), false, attempt).await
    }

    async fn ask(&self, call: &Authorized<Call>) -> Value {
        self.ask_as(call, &CallContext::new("s")).await.result
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_is_used_again_until_its_time_is_over_and_says_so() {
    let bed = Bed::default();
    let call = call(cacheable(json!(true)), "far");
    let first = bed.ask_as(&call, &CallContext::new("s")).await;
    assert!(!first.metadata.contains_key("cached"));
    pass(seconds(59)).await;
    let again = bed.ask_as(&call, &CallContext::new("s")).await;
    assert_eq!(again.result, 1);
    assert_eq!((&again.metadata["cached"], &again.metadata["age_ms"]), (&json!(true), &json!(59_000)));
    pass(seconds(1)).await;
    assert_eq!(bed.ask(&call).await, 2);
    assert_eq!(bed.flow.cache.usage().0, 1, "the old one is gone");
}

#[tokio::test(start_paused = true)]
async fn a_tool_says_for_how_long_and_the_longest_is_bounded() {
    for (declared, expected) in [
        (json!({"ttl_seconds": 5}), 5),
        (json!({"ttl_seconds": 0.5}), 0),
        (json!({}), 60),
        (json!({"ttl_seconds": 1e9}), 3600),
        (json!({"ttl_seconds": 1e300}), 3600),
    ] {
        let bed = Bed::default();
        let call = call(cacheable(declared.clone()), "far");
        bed.ask(&call).await;
        pass(seconds(expected)).await;
        let last = if expected == 0 { 1 } else { 2 };
        assert_eq!(bed.ask(&call).await, last, "{declared}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_is_declared_and_only_reads_is_used_again() {
    let low = |declared: Value| cacheable(declared);
    for tool in [
        tool("look").with_risk(Risk::Low),
        low(json!(false)),
        low(json!("yes")),
        low(json!({"ttl_seconds": -1})),
        low(json!({"ttl_seconds": "60"})),
        low(json!({"ttl_seconds": 0})),
        low(json!({"scope": "everybody"})),
        low(json!({"scope": 1})),
        low(json!(true)).with_risk(Risk::Medium),
        low(json!(true)).with_risk(Risk::High).with_metadata("idempotent", true),
        low(json!(true)).with_metadata("side_effects", json!(["sends a mail"])),
        tool("look").with_metadata("cacheable", true),
    ] {
        let bed = Bed::default();
        let call = call(tool, "far");
        assert_eq!(
            (bed.ask(&call).await, bed.ask(&call).await),
            (json!(1), json!(2)),
            "{:?}",
            call.tool.metadata()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_else_asks_does_not_see_it_unless_the_tool_says_so() {
    let s = || CallContext::new("s");
    let others = [
        CallContext::new("another"),
        s().with_agent("agent"),
        s().with_agent("another agent"),
        s().with_user("user"),
        s().with_agent("agent").with_user("user"),
        // The parts are kept apart.
        CallContext::new("sagent"),
    ];
    for (declared, is_shared) in [(json!({"scope": "session"}), false), (json!({"scope": "shared"}), true)] {
        let bed = Bed::default();
        let call = call(cacheable(declared), "far");
        bed.ask_as(&call, &s()).await;
        for (position, context) in others.iter().enumerate() {
            let expected = if is_shared { 1 } else { position + 2 };
            assert_eq!(bed.ask_as(&call, context).await.result, expected);
            assert_eq!(bed.ask_as(&call, context).await.result, expected, "its own is used again");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn another_schema_source_generation_name_or_argument_is_another_call() {
    let bed = Bed::default();
    let arguments = json!({"a": 1, "b": {"c": [1, 2], "d": null}});
    let tool = cacheable(json!(true));
    let ask = async |call: Authorized<Call>| bed.ask(&call).await;
    assert_eq!(ask(call_with(tool.clone(), "far", 1, arguments.clone())).await, 1);

    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let mut renamed = tool.clone();
    renamed.name = QualifiedName::new("t", "another").unwrap();
    for (position, other) in [
        call_with(tool.clone().with_parameters(schema), "far", 1, arguments.clone()),
        call_with(tool.clone(), "further", 1, arguments.clone()),
        call_with(tool.clone(), "far", 2, arguments.clone()),
        call_with(renamed, "far", 1, arguments),
        call_with(tool.clone(), "far", 1, json!({"a": 1.0, "b": {"c": [1, 2], "d": null}})),
        call_with(tool.clone(), "far", 1, json!({"a": 1, "b": {"c": [2, 1], "d": null}})),
        call_with(tool.clone(), "far", 1, json!({"a": 1, "b": {"c": [1, 2]}})),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(ask(other).await, position + 2);
    }
    let reordered = json!({"b": {"d": null, "c": [1, 2]}, "a": 1});
    assert_eq!(ask(call_with(tool, "far", 1, reordered)).await, 1, "the order of names does not matter");
}

#[tokio::test(start_paused = true)]
async fn failures_are_not_kept() {
    let flow = FlowControl::default();
    let call = call(cacheable(json!(true)), "far");
    let failed = flow.go(&call, within(60), || async { failure(&call, ErrorKind::ToolFailed) }).await;
    assert!(!failed.is_ok());
    assert!(flow.go(&call, within(60), || async { call.ok("fine") }).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_result_from_the_cache_has_the_id_of_the_call_that_gets_it() {
    let flow = FlowControl::default();
    for id in ["first", "second"] {
        let mut call = Call::new(Arc::new(cacheable(json!(true))), "far".into(), 1);
        call.call_id = Some(id.into());
        let call = authorized(call);
        let result = flow.go(&call, within(60), || async { call.ok("fine") }).await;
        assert_eq!(result.call_id.as_deref(), Some(id));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cached_result_needs_no_place_and_no_source_that_answers() {
    let flow = flow(json!({"source": {"max_concurrency": 1, "queue": 0, "breaker": {"failures": 1}}}));
    let kept = call(cacheable(json!({"ttl_seconds": 600})), "far");
    let ask = || flow.go(&kept, within(60), || async { kept.ok("kept") });
    ask().await;
    let hanging = call(tool("hang"), "far");
    let hang = flow.go(&hanging, None, || async {
        pass(seconds(100)).await;
        failure(&hanging, ErrorKind::Timeout)
    });
    let (_, beside) = tokio::join!(hang, ask());
    assert_eq!(beside.result, "kept");
    let refused = flow.go(&hanging, None, || async { hanging.ok("fine") }).await;
    assert_eq!(kind_of(&refused), Some(ErrorKind::Unavailable), "the circuit is open");
    assert_eq!(ask().await.result, "kept");
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_is_bounded_in_number_and_in_bytes() {
    let numbered = |number: usize| call_with(cacheable(json!(true)), "far", 1, json!({"n": number}));
    let bed = Bed::new(json!({"cache": {"max_entries": 10}}));
    for number in 0..100 {
        bed.ask(&numbered(number)).await;
        pass(millis(10)).await;
    }
    assert_eq!(bed.flow.cache.usage().0, 10);
    assert_eq!(bed.ask(&numbered(90)).await, 91, "the youngest are kept");
    assert_eq!(bed.ask(&numbered(89)).await, 101, "the oldest made room");

    let limit = 100_000;
    let flow = flow(json!({"cache": {"max_bytes": limit, "max_entry_bytes": 60_000}}));
    for (number, size) in [1_000, 20_000, 50_000, 59_000, 61_000, 1, 40_000].into_iter().enumerate() {
        let call = numbered(number);
        flow.go(&call, None, || async { call.ok("x".repeat(size)) }).await;
        assert!(flow.cache.usage().1 <= limit);
    }
    let too_large = numbered(4);
    let result = flow.go(&too_large, None, || async { too_large.ok("again") }).await;
    assert_eq!(result.result, "again", "what is too large is not kept");

    let flow = Bed::new(json!({"cache": {"max_entries": 0}}));
    assert_eq!((flow.ask(&numbered(0)).await, flow.ask(&numbered(0)).await), (json!(1), json!(2)));
}

#[tokio::test(start_paused = true)]
async fn small_values_are_weighed_by_what_they_take_in_memory() {
    let flow = flow(json!({"cache": {"max_entry_bytes": 100_000}}));
    let call = call(cacheable(json!(true)), "far");
    // 20,000 bytes as JSON.
    flow.go(&call, None, || async { call.ok(vec![1; 10_000]) }).await;
    assert_eq!(flow.cache.usage().0, 0);
    let mut deep = json!(1);
    for _ in 0..1_000 {
        deep = json!([deep]);
    }
    flow.go(&call, None, || async { call.ok(deep.clone()) }).await;
    assert_eq!(flow.cache.usage().0, 0);
    let large = call_with(cacheable(json!(true)), "far", 1, json!({"text": "x".repeat(100_000)}));
    flow.go(&large, None, || async { large.ok(1) }).await;
    assert_eq!(flow.cache.usage().0, 0, "arguments count too");
}
