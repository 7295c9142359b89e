//! The selection of operations of an OpenAPI document, and the cache of the document.

use serde::Deserialize;
use toolcrib_io::files::cache_folder;
use toolcrib_io::http::names_private_address;
use toolcrib_model::Risk;
use toolcrib_sdk::AppEntry;

use crate::{DocumentCache, OperationSelector, RestSource, SpecLocation};

/// Some of the operations of a document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SelectorEntry {
    #[serde(default)]
    operations: Vec<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    methods: Vec<String>,
    #[serde(default)]
    paths: Vec<String>,
    /// The risk, if it is an entry of `risks`.
    risk: Option<Risk>,
}

/// `cache: false`, or a folder.
#[derive(Deserialize)]
#[serde(untagged, expecting = "`cache` has to be a folder, or `false`")]
pub(super) enum CacheEntry {
    Switch(bool),
    Folder(String),
}

impl SelectorEntry {
    fn selector(self, setting: &str) -> Result<(OperationSelector, Option<Risk>), String> {
        let Self { operations, tags, methods, paths, risk } = self;
        let selector = OperationSelector { operations, tags, methods, paths };
        if selector == OperationSelector::default() {
            return Err(format!(
                "an entry of `{setting}` names none of `operations`, `tags`, `methods` and `paths`, and would fit all"
            ));
        }
        Ok((selector, risk))
    }
}

/// Sets what is included, what is excluded, the risks, and what may be repeated.
pub(super) fn select(
    source: &mut RestSource,
    include: Vec<SelectorEntry>,
    exclude: Vec<SelectorEntry>,
    risks: Vec<SelectorEntry>,
    idempotent: Vec<SelectorEntry>,
) -> Result<(), String> {
    let lists = [("include", include), ("exclude", exclude), ("risks", risks), ("idempotent", idempotent)];
    for (setting, entries) in lists {
        for entry in entries {
            match (setting, entry.selector(setting)?) {
                ("include", (selector, None)) => source.include.push(selector),
                ("exclude", (selector, None)) => source.exclude.push(selector),
                ("idempotent", (selector, None)) => source.idempotent.push(selector),
                ("risks", (selector, Some(risk))) => source.risks.push((selector, risk)),
                ("risks", _) => return Err("an entry of `risks` needs a `risk`: low, medium or high".into()),
                _ => return Err(format!("`risk` has no place in `{setting}`; write it under `risks`")),
            }
        }
    }
    Ok(())
}

/// Keeps the document where the app file says, else as [`with_default_cache`] does.
pub(super) fn keep(source: RestSource, cache: Option<&CacheEntry>, place: &dyn AppEntry) -> RestSource {
    match cache {
        // A request for the current state is not answered from the cache.
        _ if !place.is_lazy() => source,
        Some(CacheEntry::Switch(false)) => source,
        Some(CacheEntry::Folder(folder)) => source.with_cache(DocumentCache::new(place.path(folder))),
        Some(CacheEntry::Switch(true)) | None => with_default_cache(source),
    }
}

/// Keeps a document from a server in the user's folder for caches: `toolcrib/openapi` in `$XDG_CACHE_HOME`, or in
/// `.cache` of `$HOME`; nowhere when neither is set, or when the server is plainly a private one, which is near.
pub fn with_default_cache(source: RestSource) -> RestSource {
    let SpecLocation::Url(url) = &source.spec else { return source };
    if names_private_address(url) {
        return source;
    }
    match cache_folder("openapi") {
        Some(folder) => source.with_cache(DocumentCache::new(folder)),
        None => source,
    }
}
