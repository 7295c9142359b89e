//! Results that another process reads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_port::CallContext;

use crate::{ResultArchive, ResultLimits, Results};

/// An archive in memory, which can be away.
#[derive(Default)]
struct Archive {
    results: Mutex<BTreeMap<String, Value>>,
    is_away: Mutex<bool>,
}

impl Archive {
    fn reached(&self) -> Result<(), ToolError> {
        if *self.is_away.lock() { Err(ToolError::new(ErrorKind::Unavailable, "it is away")) } else { Ok(()) }
    }
}

#[async_trait]
impl ResultArchive for Archive {
    async fn put(&self, handle: &str, _: &str, result: Value, _: Duration) -> Result<(), ToolError> {
        self.reached()?;
        self.results.lock().insert(handle.to_owned(), result);
        Ok(())
    }

    async fn get(&self, handle: &str) -> Result<Option<Value>, ToolError> {
        self.reached()?;
        Ok(self.results.lock().get(handle).cloned())
    }

    async fn remove(&self, handles: Vec<String>) -> Result<(), ToolError> {
        self.reached()?;
        self.results.lock().retain(|handle, _| !handles.contains(handle));
        Ok(())
    }
}

fn sharing(archive: &Arc<Archive>) -> Results {
    let results = Results::new(ResultLimits::new(500));
    results.share(Arc::clone(archive) as _);
    results
}

/// Makes a long result, and returns its handle.
async fn make(results: &Results, context: &CallContext) -> Result<String, ToolError> {
    let result = ToolResult::ok(None, "t::log", json!("a line\n".repeat(2_000)));
    let result = results.shape(result, None, context);
    let handle = result.metadata["handle"].as_str().unwrap().to_owned();
    results.save().await.map(|()| handle)
}

async fn read(results: &Results, handle: &str, context: &CallContext) -> Result<Value, ToolError> {
    let request = serde_json::from_value(json!({"handle": handle, "lines": "1-2"})).unwrap();
    results.read(request, context).await
}

#[tokio::test]
async fn a_result_of_one_process_is_read_by_its_owner_at_another_and_by_nobody_else() {
    let archive = Arc::new(Archive::default());
    let (one, two) = (sharing(&archive), sharing(&archive));
    let (owner, other) = (CallContext::new("s"), CallContext::new("t"));
    let handle = make(&one, &owner).await.unwrap();
    for _ in 0..2 {
        assert!(read(&two, &handle, &owner).await.unwrap().to_string().contains("a line"));
        assert_eq!(read(&two, &handle, &other).await.unwrap_err().kind, ErrorKind::NotFound);
    }
    assert_eq!(read(&two, "no handle", &owner).await.unwrap_err().kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn a_result_that_cannot_be_archived_is_read_where_it_was_made_and_elsewhere_the_reason_is_told() {
    let archive = Arc::new(Archive::default());
    let (one, two, owner) = (sharing(&archive), sharing(&archive), CallContext::new("s"));
    let shared = make(&one, &owner).await.unwrap();
    *archive.is_away.lock() = true;
    assert_eq!(make(&one, &owner).await.unwrap_err().message, "it is away");
    assert!(read(&one, &shared, &owner).await.is_ok());
    assert_eq!(read(&two, &shared, &owner).await.unwrap_err().kind, ErrorKind::Unavailable);
    *archive.is_away.lock() = false;
    assert!(read(&two, &shared, &owner).await.is_ok());
}

#[tokio::test]
async fn a_result_that_makes_room_for_another_is_removed_from_the_archive() {
    let archive = Arc::new(Archive::default());
    let (results, owner) = (sharing(&archive), CallContext::new("s"));
    let first = make(&results, &owner).await.unwrap();
    for _ in 0..crate::limits::MAX_STORED_SESSION_RESULTS {
        make(&results, &owner).await.unwrap();
    }
    let archived = archive.results.lock();
    assert_eq!(archived.len(), crate::limits::MAX_STORED_SESSION_RESULTS);
    assert!(!archived.contains_key(&first));
}
