//! A future that is dropped, at whatever moment, gives everything back.

use std::task::{Context, Poll, Waker};

use futures::future::LocalBoxFuture;

use super::*;

/// How many calls memory is watched over.
const ROUNDS: u64 = 40_000;

/// More steps than any of the calls here takes.
const MAX_STEPS: usize = 200;

type Running = LocalBoxFuture<'static, ToolResult>;

/// Calls that take a while, in a flow.
struct Bed {
    flow: Arc<FlowControl>,
    plain: Arc<Authorized<Call>>,
    same: Arc<Authorized<Call>>,
    again: Arc<Authorized<Call>>,
}

impl Bed {
    fn new(settings: Value) -> Self {
        Self {
            flow: Arc::new(flow(settings)),
            plain: Arc::new(plain("far")),
            same: Arc::new(call(cacheable(json!(true)), "far")),
            again: Arc::new(call(idempotent("again"), "far")),
        }
    }

    /// A call that is made after so many seconds, takes so many and then comes to this.
    fn late(
        &self,
        wait: u64,
        call: &Arc<Authorized<Call>>,
        time: u64,
        ends: Result<(), ErrorKind>,
    ) -> Running {
        let (flow, call) = (Arc::clone(&self.flow), Arc::clone(call));
        Box::pin(async move {
            pass(seconds(wait)).await;
            let attempt = || async {
                pass(seconds(time)).await;
                ends.map_or_else(|kind| failure(&call, kind), |()| call.ok("fine"))
            };
            flow.go(&call, within(90), attempt).await
        })
    }

    fn taking(&self, time: u64) -> Running {
        self.late(0, &self.plain, time, Ok(()))
    }
}

fn poll(running: &mut Option<Running>) -> bool {
    let Some(future) = running else { return false };
    let ended = matches!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(_));
    if ended {
        *running = None;
    }
    ended
}

/// A call, and those beside it: before it, and after it.
struct Scene {
    before: Vec<Running>,
    call: Running,
    after: Vec<Running>,
}

/// Polls all once a second, and drops the call after so many polls. Whether it had ended by then. All beside it end, and
/// the flow then holds nothing.
async fn dropped_after(polls: usize, flow: &FlowControl, scene: Scene) -> bool {
    let mut beside: Vec<_> = scene.before.into_iter().map(Some).collect();
    let first_after = beside.len();
    beside.extend(scene.after.into_iter().map(Some));
    let mut call = Some(scene.call);
    let mut ended = false;
    for step in 0..MAX_STEPS {
        let (before, after) = beside.split_at_mut(first_after);
        for running in before {
            poll(running);
        }
        if step < polls {
            ended |= poll(&mut call);
        } else {
            call = None;
        }
        for running in after {
            poll(running);
        }
        tokio::time::advance(seconds(1)).await;
    }
    assert!(
        beside.iter().all(Option::is_none),
        "dropped after {polls} polls, it keeps the others from ending"
    );
    assert_eq!(flow.usage(), Usage::default(), "dropped after {polls} polls");
    ended
}

/// What a scene shows, its settings, the least number of polls that it takes, and the scene.
type Row = (&'static str, Value, usize, fn(&Bed) -> Scene);

#[tokio::test(start_paused = true)]
async fn a_call_dropped_at_any_poll_gives_everything_back() {
    let one = || json!({"source": {"max_concurrency": 1}});
    let table: [Row; 7] = [
        ("it runs", one(), 5, |bed| Scene { before: vec![], call: bed.taking(5), after: vec![] }),
        ("it waits for its place, and runs", one(), 12, |bed| Scene {
            before: vec![bed.taking(5), bed.taking(3)],
            call: bed.taking(5),
            after: vec![bed.taking(1)],
        }),
        (
            "it waits for its turn, and runs",
            json!({"source": {"rate": {"calls": 1, "per_seconds": 5}}}),
            14,
            |bed| Scene {
                before: vec![bed.taking(1), bed.taking(1)],
                call: bed.taking(5),
                after: vec![bed.taking(1)],
            },
        ),
        ("it runs three times", one(), 9, |bed| Scene {
            before: vec![],
            call: bed.late(0, &bed.again, 3, Err(ErrorKind::Unavailable)),
            after: vec![bed.taking(1)],
        }),
        ("it leads", one(), 5, |bed| Scene {
            before: vec![],
            call: bed.late(0, &bed.same, 5, Ok(())),
            after: vec![bed.late(0, &bed.same, 5, Ok(())), bed.late(0, &bed.same, 5, Ok(()))],
        }),
        ("it follows", one(), 5, |bed| Scene {
            before: vec![bed.late(0, &bed.same, 5, Ok(()))],
            call: bed.late(0, &bed.same, 5, Ok(())),
            after: vec![bed.late(0, &bed.same, 5, Ok(()))],
        }),
        ("it probes", json!({"source": {"breaker": {"failures": 1, "open_seconds": 5}}}), 13, |bed| Scene {
            before: vec![bed.late(0, &bed.plain, 1, Err(ErrorKind::Timeout))],
            call: bed.late(10, &bed.plain, 3, Ok(())),
            after: vec![bed.late(20, &bed.plain, 3, Ok(()))],
        }),
    ];
    for (what, settings, least, scene) in table {
        for polls in 0.. {
            assert!(polls < MAX_STEPS, "{what}, and never ends");
            let bed = Bed::new(settings.clone());
            if dropped_after(polls, &bed.flow, scene(&bed)).await {
                assert!(polls >= least, "{what}, and ends after {polls} polls");
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_leaves_the_probing_to_the_next_call() {
    let bed = Bed::new(json!({"source": {"breaker": {"failures": 1, "open_seconds": 5}}}));
    bed.late(0, &bed.plain, 1, Err(ErrorKind::Timeout)).await;
    pass(seconds(5)).await;
    assert!(tokio::time::timeout(seconds(1), bed.taking(3)).await.is_err());
    assert!(bed.taking(3).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn memory_stays_flat_over_many_sources_tools_and_sessions() {
    let flow =
        flow(json!({"cache": {"max_entries": 100}, "source": {"rate": {"calls": 1000, "per_seconds": 1}}}));
    let mut most = [0; 2];
    for round in 0..ROUNDS {
        let source = format!("source {}", round / 100);
        let tool =
            tool(&format!("tool_{}", round % 1_000)).with_risk(Risk::Low).with_metadata("cacheable", true);
        let call = call(tool, &source);
        let context = CallContext::new(format!("session {round}"));
        let ends = if round % 100 == 0 { Err(ErrorKind::Timeout) } else { Ok(()) };
        let attempt = |_| async { ends.map_or_else(|kind| failure(&call, kind), |()| call.ok(round)) };
        let above = CallChain::default();
        let running = flow.run(&call, &context, &above, within(60), false, attempt);
        if round % 101 == 0 {
            drop(running);
        } else {
            running.await;
        }
        if round % 100 == 0 {
            let half = usize::from(round >= ROUNDS / 2);
            most[half] = most[half].max(flow.known());
            // Failures are remembered for a while, and then forgotten.
            pass(seconds(5)).await;
        }
    }
    assert!(most[1] <= most[0], "so many sources and tools were known in each half: {most:?}");
    assert_eq!(flow.cache.usage().0, 100);
    assert_eq!(flow.usage(), Usage::default());
}
