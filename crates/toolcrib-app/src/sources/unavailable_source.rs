//! A source that cannot be opened here, while the others can.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use toolcrib_document::{Error as DocumentError, path_of};
use toolcrib_port::{LoadOutcome, Reject, RejectKind, ToolLoader};
use toolcrib_sdk::Source;

use super::BuiltSource;
use crate::AppFile;

/// In the place of a source that cannot be used: no tools, and a reject that says why.
pub struct UnavailableSource {
    namespace: Option<String>,
    reject: Reject,
}

impl UnavailableSource {
    /// Creates the source of a reject. Its namespace stays its own, so that no other source acts under what is granted to
    /// it.
    pub fn new(namespace: Option<String>, reject: Reject) -> Self {
        Self { namespace, reject }
    }
}

/// Makes a source without tools of an entry that cannot be read, for this reason.
pub(super) fn unusable(file: &AppFile, entry: &Value, pointer: &str, error: DocumentError) -> BuiltSource {
    let text = |key: &str| {
        entry
            .get(key)
            .and_then(Value::as_str)
            .filter(|text| !["${", "{{"].iter().any(|begin| text.contains(begin)))
    };
    let kind = text("type").unwrap_or("source");
    let namespace = text("namespace").map(str::to_owned);
    let namespace = namespace.or_else(|| text("name").map(|name| format!("mcp_{name}")));
    let label = namespace.clone().or_else(|| text("path").map(str::to_owned));
    let label = label.unwrap_or_else(|| format!("at {}", path_of(pointer)));
    // Any file may hold tools of a namespace that others have, too.
    let namespace = namespace.filter(|_| !["file", "inline"].contains(&kind));
    let reason = file.readable(error, pointer).at(&file.name);
    let reject = Reject::source(format!("{kind} {label}"), RejectKind::Unavailable, &reason);
    let source = Source::new(Arc::new(UnavailableSource::new(namespace, reject))).local();
    BuiltSource { unusable: Some(reason), ..BuiltSource::new(source) }
}

#[async_trait]
impl ToolLoader for UnavailableSource {
    fn source(&self) -> &str {
        &self.reject.source
    }

    fn exclusive_namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    async fn load(&self) -> LoadOutcome {
        LoadOutcome { tools: Vec::new(), rejected: vec![self.reject.clone()] }
    }
}
