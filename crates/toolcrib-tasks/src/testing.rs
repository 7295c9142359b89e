//! Test support for tasks.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;
use toolcrib_exec::{Callback, DenyAll, Executor};
use toolcrib_policy::{Capabilities, Policy, Question};
use toolcrib_port::{Answer, Approver, ToolLoader as _};
use toolcrib_registry::ToolRegistry;
use toolcrib_sdk::Module;

use crate::store::{Change, MemoryStore, Record, RecordKind, StoreError};
use crate::{Clock, Store, TaskPorts};

/// A clock that follows the time of the Tokio runtime, which tests can pause, and that can be set.
pub(crate) struct TestClock {
    start: Instant,
    set: Mutex<Timestamp>,
}

impl TestClock {
    pub(crate) fn at(time: &str) -> Self {
        Self { start: Instant::now(), set: Mutex::new(time.parse().unwrap()) }
    }

    /// Sets the clock forward or back.
    pub(crate) fn jump(&self, by: SignedDuration) {
        let mut set = self.set.lock();
        *set = set.checked_add(by).unwrap();
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        self.set.lock().checked_add(self.start.elapsed()).unwrap()
    }
}

/// A store in memory that gives way before and after each operation, as one on a disk does.
#[derive(Default)]
pub(crate) struct YieldingStore(MemoryStore);

impl YieldingStore {
    async fn yielding<T>(&self, operation: impl Future<Output = T>) -> T {
        tokio::task::yield_now().await;
        let result = operation.await;
        tokio::task::yield_now().await;
        result
    }
}

#[async_trait]
impl Store for YieldingStore {
    async fn list(&self, kind: RecordKind, prefix: &str) -> Result<Vec<Record>, StoreError> {
        self.yielding(self.0.list(kind, prefix)).await
    }

    async fn remove_ended(&self) -> Result<(), StoreError> {
        self.0.remove_ended().await
    }
    async fn get(&self, kind: RecordKind, id: &str) -> Result<Option<Record>, StoreError> {
        self.yielding(self.0.get(kind, id)).await
    }
    async fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        self.yielding(self.0.apply(changes)).await
    }
    async fn lease(&self, id: &str, owner: &str, time: Duration) -> Result<bool, StoreError> {
        self.yielding(self.0.lease(id, owner, time)).await
    }
    async fn release(&self, id: &str, owner: &str) -> Result<(), StoreError> {
        self.yielding(self.0.release(id, owner)).await
    }
    fn is_durable(&self) -> bool {
        false
    }
    async fn close(&self) {}
}

/// Returns a person who approves one call each time that the other part is notified.
pub(crate) fn slow_approver() -> (Arc<dyn Approver>, Arc<Notify>) {
    let yes = Arc::new(Notify::new());
    let approved = Arc::clone(&yes);
    let approver = Callback::new(move |question: Question| {
        let yes = Arc::clone(&approved);
        async move {
            yes.notified().await;
            Answer::Approved(question.approve())
        }
    });
    (Arc::new(approver), yes)
}

/// Returns the ports of tasks that call the tools of an executor.
pub(crate) fn ports(executor: &Arc<Executor>) -> TaskPorts {
    TaskPorts { tool_caller: Some(executor.tool_caller()), ..TaskPorts::default() }
}

/// Adds the tools of a module to those of an executor.
pub(crate) async fn add(executor: &Executor, module: Module) {
    let module = Arc::new(module);
    executor.add_engine(module.source(), Arc::clone(&module) as _);
    executor.registry().add_loader(module);
    executor.registry().refresh().await.unwrap();
}

/// Returns an executor for the tools of a module, under these rules.
pub(crate) async fn executor(module: Module, rules: &Value) -> Arc<Executor> {
    executor_under(module, policy(rules)).await
}

/// Returns a policy of these rules.
pub(crate) fn policy(rules: &Value) -> Policy {
    Policy::new(&serde_json::from_value::<Capabilities>(rules.clone()).unwrap(), []).unwrap()
}

/// Returns an executor for the tools of a module, under this policy.
pub(crate) async fn executor_under(module: Module, policy: Policy) -> Arc<Executor> {
    executor_with(module, policy, Arc::new(DenyAll)).await
}

/// Returns an executor for the tools of a module, under this policy and with this approver.
pub(crate) async fn executor_with(
    module: Module,
    policy: Policy,
    approver: Arc<dyn Approver>,
) -> Arc<Executor> {
    let registry = Arc::new(ToolRegistry::new());
    let executor = Executor::new(registry, Arc::new(policy), approver)
        .with_earlier_names(crate::background::resolve_former_name);
    add(&executor, module).await;
    Arc::new(executor)
}
