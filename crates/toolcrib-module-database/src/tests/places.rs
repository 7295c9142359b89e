//! Where databases may be.

use std::fs;

use serde_json::{Value, json};
use toolcrib_model::ErrorKind;
use toolcrib_modules::ModuleContext;
use toolcrib_policy::Access;
use toolcrib_policy::access::AccessRules;
use toolcrib_port::CallContext;

use super::{Place, call, context, database, server, writing};
use crate::{DatabaseConfig, Location, Tls};

fn access(rules: Value) -> Access {
    Access::new(&serde_json::from_value::<AccessRules>(rules).unwrap()).unwrap()
}

#[tokio::test]
async fn only_files_of_the_workspace_are_opened() {
    let place = Place::sqlite(&writing());
    let outer = tempfile::tempdir().unwrap();
    fs::write(outer.path().join("secret.db"), "").unwrap();
    fs::create_dir(place.dir.path().join("folder")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(outer.path().join("secret.db"), place.dir.path().join("link.db")).unwrap();
        symlink(outer.path(), place.dir.path().join("out")).unwrap();
        symlink("data.db", place.dir.path().join("inside.db")).unwrap();
        symlink(outer.path().join("new.db"), place.dir.path().join("dangling.db")).unwrap();
    }
    let name = outer.path().file_name().unwrap().to_str().unwrap();
    let absolute = outer.path().join("secret.db");
    for path in [
        "../secret.db",
        &format!("../{name}/secret.db"),
        absolute.to_str().unwrap(),
        "/etc/passwd",
        "/proc/self/root/etc/passwd",
        "/dev/null",
        "link.db",
        "out/secret.db",
        "dangling.db",
        "folder",
        "missing.db",
        "",
        ":memory:",
        "file:data.db?mode=rwc",
        "file:/etc/passwd",
        "data.db\0",
        "data.db?mode=rw",
    ] {
        let arguments =
            json!({"name": "other", "driver": "sqlite", "database": path, "create": path == "dangling.db"});
        let error = place.error("connect", arguments).await;
        assert!(matches!(error.kind, ErrorKind::ToolFailed | ErrorKind::InvalidArgs), "{path}: {error}");
    }
    assert!(!outer.path().join("new.db").exists());
    place.ok("connect", json!({"name": "inside", "driver": "sqlite", "database": "inside.db"})).await;
    let absolute = place.file().canonicalize().unwrap();
    place.ok("connect", json!({"name": "absolute", "driver": "sqlite", "database": absolute})).await;
}

#[tokio::test]
async fn a_file_is_made_only_where_writing_is_allowed_and_asked_for() {
    let place = Place::sqlite(&writing());
    let new = json!({"name": "new", "driver": "sqlite", "database": "new.db"});
    place.error("connect", new).await;
    let created = json!({"name": "new", "driver": "sqlite", "database": "new.db", "create": true});
    let reading = place.another(&DatabaseConfig::default());
    assert!(call(&reading, &context(), "connect", created.clone()).await.error.is_some());
    assert!(!place.dir.path().join("new.db").exists());
    assert_eq!(place.ok("connect", created).await["created"], true);
    let header = fs::read(place.dir.path().join("new.db")).unwrap();
    assert!(header.starts_with(b"SQLite format 3\0"), "it is a database from the start");
    let again = json!({"name": "again", "driver": "sqlite", "database": "new.db"});
    assert_eq!(place.ok("connect", again).await.get("created"), None);
    place.ok("execute", json!({"connection": "new", "sql": "CREATE TABLE t (id INTEGER)"})).await;
}

#[tokio::test]
async fn only_files_that_access_names_are_opened() {
    let place = Place::sqlite(&writing());
    fs::create_dir(place.dir.path().join("read")).unwrap();
    fs::write(place.dir.path().join("read/a.db"), "").unwrap();
    let rules = json!({"filesystem": [{"path": "read"}, {"path": "write", "mode": "write"}]});
    let context_of = ModuleContext::new(place.dir.path()).with_access(access(rules));
    let module = database(writing(), &context_of).unwrap();
    let connect = |path: &str, read_only: bool| json!({"name": path, "driver": "sqlite", "database": path, "read_only": read_only});
    for (path, read_only, is_allowed) in [
        ("data.db", true, false),
        ("data.db", false, false),
        ("read/a.db", false, false),
        ("read/a.db", true, true),
    ] {
        let error = call(&module, &context(), "connect", connect(path, read_only)).await.error;
        assert_eq!(error.map(|error| error.kind), (!is_allowed).then_some(ErrorKind::Denied), "{path}");
    }
    // The rules of the tool of a call narrow those of the module.
    let mut context = context();
    context.access = access(json!({"filesystem": [{"path": "write"}]}));
    let error = call(&place.module, &context, "connect", connect("read/a.db", true)).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Denied, "{error}");
}

