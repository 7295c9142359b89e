//! Journals of SQLite that lie beside a database.

use std::fs;
use std::path::Path;

use serde_json::json;
use toolcrib_model::ErrorKind;
use toolcrib_modules::{ModuleContext, build};

use super::{Place, call, context, database, writing};

/// A hot journal without pages that names a super-journal.
fn with_super_journal(database: &Path, victim: &Path) -> Vec<u8> {
    const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let (page_size, sector) = (4096_u32, 512_u32);
    let pages = u32::try_from(fs::metadata(database).unwrap().len()).unwrap() / page_size;
    let mut journal = MAGIC.to_vec();
    for number in [0, 0x1234, pages, sector, page_size] {
        journal.extend(number.to_be_bytes());
    }
    journal.resize(sector as usize, 0);
    let name = victim.to_str().unwrap().as_bytes();
    let checksum = name.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    journal.extend((0x4000_0000 / page_size + 1).to_be_bytes());
    journal.extend(name);
    journal.extend(u32::try_from(name.len()).unwrap().to_be_bytes());
    journal.extend(checksum.to_be_bytes());
    journal.extend(MAGIC);
    journal
}

async fn with_table() -> Place {
    let place = Place::sqlite(&writing());
    place.execute("CREATE TABLE t (x INTEGER)", json!([])).await;
    place.execute("INSERT INTO t VALUES (1)", json!([])).await;
    place
}

#[tokio::test]
async fn no_file_is_deleted_that_a_journal_names() {
    let mut place = with_table().await;
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("precious.txt");
    fs::write(&victim, "precious").unwrap();
    let journal = place.dir.path().join("data.db-journal");
    fs::write(&journal, with_super_journal(&place.file(), &victim)).unwrap();
    // By a connection that is open already, and by a new one.
    for _ in 0..2 {
        for (name, arguments) in [
            ("query", json!({"sql": "SELECT * FROM t"})),
            ("execute", json!({"sql": "INSERT INTO t VALUES (2)"})),
            ("list_tables", json!({})),
        ] {
            let error = place.error(name, arguments).await;
            assert_eq!(error.kind, ErrorKind::Denied, "{name}: {error}");
            assert!(error.message.contains("data.db-journal"), "{error}");
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        place.module = place.another(&writing());
    }
    fs::remove_file(journal).unwrap();
    assert_eq!(place.rows("SELECT * FROM t", json!([])).await, json!([[1]]));
}

#[tokio::test]
async fn a_journal_of_a_crash_is_rolled_back() {
    let mut place = with_table().await;
    let file = place.file();
    let (page_size, sector) = (4096_usize, 512_usize);
    let before = fs::read(&file).unwrap();
    // Its first page as it was before a transaction that broke off.
    let mut journal = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let pages = u32::try_from(before.len() / page_size).unwrap();
    for number in [1_u32, 0, pages, 512, 4096] {
        journal.extend(number.to_be_bytes());
    }
    journal.resize(sector, 0);
    let page = &before[..page_size];
    let mut checksum = 0_u32;
    let mut at = page_size - 200;
    while at > 0 {
        checksum += u32::from(page[at]);
        at = at.saturating_sub(200);
    }
    journal.extend(1_u32.to_be_bytes());
    journal.extend(page);
    journal.extend(checksum.to_be_bytes());
    let mut broken = before.clone();
    broken[100..page_size].fill(0);
    place.module = toolcrib_modules::hello::module();
    fs::write(&file, &broken).unwrap();
    fs::write(place.dir.path().join("data.db-journal"), &journal).unwrap();
    place.module = place.another(&writing());
    assert_eq!(place.rows("SELECT * FROM t", json!([])).await, json!([[1]]));
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[tokio::test]
async fn no_tool_writes_the_journal_of_an_open_database() {
    let place = with_table().await;
    let module_context = ModuleContext::new(place.dir.path());
    let database = database(writing(), &module_context).unwrap();
    let files = build("filesystem", &module_context).unwrap();
    let write =
        async || call(&files, &context(), "write", json!({"path": "data.db-journal", "content": ""})).await;
    let connect = json!({"driver": "sqlite", "database": "data.db"});
    assert_eq!(call(&database, &context(), "connect", connect).await.error, None);
    assert_eq!(write().await.error.unwrap().kind, ErrorKind::Denied);
    assert_eq!(call(&database, &context(), "disconnect", json!({})).await.error, None);
    assert_eq!(write().await.error, None);
}
