//! The approved servers in a table that processes on several machines share.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json, to_value};
use toolcrib_io::table::{RowLock, SharedTable};
use toolcrib_model::random::{hex, random_bytes};

use super::file::{LockedServer, VERSION};

/// The time to wait while another process writes a row.
const PATIENCE: Duration = Duration::from_secs(10);

/// A table with a row for each server.
pub(super) struct LockRows(Arc<dyn SharedTable>);

impl LockRows {
    pub(super) fn new(table: Arc<dyn SharedTable>) -> Self {
        Self(table)
    }

    /// Waits until no other process writes the row of a server.
    pub(super) async fn lock(&self, namespace: &str) -> io::Result<RowLock> {
        let owner = random_bytes::<16>().map_err(io::Error::other)?;
        RowLock::acquire(&self.0, namespace, hex(&owner), PATIENCE).await
    }

    pub(super) async fn read(&self, namespace: &str) -> io::Result<Option<LockedServer>> {
        let Some(mut row) = self.0.get(namespace).await? else { return Ok(None) };
        let invalid = |found: String| {
            let message =
                format!("Expected the approved tools of `{namespace}` in format {VERSION}, found {found}");
            io::Error::new(io::ErrorKind::InvalidData, message)
        };
        match row.get("version").and_then(Value::as_u64) {
            Some(version) if version == u64::from(VERSION) => {}
            version => {
                return Err(invalid(version.map_or("none".into(), |version| format!("format {version}"))));
            }
        }
        let server = row.get_mut("server").map(Value::take).unwrap_or_default();
        serde_json::from_value(server).map(Some).map_err(|error| invalid(error.to_string()))
    }

    pub(super) async fn write(&self, namespace: &str, server: &LockedServer) -> io::Result<()> {
        self.0.put(namespace, json!({"version": VERSION, "server": to_value(server)?})).await
    }
}