#[tokio::test]
async fn only_servers_that_access_names_and_public_ones_are_reached() {
    let dir = tempfile::tempdir().unwrap();
    let connect = |host: &str| json!({"driver": "postgres", "host": host, "port": 1, "database": "d"});
    let module = database(DatabaseConfig::default(), &ModuleContext::new(dir.path())).unwrap();
    for host in [
        "localhost",
        "127.0.0.1",
        "127.1",
        "0.0.0.0",
        "::1",
        "[::1]",
        "169.254.169.254",
        "10.0.0.1",
        "::ffff:10.0.0.1",
    ] {
        let error = call(&module, &context(), "connect", connect(host)).await.error.unwrap();
        assert!(matches!(error.kind, ErrorKind::Denied | ErrorKind::Unavailable), "{host}: {error}");
        assert!(!error.message.contains("cannot open"), "{host}: {error}");
    }
    for host in ["/var/run/postgresql", "", "a b", "user@host", "host/x", "host?sslkey=/etc/passwd"] {
        let error = call(&module, &context(), "connect", connect(host)).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::InvalidArgs, "{host}: {error}");
    }
    let rules = access(json!({"network": ["db.example.com:5432"]}));
    let config = DatabaseConfig { allow_private_addresses: true, ..DatabaseConfig::default() };
    let limited = ModuleContext::new(dir.path()).with_access(rules);
    let module = database(config, &limited).unwrap();
    let error = call(&module, &context(), "connect", connect("127.0.0.1")).await.error.unwrap();
    insta::assert_snapshot!(error.to_string(), @"denied: may not connect to `127.0.0.1` at port 1: the configuration does not allow it under `access.network` (use a host that is allowed, or ask the user)");
}

#[tokio::test]
async fn the_certificate_of_a_server_is_verified_where_that_is_wanted() {
    let Some(place) = Place::postgres(&DatabaseConfig::default()).await else { return };
    let certificate = "SELECT CASE WHEN current_setting('ssl') = 'on' THEN pg_read_file('server.crt') END";
    let Some(certificate) = place.rows(certificate, json!([])).await[0][0].as_str().map(ToOwned::to_owned)
    else {
        eprintln!("left out: the server has no certificate");
        return;
    };
    let file = place.dir.path().join("root.crt");
    fs::write(&file, certificate).unwrap();
    let is_encrypted = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    for (host, tls, root, expected) in [
        ("127.0.0.1", Tls::Disable, None, Some(false)),
        ("127.0.0.1", Tls::Prefer, None, Some(true)),
        ("127.0.0.1", Tls::Require, None, Some(true)),
        ("localhost", Tls::Verify, None, None),
        ("localhost", Tls::Verify, Some(&file), Some(true)),
        // It is not the name in the certificate.
        ("127.0.0.1", Tls::Verify, Some(&file), None),
    ] {
        let location = Location {
            host: Some(host.into()),
            tls: Some(tls),
            root_certificate: root.cloned(),
            ..place.location.clone()
        };
        let other = Place::at(location, &DatabaseConfig::default(), tempfile::tempdir().unwrap());
        let result = other.call("query", json!({"sql": is_encrypted})).await;
        let found = result.error.is_none().then(|| result.result["rows"][0][0].as_bool().unwrap());
        assert_eq!(found, expected, "{host} {tls:?}: {:?}", result.error);
        if let Some(error) = result.error {
            assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
        }
    }
}

#[tokio::test]
async fn a_server_of_this_machine_is_reached_where_the_operator_says_so() {
    for variable in [super::POSTGRES, super::MYSQL] {
        let Some(url) = server(variable) else { continue };
        let driver = if variable == super::POSTGRES { "postgres" } else { "mysql" };
        let dir = tempfile::tempdir().unwrap();
        let config = DatabaseConfig { allow_private_addresses: true, ..DatabaseConfig::default() };
        let module = database(config, &ModuleContext::new(dir.path())).unwrap();
        let password = super::decoded(url.password().unwrap());
        let arguments = json!({
            "driver": driver, "host": "127.0.0.1", "port": url.port(), "database": &url.path()[1..],
            "user": url.username(), "password": password,
        });
        let connected = call(&module, &context(), "connect", arguments).await;
        assert_eq!(connected.error, None);
        let rows = call(&module, &context(), "query", json!({"sql": "SELECT 1"})).await.result;
        assert_eq!(rows["rows"], json!([[1]]));
        assert_eq!(connected.result["writable"], false);
        call(&module, &context(), "disconnect", json!({})).await;
        let error = call(&module, &context(), "query", json!({"sql": "SELECT 1"})).await.error.unwrap();
        insta::allow_duplicates! {
            insta::assert_snapshot!(error.to_string(), @"not_found: there is no connection to a database (open one by `database.connect`)");
        }
    }
}

#[tokio::test]
async fn the_operator_makes_a_missing_file_that_tools_only_read_and_an_agent_does_not() {
    let place = Place::sqlite(&DatabaseConfig::default());
    let connect = json!({"name": "new", "driver": "sqlite", "database": place.dir.path().join("new.db")});
    place.error("connect", connect.clone()).await;
    let setup = CallContext::new("setup");
    let connected = call(&place.module, &setup, "connect", connect).await;
    assert_eq!(connected.error, None);
    assert_eq!((&connected.result["created"], &connected.result["writable"]), (&json!(true), &json!(false)));
    assert_eq!(place.ok("list_tables", json!({"connection": "new"})).await["tables"], json!([]));
    let refused = json!({"name": "no", "driver": "sqlite", "database": "no.db", "create": false});
    assert!(call(&place.module, &setup, "connect", refused).await.error.is_some());
}
