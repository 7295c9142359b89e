//! The state of a store, for its operator.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use super::StoreError;
#[cfg(feature = "postgres")]
use super::postgres;
use super::sqlite::{BUSY_TIMEOUT, MIGRATIONS, database_error};
use crate::StoreLocation;

/// The state of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoreStatus {
    /// The path of the file, or the URL without credentials.
    pub location: String,
    /// The version of its tables; 0 before they exist.
    pub version: i64,
    /// The version that this program writes.
    pub supported: i64,
    /// The number of records of each kind that have not ended.
    pub records: BTreeMap<String, i64>,
}

impl StoreStatus {
    /// Returns the state of a store. Changes nothing.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be reached or read.
    pub async fn of(location: &StoreLocation) -> Result<Self, StoreError> {
        match location {
            StoreLocation::File(path) => of_file(path).await,
            #[cfg(feature = "postgres")]
            StoreLocation::Postgres(url) => postgres::status(url).await,
            #[cfg(not(feature = "postgres"))]
            StoreLocation::Postgres(url) => {
                Err(StoreError::Unsupported { location: super::without_credentials(url) })
            }
        }
    }

    /// Creates the tables of a store or migrates them to the newest version. In PostgreSQL, an advisory lock keeps
    /// other processes from the same.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be reached, is in use, or was written by a newer version.
    pub async fn migrate(location: &StoreLocation) -> Result<Self, StoreError> {
        match location {
            StoreLocation::File(path) => {
                let opened = super::SqliteStore::open(path, false).await?;
                super::Store::close(&opened.store).await;
            }
            #[cfg(feature = "postgres")]
            StoreLocation::Postgres(url) => {
                let store = super::PostgresStore::open(url).await?;
                super::Store::close(&store).await;
            }
            #[cfg(not(feature = "postgres"))]
            StoreLocation::Postgres(_) => {}
        }
        Self::of(location).await
    }
}

/// Returns the state of the store in a file, which another process may have open.
async fn of_file(path: &Path) -> Result<StoreStatus, StoreError> {
    let location = path.display().to_string();
    let supported = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    if !path.exists() {
        return Ok(StoreStatus { location, version: 0, supported, records: BTreeMap::new() });
    }
    let failed = |error: sqlx::Error| database_error(path, &error);
    let options = SqliteConnectOptions::new().filename(path).busy_timeout(BUSY_TIMEOUT);
    let mut connection = options.disable_statement_logging().connect().await.map_err(failed)?;
    let version: i64 =
        sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut connection).await.map_err(failed)?;
    let records: Vec<(String, i64)> = if version > 0 {
        let kinds = "SELECT kind, COUNT(*) FROM records GROUP BY kind";
        sqlx::query_as(kinds).fetch_all(&mut connection).await.map_err(failed)?
    } else {
        Vec::new()
    };
    let records = records.into_iter().collect();
    // Nothing was written.
    let _ = connection.close().await;
    Ok(StoreStatus { location, version, supported, records })
}
