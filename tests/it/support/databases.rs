//! Databases on the server that `cargo xtask databases` starts.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

const SERVER: &str = "TOOLCRIB_TEST_POSTGRES";

/// The URL of a new database. A stranger's machine has no server.
pub(crate) fn new_database() -> Option<String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let Ok(server) = std::env::var(SERVER) else {
        let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!is_ci, "{SERVER} names no server, and CI=true leaves nothing out");
        eprintln!("left out: {SERVER} names no server");
        return None;
    };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("replicas_{}_{number}", std::process::id());
    let sql = format!("CREATE DATABASE {name}");
    let created = Command::new("psql").args([&server, "--quiet", "--command", &sql]).output().unwrap();
    assert!(created.status.success(), "{created:?}");
    let (base, parameters) = server.split_once('?').map_or((server.as_str(), None), |(a, b)| (a, Some(b)));
    let base = &base[..base.rfind('/').unwrap()];
    let parameters = parameters.map_or_else(String::new, |text| format!("?{text}"));
    Some(format!("{base}/{name}{parameters}"))
}
