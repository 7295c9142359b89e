//! When sources are loaded again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::timeout;
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_port::{LoadOutcome, RejectKind, ToolLoader};
use toolcrib_registry::ToolRegistry;

use super::{PAUSE, SETTLING, Watcher};

/// A source that says at every moment that it has changed, and whose second load and all after it fail.
#[derive(Default)]
struct Restless {
    loads: AtomicUsize,
}

#[async_trait]
impl ToolLoader for Restless {
    fn source(&self) -> &'static str {
        "restless"
    }

    async fn load(&self) -> LoadOutcome {
        if self.loads.fetch_add(1, Ordering::SeqCst) > 0 {
            return LoadOutcome::failed("restless", RejectKind::Unavailable, "it is down");
        }
        let mut loaded = LoadOutcome::default();
        loaded.tools.push(Tool::new(QualifiedName::new("test", "one").unwrap()));
        loaded
    }

    async fn changed(&self) {}
}

#[tokio::test(start_paused = true)]
async fn a_source_that_never_rests_is_loaded_now_and_then_keeps_its_tools_and_not_at_all_after_the_end() {
    let loader = Arc::new(Restless::default());
    let registry = Arc::new(ToolRegistry::new());
    registry.add_loader(loader.clone());
    registry.refresh().await.unwrap();
    let watcher = Watcher::start(Vec::new(), vec![loader.clone()], &registry).unwrap();
    let time = Duration::from_mins(1);
    // On the paused clock.
    let passes = || timeout(time, std::future::pending::<()>());
    passes().await.unwrap_err();
    let loads = loader.loads.load(Ordering::SeqCst);
    let most = time.div_duration_f64(PAUSE + SETTLING).ceil();
    assert!(loads > 2 && f64::from(u32::try_from(loads).unwrap()) <= most + 1.0, "{loads}");
    assert!(registry.snapshot().get(&QualifiedName::new("test", "one").unwrap()).is_some());

    watcher.stop();
    passes().await.unwrap_err();
    assert_eq!(loader.loads.load(Ordering::SeqCst), loads);
}
