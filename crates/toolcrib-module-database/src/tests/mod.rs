//! Tests against real databases, through the engine: SQLite always, and the servers that `TOOLCRIB_TEST_POSTGRES` and
//! `TOOLCRIB_TEST_MYSQL` name.

mod bounds;
mod ends;
mod errors;
mod guard;
mod journal;
mod lex;
mod pages;
mod places;
mod secrets;
mod tables;
mod values;
mod victim;
mod writes;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, PgConnection};
use tempfile::TempDir;
use toolcrib_model::{Secret, ToolError, ToolResult};
use toolcrib_modules::ModuleContext;
use toolcrib_policy::{Call, Capabilities, Policy, Rule, Verdict};
use toolcrib_port::{CallContext, ToolEngine, ToolLoader};
use toolcrib_sdk::Module;
use url::Url;

use super::config::{DatabaseConfig, Driver, Location};
use crate::{ConfigError, ID};

/// The module, and a database of its own behind its connection `main`.
pub(super) struct Place {
    pub(super) driver: Driver,
    pub(super) module: Module,
    pub(super) location: Location,
    pub(super) dir: TempDir,
}

/// The variables that name a server.
const POSTGRES: &str = "TOOLCRIB_TEST_POSTGRES";
const MYSQL: &str = "TOOLCRIB_TEST_MYSQL";

/// The server that a variable names. A stranger's machine has none, which is said.
pub(super) fn server(variable: &str) -> Option<Url> {
    let url = std::env::var(variable).ok();
    if url.is_none() {
        let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!is_ci, "{variable} names no server, and CI=true leaves nothing out");
        eprintln!("left out: {variable} names no server");
    }
    url.map(|url| url.parse().unwrap())
}

/// A part of a URL as it is meant.
pub(super) fn decoded(text: &str) -> String {
    url::form_urlencoded::parse(text.as_bytes()).map(|(text, _)| text.into_owned()).collect()
}

/// Where the database of a URL is.
pub(super) fn location(driver: Driver, url: &Url, database: &str) -> Location {
    Location {
        driver,
        host: url.host_str().map(ToOwned::to_owned),
        port: url.port(),
        user: Some(decoded(url.username())),
        password: url.password().map(|password| Secret::new(decoded(password))),
        ..Location::sqlite(database)
    }
}

impl Place {
    /// One of each kind that there is.
    pub(super) async fn all(config: &DatabaseConfig) -> Vec<Self> {
        let mut places = vec![Self::sqlite(config)];
        places.extend(Self::postgres(config).await);
        places.extend(Self::mysql(config).await);
        places
    }

    pub(super) fn sqlite(config: &DatabaseConfig) -> Self {
        let location = Location { create: true, ..Location::sqlite("data.db") };
        let dir = tempfile::tempdir().unwrap();
        // Also there for those who only read.
        std::fs::write(dir.path().join("data.db"), "").unwrap();
        Self::at(location, config, dir)
    }

    pub(super) async fn postgres(config: &DatabaseConfig) -> Option<Self> {
        let url = server(POSTGRES)?;
        let name = unique();
        let mut connection = PgConnection::connect(url.as_str()).await.unwrap();
        connection.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.unwrap();
        Some(Self::at(location(Driver::Postgres, &url, &name), config, tempfile::tempdir().unwrap()))
    }

    pub(super) async fn mysql(config: &DatabaseConfig) -> Option<Self> {
        let url = server(MYSQL)?;
        let name = unique();
        let mut connection = MySqlConnection::connect(url.as_str()).await.unwrap();
        connection
            .execute(AssertSqlSafe(format!("CREATE DATABASE {name} CHARACTER SET utf8mb4")))
            .await
            .unwrap();
        Some(Self::at(location(Driver::Mysql, &url, &name), config, tempfile::tempdir().unwrap()))
    }

    pub(super) fn at(location: Location, config: &DatabaseConfig, dir: TempDir) -> Self {
        let mut place = Self { driver: location.driver, module: Module::new("none", ""), location, dir };
        place.module = place.another(config);
        place
    }

