//! How the calls of scripts are made, and how scripts are resumed.

use serde_json::json;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_script::{CallState, Outcome, ScriptError, ScriptLog};

use super::support::{Lab, Test, ended, script};
use crate::tests;

pub(crate) const TESTS: &[Test] = tests![
    calls_have_results_and_run_at_once_up_to_the_limit,
    a_failed_call_throws_an_error_that_can_be_caught,
    calls_are_limited_in_number_and_size,
    a_result_cannot_change_the_objects_of_the_script,
    calls_under_way_end_when_their_script_does,
    a_script_without_an_approver_pauses_and_is_resumed,
    a_script_resumes_from_every_log_that_was_stored,
    results_are_replayed_in_the_order_of_their_delivery,
    a_script_that_runs_differently_is_not_resumed,
    a_tool_that_changed_during_the_pause_is_not_called,
    a_call_that_cannot_be_recorded_does_not_run,
];

async fn calls_have_results_and_run_at_once_up_to_the_limit() {
    let lab = Lab::new();
    let source = "const all = await Promise.all([...Array(20).keys()].map(n => tools.math.slow({n})));
        return all.reduce((a, b) => a + b) + await tools.math.add({a: 1, b: 2})";
    assert_eq!(lab.value(source).await, json!(193));
    assert_eq!(lab.tools.most_at_once(), 8);
    let ids: Vec<_> = lab.tools.calls.lock().iter().filter_map(|call| call.call_id.clone()).collect();
    assert_eq!((ids[0].as_str(), ids[20].as_str()), ("script-1.0", "script-1.20"));
}

async fn a_failed_call_throws_an_error_that_can_be_caught() {
    let lab = Lab::new();
    let source = "try { await tools.math.fail() } catch (e) {
        return [e instanceof ToolError, e instanceof Error, e.kind, e.message, e.hint, e.retryable] }";
    assert_eq!(
        lab.value(source).await,
        json!([true, true, "tool_failed", "it always fails", "do not call it", false])
    );
    let uncaught = lab.error("await tools.math.fail()").await;
    assert_eq!(uncaught.to_tool_error().hint.as_deref(), Some("do not call it"));
    assert_eq!(uncaught.to_string(), "ToolError: it always fails");
}

async fn calls_are_limited_in_number_and_size() {
    let lab = Lab::new();
    let many = lab.error("await Promise.all([...Array(51).keys()].map(n => tools.math.add({a: n})))").await;
    assert!(many.to_string().contains("at most 50 calls"), "{many}");
    let source = "try { await tools.text.repeat({count: 2 ** 20}) } catch (e) { return e.kind }";
    assert_eq!(lab.value(source).await, json!("limit_reached"));
    // Nine results of 1 MB are more than 8 MiB.
    let source = "let n = 0; try { for (;;) { await tools.text.repeat({count: 1e6}); n++ } } catch (e) { return [n, e.kind] }";
    assert_eq!(lab.value(source).await, json!([8, "limit_reached"]));
    let large = lab.error("await tools.math.add({a: 'x'.repeat(2 ** 20)})").await;
    assert!(large.to_string().contains("have at most 1048576 bytes"), "{large}");
    let at_once =
        lab.error("await Promise.all([...Array(9)].map(() => tools.math.add({a: 'x'.repeat(1e6)})))").await;
    assert!(at_once.to_string().contains("await some of them first"), "{at_once}");
    assert!(lab.error("await tools.math.add(1)").await.to_string().contains("takes one object"));
}

async fn a_result_cannot_change_the_objects_of_the_script() {
    let source = "const r = await tools.text.hostile(); return [r.toJSON, r.then, ({}).polluted === undefined, Object.keys(r)]";
    assert_eq!(Lab::new().value(source).await, json!([1, "no", true, ["__proto__", "then", "toJSON"]]));
}

async fn calls_under_way_end_when_their_script_does() {
    let lab = Lab::new();
    let report = lab.run("for (let n = 0; n < 10; n++) tools.math.slow({n}); return 'done'").await;
    assert_eq!(report.outcome, Outcome::Ended(Ok(json!("done"))));
    assert_eq!((report.abandoned, lab.tools.ran().len()), (10, 0));
}

