//! What the entrance promises of calls that tell how far they are.

use parking_lot::Mutex;
use toolcrib_model::Secret;
use toolcrib_port::{Progress, ProgressListener};
use toolcrib_results::{Results, Secrets};

use super::*;

/// Tells of its progress each so many seconds: as often as its arguments say, or without end.
struct Worker;

#[async_trait]
impl ToolEngine for Worker {
    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        let number = |key: &str| call.arguments.get(key).and_then(Value::as_u64);
        let (every, times) = (number("every").unwrap(), number("times").unwrap_or(u64::MAX));
        for done in 0..times {
            // On the paused clock.
            let nothing = std::future::pending::<()>();
            tokio::time::timeout(Duration::from_secs(every), nothing).await.unwrap_err();
            let message = Some(format!("step {done} with the key open-sesame"));
            let done = f64::from(u32::try_from(done).unwrap());
            context.progress.as_ref().unwrap().progress(&Progress { done, total: None, message });
        }
        call.ok("done")
    }

    fn reports_progress(&self) -> bool {
        true
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<Progress>>);

impl ProgressListener for Heard {
    fn progress(&self, progress: &Progress) {
        self.0.lock().push(progress.clone());
    }
}

async fn work(arguments: Value) -> (ToolResult, Vec<Progress>, Duration) {
    let schema = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let tool = Tool::new(QualifiedName::new("t", "work").unwrap()).with_parameters(schema);
    let registry = ToolRegistry::from_tools("test", [tool]).unwrap();
    let policy = serde_json::from_value(json!({"default_policy": "grant"})).unwrap();
    let secrets = Secrets::new();
    assert!(secrets.add("KEY", Secret::new("open-sesame")));
    let executor =
        Executor::new(Arc::new(registry), Arc::new(Policy::new(&policy, []).unwrap()), Arc::new(DenyAll))
            .with_engine("test", Arc::new(Worker))
            .with_results(Arc::new(Results::default().with_secrets(secrets)));
    let heard = Arc::new(Heard::default());
    let context = CallContext::new("s").with_progress(heard.clone());
    let started = tokio::time::Instant::now();
    let call = ToolCall::new("t.work", arguments.as_object().unwrap().clone());
    let result = Arc::new(executor).call(call, &context).await;
    let heard = std::mem::take(&mut *heard.0.lock());
    (result, heard, started.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_call_that_tells_of_its_progress_outlives_its_deadline() {
    let (result, heard, took) = work(json!({"every": 50, "times": 5})).await;
    assert!(result.is_ok(), "{result:?}");
    assert_eq!((heard.len(), took.as_secs()), (5, 250));
}

#[tokio::test(start_paused = true)]
async fn progress_without_end_ends_at_the_maximum() {
    let (result, _, took) = work(json!({"every": 1})).await;
    let error = result.error.unwrap();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Timeout, "`t.work` did not end within its deadline of 600 s")
    );
    assert_eq!(took, crate::limits::MAX_DEADLINE);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_falls_silent_has_its_deadline_from_its_last_sign_on() {
    let (result, _, took) = work(json!({"every": 59, "times": 1})).await;
    assert!(result.is_ok());
    assert_eq!(took.as_secs(), 59);
    let (result, heard, took) = work(json!({"every": 61})).await;
    assert_eq!(result.error.unwrap().kind, ErrorKind::Timeout);
    assert_eq!((heard.len(), took.as_secs()), (0, 60));
}

#[tokio::test(start_paused = true)]
async fn a_message_of_progress_holds_no_secret() {
    let (_, heard, _) = work(json!({"every": 1, "times": 1})).await;
    assert_eq!(heard[0].message.as_deref(), Some("step 0 with the key [secret KEY]"));
}