    /// The module again, in another configuration.
    pub(super) fn another(&self, config: &DatabaseConfig) -> Module {
        let connections = BTreeMap::from([("main".into(), self.location.clone())]);
        let context = ModuleContext::new(self.dir.path());
        database(DatabaseConfig { connections, ..config.clone() }, &context).unwrap()
    }

    pub(super) fn file(&self) -> PathBuf {
        self.dir.path().join("data.db")
    }

    /// A statement with `?` as the database writes parameters.
    pub(super) fn sql(&self, sql: &str) -> String {
        if self.driver != Driver::Postgres {
            return sql.into();
        }
        let mut parts = sql.split('?');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for (at, part) in parts.enumerate() {
            write!(text, "${}{part}", at + 1).unwrap();
        }
        text
    }

    /// One text or another.
    pub(super) fn pick<T>(&self, sqlite: T, postgres: T, mysql: T) -> T {
        match self.driver {
            Driver::Sqlite => sqlite,
            Driver::Postgres => postgres,
            Driver::Mysql => mysql,
        }
    }

    pub(super) async fn call(&self, name: &str, arguments: Value) -> ToolResult {
        call(&self.module, &context(), name, arguments).await
    }

    /// The result of a call that succeeds.
    pub(super) async fn ok(&self, name: &str, arguments: Value) -> Value {
        let result = self.call(name, arguments).await;
        assert_eq!(result.error, None, "{}", self.driver);
        result.result
    }

    /// The error of a call that fails.
    pub(super) async fn error(&self, name: &str, arguments: Value) -> ToolError {
        let result = self.call(name, arguments).await;
        result.error.unwrap_or_else(|| panic!("{}: it gave {}", self.driver, result.result))
    }

    pub(super) async fn execute(&self, sql: &str, params: Value) -> Value {
        self.ok("execute", json!({"sql": self.sql(sql), "params": params})).await
    }

    /// The rows of a query.
    pub(super) async fn rows(&self, sql: &str, params: Value) -> Value {
        self.ok("query", json!({"sql": self.sql(sql), "params": params})).await["rows"].clone()
    }
}

/// Of an agent, in the session `one`.
pub(super) fn context() -> CallContext {
    CallContext::new("one").with_agent("assistant")
}

/// The module of an app.
pub(super) fn database(config: DatabaseConfig, app: &ModuleContext) -> Result<Module, ConfigError> {
    crate::module(config, app.root(ID).unwrap(), app.access.clone(), app.protected.clone())
}

/// A call that policy has let through, by the name of its tool, as one of high risk has to be.
pub(super) async fn call(module: &Module, context: &CallContext, name: &str, arguments: Value) -> ToolResult {
    let tool = module.definitions().find(|tool| tool.name.name() == name).unwrap();
    let mut call = Call::new(Arc::new(tool), module.source().into(), 1);
    call.arguments = arguments.as_object().unwrap().clone();
    let (of, actions) = (Some(module.id().into()), Some(vec![name.into()]));
    let grant = vec![Rule { module: of, actions, ..Rule::default() }];
    let capabilities = Capabilities { grant, ..Capabilities::default() };
    let Verdict::Granted(call) = Policy::new(&capabilities, []).unwrap().authorize(call, "test") else {
        panic!("not granted")
    };
    module.invoke(&call, context).await
}

/// Tools may change data.
pub(super) fn writing() -> DatabaseConfig {
    DatabaseConfig { allow_writes: true, ..DatabaseConfig::default() }
}

/// A name that no other test uses, in this process or another.
fn unique() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    format!("test_{}_{count}_{}", std::process::id(), now.subsec_nanos())
}

/// A cancellation that a call can be given.
pub(super) fn cancellable() -> (CallContext, tokio_util::sync::CancellationToken) {
    let cancel = tokio_util::sync::CancellationToken::new();
    (context().with_cancel(cancel.clone()), cancel)
}
