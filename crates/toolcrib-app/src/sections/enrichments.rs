//! `tools.enrichments`: computations over all tools after each load.

use std::sync::Arc;

use serde::Deserialize;
use toolcrib_datagen::enrichment::{OutputParametersEnrichment, OutputParametersSettings};
use toolcrib_document::Error as DocumentError;
use toolcrib_io::files::cache_folder;
use toolcrib_registry::Enrichment;
use toolcrib_registry::enrichment::{self, Dataflow, DataflowEnrichment, EnrichmentError};
use toolcrib_search::embedding::{Embeddings, Neighbors, NeighborsEnrichment, SimilarDataflowEnrichment};

use crate::App;
use crate::extensions::entry::{AppContext, EntryContext};
use crate::sections::search::SearchTier;
use crate::sections::values::unknown;

/// The types of enrichments that are included.
pub(crate) const TYPES: [&str; 4] =
    [Embeddings::KEY, Dataflow::KEY, Neighbors::KEY, OutputParametersEnrichment::KEY];

/// The folder of cached dataflows.
const CACHE: &str = "dataflow";

/// The folder of inferred schemas, and the file in it.
const INFERRED: (&str, &str) = ("output_parameters", "schemas.jsonl");

/// The enrichments of an app file, in its order.
#[derive(Clone, Default)]
pub(crate) struct EnrichmentsSection {
    /// Those that the section adds to the vectors, which `tools.search` determines.
    pub(crate) enrichments: Vec<Arc<dyn Enrichment>>,
    /// True if the vectors are made again at each start.
    pub(crate) is_forced: bool,
}

/// The settings of an included enrichment that has a cache.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CachedSettings {
    force: bool,
}

/// The settings of `type: dataflow`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct DataflowSettings {
    force: bool,
    similarity: Option<Similarity>,
}

/// The comparison of parameters.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Similarity {
    Embeddings,
    Names,
}

/// Checks the section and builds its enrichments. Nothing is computed yet.
pub(crate) fn build(
    app: &App,
    context: &AppContext<'_>,
    errors: &mut Vec<DocumentError>,
) -> EnrichmentsSection {
    let mut section = EnrichmentsSection::default();
    let mut places: Vec<(String, &str)> = Vec::new();
    let mut is_fine = true;
    for entry in &app.resolved.enrichments {
        let place =
            EntryContext { app: context, pointer: &entry.pointer, settings: &entry.settings, access: None };
        let made = match &entry.unset {
            Some(unset) => Err(unset.clone()),
            None => enrichment(app, &place, entry.kind.as_deref(), &mut section.is_forced),
        };
        match made {
            Ok(Some(enrichment)) => {
                places.push((enrichment.key().to_owned(), &entry.pointer));
                section.enrichments.push(enrichment);
            }
            Ok(None) if places.iter().any(|(key, _)| key == Embeddings::KEY) => {
                let key = Embeddings::KEY.to_owned();
                errors.push(place.error(EnrichmentError::DuplicateKey { key }.to_string()));
                is_fine = false;
            }
            Ok(None) => places.push((Embeddings::KEY.to_owned(), &entry.pointer)),
            Err(error) => {
                errors.push(error);
                is_fine = false;
            }
        }
    }
    // What is missing may be an entry that is wrong.
    if !is_fine {
        return section;
    }
    let all: Vec<_> = all(app, &section, std::time::Duration::ZERO).collect();
    if let Err(error) = enrichment::check(&all) {
        let of_key = places.iter().rev().find(|(key, _)| key == error.key());
        let pointer = of_key.map_or("/tools", |(_, pointer)| pointer);
        errors.push(app.file.error_at(pointer, error.to_string()));
    }
    section
}

/// Returns all enrichments of an app: those of the program, the vectors, and those of the section.
pub(crate) fn all<'a>(
    app: &'a App,
    section: &'a EnrichmentsSection,
    patience: std::time::Duration,
) -> impl Iterator<Item = Arc<dyn Enrichment>> + 'a {
    let others = &app.extensions.enrichments;
    let search = &app.config.tools.search;
    let vectors = super::search::enrichment(search, app, others, patience, section.is_forced);
    others.iter().cloned().chain(vectors).chain(section.enrichments.iter().cloned())
}

/// Builds the enrichment of an entry. Returns `None` for the vectors, which `tools.search` determines.
fn enrichment(
    app: &App,
    place: &EntryContext<'_>,
    kind: Option<&str>,
    is_forced: &mut bool,
) -> Result<Option<Arc<dyn Enrichment>>, DocumentError> {
    let is_keyword = app.config.tools.search.tier == SearchTier::Keyword;
    let registered: Vec<_> = app.extensions.enrichment_types().collect();
    let known: Vec<_> = TYPES.into_iter().chain(registered.iter().copied()).collect();
    Ok(Some(match kind {
        Some(kind) if registered.contains(&kind) => app.extensions.enrichment(kind, place)?,
        Some(Embeddings::KEY) => {
            let CachedSettings { force } = place.typed()?;
            if is_keyword {
                return Err(place.error("`tools.search.tier: keyword` makes no vectors; choose another tier"));
            }
            *is_forced |= force;
            return Ok(None);
        }
        Some(Dataflow::KEY) => {
            let DataflowSettings { force, similarity } = place.typed()?;
            let usual = if is_keyword { Similarity::Names } else { Similarity::Embeddings };
            match similarity.unwrap_or(usual) {
                Similarity::Names => Arc::new(DataflowEnrichment::default()),
                Similarity::Embeddings => {
                    let folder = cache_folder(CACHE).filter(|_| !force);
                    let enrichment = SimilarDataflowEnrichment::default();
                    Arc::new(match folder {
                        Some(folder) => enrichment.with_cache(folder),
                        None => enrichment,
                    })
                }
            }
        }
        Some(Neighbors::KEY) => {
            // Neighbours have no cache: they are computed again in any case.
            let CachedSettings { force: _ } = place.typed()?;
            Arc::new(NeighborsEnrichment)
        }
        Some(OutputParametersEnrichment::KEY) => Arc::new(output_parameters(place)?),
        Some(kind) => return Err(place.error(unknown("enrichment", kind, &known))),
        None => {
            return Err(place.error(format!("the enrichment needs a `type`, one of: {}", known.join(", "))));
        }
    }))
}

/// Builds the enrichment that asks a model for the schemas of results.
fn output_parameters(place: &EntryContext<'_>) -> Result<OutputParametersEnrichment, DocumentError> {
    let settings: OutputParametersSettings = place.typed()?;
    let brain = place.model()?;
    let enrichment =
        OutputParametersEnrichment::new(brain, settings).map_err(|message| place.error(message))?;
    let (folder, file) = INFERRED;
    Ok(match cache_folder(folder) {
        Some(folder) => enrichment.with_cache(folder.join(file)),
        None => enrichment,
    })
}
