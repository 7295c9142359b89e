//! That what a store has acknowledged is there again, and what it says where it cannot.

mod every_store;
mod sqlite;

use serde_json::{Value, json};

use super::{Change, Kind, Record};

fn record(kind: Kind, id: &str, body: Value) -> Record {
    Record { kind, id: id.into(), session: "s".into(), body }
}

fn put(id: &str, number: u64) -> Change {
    Change::Put(record(Kind::Schedule, id, json!({"number": number})))
}
