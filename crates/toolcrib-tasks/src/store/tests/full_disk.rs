//! A database on a disk that is full.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use sqlx::{AssertSqlSafe, Executor as _};
use tempfile::TempDir;
use toolcrib_model::Secret;
use toolcrib_model::random::{hex, random_bytes};

use super::postgres::{PATIENCE, SERVER, connect, ids};
use super::{put, record};
use crate::StoreLocation;
use crate::id::random_id;
use crate::store::{AuditRow, AuditTable, Change, PostgresStore, RecordKind, Store, StoreError};

/// The size of the disk in MiB, and that of a file that takes up most of it. An empty database has 8 MiB.
const DISK_MIB: usize = 48;
const BALLAST_MIB: usize = 28;

/// The bytes of a record. They do not compress.
const RECORD_BYTES: usize = 256 * 1024;

/// A small file system in memory, which belongs to the database server.
struct SmallDisk {
    mounted: PathBuf,
    _folder: TempDir,
}

impl SmallDisk {
    /// Mounts a disk for the owner of a process. Returns the reason where that is not allowed.
    fn mount(process: &str) -> Result<Self, String> {
        let owner = fs::metadata(format!("/proc/{process}"));
        let owner = owner.map_err(|_| "the server is not on this machine".to_owned())?;
        let folder = tempfile::tempdir().unwrap();
        // The server has to get to it.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mounted = folder.path().join("disk");
        fs::create_dir(&mounted).unwrap();
        let options = format!("size={DISK_MIB}m,mode=0700,uid={},gid={}", owner.uid(), owner.gid());
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&mounted).output();
        match mount {
            Ok(output) if output.status.success() => Ok(Self { mounted, _folder: folder }),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The folder for the server, which has to be empty, beside the other file.
    fn folder(&self, owner: &Path) -> PathBuf {
        let folder = self.mounted.join("data");
        fs::create_dir(&folder).unwrap();
        let metadata = fs::metadata(owner).unwrap();
        std::os::unix::fs::chown(&folder, Some(metadata.uid()), Some(metadata.gid())).unwrap();
        folder
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Also while the server has a file open after a test that failed.
        let _ = Command::new("umount").arg("--lazy").arg(&self.mounted).status();
    }
}

fn large(id: &str) -> Change {
    let text = hex(&random_bytes::<{ RECORD_BYTES / 2 }>().unwrap());
    Change::Put(record(RecordKind::Schedule, id, json!({"text": text})))
}

#[tokio::test]
async fn a_full_disk_is_told_loses_nothing_that_was_acknowledged_and_is_used_again_when_there_is_room() {
    let Some(first) = super::postgres::new_server_database().await else { return };
    let mut server = connect(&first).await;
    let pid = "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)";
    let pid: String = sqlx::query_scalar(pid).fetch_one(&mut server).await.unwrap();
    let disk = match SmallDisk::mount(&pid) {
        Ok(disk) => disk,
        Err(reason) => return eprintln!("left out: a disk of {DISK_MIB} MiB cannot be mounted: {reason}"),
    };
    let folder = disk.folder(Path::new(&format!("/proc/{pid}")));
    let name = random_id("full").unwrap();
    for sql in [
        format!("CREATE TABLESPACE {name} LOCATION '{}'", folder.display()),
        format!("CREATE DATABASE {name} TABLESPACE {name}"),
    ] {
        server.execute(AssertSqlSafe(sql)).await.unwrap();
    }
    let mut url = url::Url::parse(&std::env::var(SERVER).unwrap()).unwrap();
    url.set_path(&name);
    let url = Secret::new(url);

    let store = PostgresStore::open(&url).await.unwrap();
    let audit = AuditTable::open(&StoreLocation::Postgres(url.clone())).await.unwrap();
    let ballast = disk.mounted.join("ballast");
    fs::write(&ballast, vec![1; BALLAST_MIB << 20]).unwrap();
    let mut made = BTreeSet::new();
    let error = loop {
        let id = format!("{:04}", made.len());
        match store.apply(vec![large(&id)]).await {
            Ok(()) => made.insert(id),
            Err(error) => break error,
        };
        assert!(made.len() * RECORD_BYTES < DISK_MIB << 20, "the disk is never full");
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(!made.is_empty());
    assert_eq!(ids(&store).await, made, "all that was acknowledged can be read");
    let row = |id: usize| AuditRow {
        id: id.to_string(),
        time: "2026-03-01T09:00:00Z".into(),
        record: json!({"text": hex(&random_bytes::<{ RECORD_BYTES / 2 }>().unwrap())}).to_string(),
    };
    let rows: Vec<_> = (0..BALLAST_MIB).map(row).collect();
    let refused = audit.append(&rows).await;
    assert!(matches!(refused, Err(StoreError::Full { .. })), "{refused:?}");

    fs::remove_file(&ballast).unwrap();
    let written_again = async { while store.apply(vec![put("last", 1)]).await.is_err() {} };
    tokio::time::timeout(PATIENCE, written_again).await.expect("there is room again");
    audit.append(&rows).await.unwrap();
    store.close().await;
    audit.close().await;
    made.insert("last".to_owned());
    let again = PostgresStore::open(&url).await.unwrap();
    assert_eq!(ids(&again).await, made);
    again.close().await;
    for sql in [format!("DROP DATABASE {name} WITH (FORCE)"), format!("DROP TABLESPACE {name}")] {
        server.execute(AssertSqlSafe(sql)).await.unwrap();
    }
}
