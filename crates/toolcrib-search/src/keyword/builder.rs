//! The builder of the word index, and its cache.

use std::collections::BTreeMap;
use std::path::Path;

use toolcrib_model::{QualifiedName, Tool};

use crate::cache::index_cache::IndexCache;
use crate::keyword::KeywordIndex;
use crate::keyword::inverted_index::InvertedIndexBuilder;
use crate::keyword::vocabulary::Vocabulary;
use crate::keyword::word_index::WordIndex;
use crate::limits::MIN_CACHED_TOOLS;
use crate::text::Analyzer;
use crate::tool_text::ToolText;
use crate::{Error, Field};

/// Builds the index, or loads it from the cache in `folder`. Returns it with the names of the tools in order, where
/// overloads count once.
///
/// The cache is used for [`MIN_CACHED_TOOLS`] tools and more.
pub(crate) fn load_or_build<'a>(
    tools: impl IntoIterator<Item = &'a Tool>,
    analyzer: Analyzer,
    folder: Option<&Path>,
) -> Result<(Vec<QualifiedName>, WordIndex), Error> {
    let mut tools: Vec<&Tool> = tools.into_iter().collect();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    let overloads: Vec<&[&Tool]> = tools.chunk_by(|a, b| a.name == b.name).collect();
    let folder = folder.filter(|_| overloads.len() >= MIN_CACHED_TOOLS);
    let cache = folder.map(|folder| IndexCache::new(folder, &overloads));
    let words = if let Some(words) = cache.as_ref().and_then(|cache| cache.read(overloads.len())) {
        words
    } else {
        let words = build(&overloads, analyzer)?;
        if let Some(cache) = cache {
            cache.write(&words);
        }
        words
    };
    Ok((overloads.iter().filter_map(|tools| Some(tools.first()?.name.clone())).collect(), words))
}

/// Builds the index of tools, which are grouped by name.
pub(crate) fn build(overloads: &[&[&Tool]], analyzer: Analyzer) -> Result<WordIndex, Error> {
    let (mut terms, mut vocabulary) = (InvertedIndexBuilder::new(analyzer), BTreeMap::new());
    for tools in overloads {
        let mut text = ToolText::default();
        tools.iter().for_each(|tool| text.add(tool));
        terms.add(&text)?;
        let names = tools.first().map(|tool| [tool.name.name(), tool.name.namespace()]);
        for words in names.into_iter().flatten().chain([text.get(Field::Keywords)]) {
            vocabulary.extend(analyzer.terms(words).into_iter().map(|term| (term.word, term.text)));
        }
    }
    Ok(WordIndex { keyword: KeywordIndex::new(terms.finish()), vocabulary: Vocabulary::new(vocabulary) })
}