async fn a_script_without_an_approver_pauses_and_is_resumed() {
    let lab = Lab::new();
    let source =
        "const [a, b] = await Promise.all([tools.math.add({a: 1, b: 2}), tools.secret.send({to: 'x'})]);
        console.log('sent'); return [a, b, Math.random()]";
    let paused = lab.run(source).await;
    let Outcome::Paused(waiting) = &paused.outcome else {
        panic!("expected a pause, found {:?}", paused.outcome)
    };
    assert_eq!(waiting[0].tool, "secret.send");
    assert_eq!(lab.journal.logs.lock().last(), Some(&paused.log), "the log is stored before the pause");
    assert_eq!((lab.tools.ran(), paused.log.deliveries.as_slice()), (vec!["math.add".to_owned()], &[0][..]));
    // Nobody approves it the next time either.
    let again = lab.resume(&script(source), paused.log.clone()).await;
    assert_eq!(again.outcome, paused.outcome);
    *lab.tools.approves.lock() = true;
    let report = lab.resume(&script(source), again.log).await;
    assert_eq!(report.console, "sent\n");
    let value = ended(report).expect("a result");
    assert_eq!((&value[0], &value[1]), (&json!(3), &json!({"written": {"to": "x"}})));
    assert_eq!(lab.tools.ran(), ["math.add", "secret.send"], "each call is made once");
}

async fn a_script_resumes_from_every_log_that_was_stored() {
    let source = "let sum = 0;
        for (let n = 0; n < 3; n++) {
            const { written } = await tools.notes.write({n: await tools.math.add({a: n, b: 1})});
            sum += written.n;
        }
        return sum";
    let lab = Lab::new();
    assert_eq!(lab.value(source).await, json!(6));
    let logs = lab.journal.logs.lock().clone();
    assert_eq!(logs.len(), 6, "one before and one after each call that may not be repeated");
    for log in logs {
        let begun = log.calls.iter().filter(|call| call.state == CallState::Begun).count();
        let ended_before = log
            .calls
            .iter()
            .filter(|call| call.tool == "notes.write" && matches!(call.state, CallState::Ended(_)))
            .count();
        let lab = Lab::new();
        let report = lab.resume(&script(source), log).await;
        let written = lab.tools.ran().iter().filter(|name| *name == "notes.write").count();
        if begun == 0 {
            assert_eq!(ended(report), Ok(json!(6)));
            assert_eq!(written + ended_before, 3);
        } else {
            let error = ended(report).expect_err("a call whose outcome is unknown");
            assert!(error.to_string().contains("its effect is unknown"), "{error}");
            assert_eq!(written, 0, "a call that had begun is not made again");
        }
    }
}

async fn results_are_replayed_in_the_order_of_their_delivery() {
    let source = "const order = [];
        const of = async (name, call) => { await call; order.push(name) };
        await Promise.all([of('slow', tools.math.slow({n: 1})), of('fast', tools.math.add({a: 1}))]);
        await tools.secret.send({order});
        return order";
    let lab = Lab::new();
    let paused = lab.run(source).await;
    assert_eq!(paused.log.deliveries, [1, 0]);
    *lab.tools.approves.lock() = true;
    assert_eq!(ended(lab.resume(&script(source), paused.log).await), Ok(json!(["fast", "slow"])));
}

async fn a_script_that_runs_differently_is_not_resumed() {
    let lab = Lab::new();
    let paused = lab.run("await tools.math.add({a: 1}); await tools.secret.send({n: 1})").await;
    *lab.tools.approves.lock() = true;
    for other in [
        "await tools.math.add({a: 2}); await tools.secret.send({n: 1})",
        "await tools.math.add({a: 1}); await tools.secret.send({n: 2})",
        "await tools.math.add({a: 1})",
        "return 1",
    ] {
        let report = lab.resume(&script(other), paused.log.clone()).await;
        assert!(matches!(ended(report), Err(ScriptError::Diverged { .. })), "{other}");
    }
    let mut invented = ScriptLog::default();
    invented.deliveries.push(4);
    assert!(matches!(
        ended(lab.resume(&script("return 1"), invented).await),
        Err(ScriptError::Diverged { .. })
    ));
    assert_eq!(lab.tools.ran(), ["math.add"], "nothing was sent");
}

async fn a_tool_that_changed_during_the_pause_is_not_called() {
    let lab = Lab::new();
    let source = "try { await tools.secret.send({}) } catch (e) { return e.kind }";
    let paused = lab.run(source).await;
    *lab.tools.approves.lock() = true;
    lab.tools.changed.lock().push("secret.send".to_owned());
    assert_eq!(ended(lab.resume(&script(source), paused.log).await), Ok(json!("tool_changed")));
    assert!(lab.tools.ran().is_empty());
}

async fn a_call_that_cannot_be_recorded_does_not_run() {
    let lab = Lab::new();
    *lab.journal.is_broken.lock() = true;
    let source = "await tools.math.add({}); try { await tools.notes.write({}) } catch (e) { return [e.kind, e.message] }";
    assert_eq!(lab.value(source).await, json!(["unavailable", "the disk is full"]));
    assert_eq!(lab.tools.ran(), ["math.add"]);
    let error = lab.error("await tools.secret.send({})").await.to_tool_error();
    assert_eq!(
        error,
        ToolError::new(ErrorKind::Unavailable, "the script cannot wait for an approval: the disk is full")
            .with_hint("tell the user; the calls that it has made are not undone")
    );
}
