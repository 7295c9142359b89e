//! That what a store has acknowledged is there again, and what it says where it cannot.

#[cfg(feature = "postgres")]
mod compatibility;
mod every_store;
#[cfg(all(feature = "postgres", target_os = "linux"))]
mod full_disk;
#[cfg(unix)]
mod killed;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;

use serde_json::{Value, json};

use super::{Change, Record, RecordKind};

fn record(kind: RecordKind, id: &str, body: Value) -> Record {
    Record { kind, id: id.into(), session: "s".into(), body }
}

fn put(id: &str, number: u64) -> Change {
    Change::Put(record(RecordKind::Schedule, id, json!({"number": number})))
}
