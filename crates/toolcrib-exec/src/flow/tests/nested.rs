//! Tools that call tools.

use futures::FutureExt;
use parking_lot::Mutex;
use toolcrib_policy::RUNTIME_NAMESPACE;

use super::*;

/// A flow in which a source, and so each of its tools, runs one call at a time.
fn one_at_a_time() -> FlowControl {
    flow(json!({"source": {"max_concurrency": 1, "max_concurrency_per_tool": 1}}))
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_calls_its_own_source_does_not_wait_for_itself() {
    let flow = one_at_a_time();
    let context = CallContext::new("s");
    let (outer, inner) = (plain("far"), call(tool("inner"), "far"));
    for below in [&inner, &outer] {
        let result = flow
            .run(&outer, &context, &CallChain::default(), within(60), false, |call_chain| {
                let (flow, context) = (&flow, &context);
                async move {
                    flow.run(below, context, &call_chain, within(60), false, |_| async { below.ok("inside") })
                        .await
                }
            })
            .await;
        assert_eq!(result.result, "inside");
        assert_eq!(flow.usage(), Usage::default());
    }
}

#[tokio::test(start_paused = true)]
async fn a_place_is_lent_to_one_call_at_a_time_and_only_while_it_is_held() {
    let flow = one_at_a_time();
    let context = CallContext::new("s");
    let (outer, inner) = (plain("far"), call(tool("inner"), "far"));
    let kept = Mutex::new(None);
    let started = Instant::now();
    let below = |call_chain: CallChain| {
        let (flow, context, inner) = (&flow, &context, &inner);
        async move {
            let attempt = |_| async {
                pass(seconds(1)).await;
                inner.ok("inside")
            };
            flow.run(inner, context, &call_chain, within(60), false, attempt).await
        }
    };
    let result = flow
        .run(&outer, &context, &CallChain::default(), within(60), false, |call_chain| {
            *kept.lock() = Some(call_chain.clone());
            let calls = [below(call_chain.clone()), below(call_chain.clone()), below(call_chain)];
            let outer = &outer;
            async move {
                let results = futures::future::join_all(calls).await;
                outer.ok(results.iter().filter(|result| result.is_ok()).count())
            }
        })
        .await;
    assert_eq!((result.result, started.elapsed()), (json!(3), seconds(3)));

    // The call above is over: whoever kept its lineage waits like everybody else.
    let kept = kept.into_inner().unwrap();
    let stranger = flow.go(&outer, within(60), || async {
        pass(seconds(10)).await;
        outer.ok("alone")
    });
    let started = Instant::now();
    let (_, late) = tokio::join!(stranger, below(kept).map(|_| started.elapsed()));
    assert_eq!(late, seconds(11));
}

#[tokio::test(start_paused = true)]
async fn tools_of_the_runtime_hold_nothing() {
    let flow = one_at_a_time();
    let forwarder = Tool::new(QualifiedName::new(RUNTIME_NAMESPACE, "execute_tool").unwrap());
    let forwarder = call(forwarder.with_metadata("forwards", true), "runtime");
    let inside = call(tool("inner"), "runtime");
    let result = flow
        .go(&forwarder, None, || async {
            assert_eq!(flow.usage(), Usage::default());
            flow.go(&inside, within(60), || async { inside.ok("inside") }).await
        })
        .await;
    assert_eq!(result.result, "inside");
}
