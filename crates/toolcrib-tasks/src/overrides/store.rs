//! The overrides of an app in its store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_policy::{OverrideTarget, Overrides};

use crate::store::{Change, Record, RecordKind, SqliteStore, StoreError};
use crate::{Store, StoreLocation};

/// The interval of checks of [`OverrideStore::changed`].
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The id of the record with the selected profile. The ids of targets contain a colon.
const PROFILE: &str = "profile";

/// The overrides of an app in its store, which other processes may have open.
pub(super) struct OverrideStore {
    store: Arc<dyn Store>,
    location: String,
}

/// The content of a record.
#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum OverrideRecord {
    /// The selected profile.
    Profile { profile: String },
    /// A target that is enabled or disabled.
    Target { enabled: bool },
}

impl OverrideStore {
    /// Opens the overrides of an app to read them, and notices changes from then on. Returns `None` if there is no store
    /// yet.
    pub(super) async fn open(location: &StoreLocation) -> Result<Option<Self>, StoreError> {
        let opened = match location {
            StoreLocation::File(path) if !path.exists() => None,
            StoreLocation::File(path) => {
                let store = SqliteStore::open_for_reading(path).await?;
                store.map(|store| Self::of_file(path, store))
            }
            StoreLocation::Postgres(_) => Some(Self::open_to_change(location).await?),
        };
        if let Some(opened) = &opened {
            opened.store.has_changed().await?;
        }
        Ok(opened)
    }

    /// Opens the overrides of an app to change them. Creates a missing store.
    pub(super) async fn open_to_change(location: &StoreLocation) -> Result<Self, StoreError> {
        match location {
            StoreLocation::File(path) => {
                let store = match SqliteStore::open(path, false).await {
                    Err(StoreError::InUse { .. }) => SqliteStore::open_unlocked(path).await?,
                    opened => opened?.store,
                };
                Ok(Self::of_file(path, store))
            }
            #[cfg(feature = "postgres")]
            StoreLocation::Postgres(url) => {
                let store = Arc::new(crate::store::PostgresStore::open(url).await?);
                Ok(Self { store, location: crate::store::without_credentials(url) })
            }
            #[cfg(not(feature = "postgres"))]
            StoreLocation::Postgres(url) => {
                Err(StoreError::Unsupported { location: crate::store::without_credentials(url) })
            }
        }
    }

    fn of_file(path: &Path, store: SqliteStore) -> Self {
        Self { store: Arc::new(store), location: path.display().to_string() }
    }

    /// Returns the overrides.
    pub(super) async fn read(&self) -> Result<Overrides, StoreError> {
        let mut overrides = Overrides::default();
        for record in self.store.load(RecordKind::Override).await? {
            let target = record.id.parse::<OverrideTarget>();
            match (serde_json::from_value(record.body), target) {
                (Ok(OverrideRecord::Profile { profile }), _) if record.id == PROFILE => {
                    overrides.profile = Some(profile);
                }
                (Ok(OverrideRecord::Target { enabled }), Ok(target)) => {
                    overrides.targets.insert(target, enabled);
                }
                _ => {
                    let reason = format!(
                        "Expected a profile or a target, found the override `{}`; a newer version may have written it",
                        record.id
                    );
                    return Err(StoreError::Failed { path: (&self.location).into(), reason });
                }
            }
        }
        Ok(overrides)
    }

    /// Waits until another process has changed the store since it was opened, or since the last call of this function.
    pub(super) async fn changed(&self) -> Result<(), StoreError> {
        while !self.store.has_changed().await? {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Selects the profile of the clients that no other profile limits, or none.
    pub(super) async fn use_profile(&self, profile: Option<&str>) -> Result<(), StoreError> {
        let content = profile.map(|profile| OverrideRecord::Profile { profile: profile.to_owned() });
        self.put(PROFILE.to_owned(), content).await
    }

    /// Enables or disables a target, or removes its override.
    pub(super) async fn set(
        &self,
        target: &OverrideTarget,
        is_enabled: Option<bool>,
    ) -> Result<(), StoreError> {
        self.put(target.id(), is_enabled.map(|enabled| OverrideRecord::Target { enabled })).await
    }

    async fn put(&self, id: String, content: Option<OverrideRecord>) -> Result<(), StoreError> {
        let kind = RecordKind::Override;
        let change = match content {
            Some(content) => Change::Put(Record { kind, id, session: String::new(), body: json!(content) }),
            None => Change::remove(kind, id),
        };
        self.store.apply(vec![change]).await
    }

    /// Closes the store.
    pub(super) async fn close(&self) {
        self.store.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> OverrideTarget {
        text.parse().unwrap()
    }

    #[tokio::test]
    async fn overrides_are_kept_and_a_process_that_reads_them_notices_changes() {
        let folder = tempfile::tempdir().unwrap();
        let location = StoreLocation::File(folder.path().join("store.db"));
        assert!(OverrideStore::open(&location).await.unwrap().is_none(), "reading creates nothing");
        let writer = OverrideStore::open_to_change(&location).await.unwrap();
        let reader = OverrideStore::open(&location).await.unwrap().unwrap();
        assert_eq!(reader.read().await.unwrap(), Overrides::default());
        writer.use_profile(Some("review")).await.unwrap();
        writer.set(&target("tool:git.log"), Some(false)).await.unwrap();
        writer.set(&target("source:./a:b.yaml"), Some(true)).await.unwrap();
        reader.changed().await.unwrap();
        let read = reader.read().await.unwrap();
        assert_eq!(read.profile.as_deref(), Some("review"));
        assert_eq!(
            read.targets,
            [(target("tool:git.log"), false), (target("source:./a:b.yaml"), true)].into()
        );
        let other = OverrideStore::open_to_change(&location).await.unwrap();
        other.use_profile(None).await.unwrap();
        other.set(&target("tool:git.log"), None).await.unwrap();
        reader.changed().await.unwrap();
        let read = reader.read().await.unwrap();
        assert_eq!((read.profile, read.targets.len()), (None, 1));
        for store in [writer, reader, other] {
            store.close().await;
        }
    }

    #[tokio::test]
    async fn an_override_that_is_not_known_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let location = StoreLocation::File(folder.path().join("store.db"));
        let store = OverrideStore::open_to_change(&location).await.unwrap();
        for (id, body) in [
            ("profile", json!({"enabled": true})),
            ("tool:a.b", json!({"profile": "p"})),
            ("tool:a.b", json!({"enabled": false, "until": 5})),
            ("agent:a", json!({"enabled": false})),
        ] {
            let record = Record { kind: RecordKind::Override, id: id.into(), session: String::new(), body };
            store.store.apply(vec![Change::Put(record)]).await.unwrap();
            let error = store.read().await.unwrap_err().to_string();
            assert!(error.contains(&format!("found the override `{id}`")), "{error}");
            store.store.apply(vec![Change::remove(RecordKind::Override, id)]).await.unwrap();
        }
    }
}
