//! The builder of the word index. One thread analyzes the texts of tools, another adds the terms to the index.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

use toolcrib_model::{QualifiedName, Tool};

use crate::cache::ByteReader;
use crate::cache::index_cache::{IndexCache, MIN_CACHED_TOOLS};
use crate::keyword::lexicon::LexiconBuilder;
use crate::keyword::vocabulary::Vocabulary;
use crate::keyword::{Document, IndexBuilder, KeywordIndex};
use crate::text::Analyzer;
use crate::tool_text::ToolText;
use crate::{Error, Field};

/// The number of tools from which on a separate thread analyzes them. For fewer tools, starting it costs more than it
/// saves.
const MIN_THREADED_TOOLS: usize = 256;
/// The number of tools in one batch.
const BATCH_TOOLS: usize = 64;
/// The most batches that are queued.
const MAX_QUEUED_BATCHES: usize = 8;

/// The index of the words of all tools.
pub(crate) struct WordIndex {
    pub keyword: KeywordIndex,
    /// The words of names, titles, tags and aliases.
    pub vocabulary: Vocabulary,
}

impl WordIndex {
    /// Writes the index.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) -> Result<(), Error> {
        self.vocabulary.encode(bytes);
        self.keyword.encode(bytes)
    }

    /// Reads an index that [`encode`](Self::encode) wrote. Returns `None` unless it has this many names.
    pub(crate) fn decode(reader: &mut ByteReader<'_>, names: usize) -> Option<Self> {
        let (vocabulary, keyword) = (Vocabulary::decode(reader)?, KeywordIndex::decode(reader, names)?);
        reader.rest.is_empty().then_some(Self { keyword, vocabulary })
    }
}

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
    let mut writer = IndexBuilder::new()?;
    let reader = match build_threaded(overloads, &mut writer, analyzer) {
        Some(read) => read?,
        None => build_sequential(overloads, &mut writer, analyzer)?,
    };
    let keyword = writer.finish(reader.lexicon.finish())?;
    Ok(WordIndex { keyword, vocabulary: Vocabulary::new(reader.vocabulary) })
}

fn build_sequential(
    overloads: &[&[&Tool]],
    writer: &mut IndexBuilder,
    analyzer: Analyzer,
) -> Result<ToolAnalyzer, Error> {
    let mut reader = ToolAnalyzer::new(analyzer);
    for (number, tools) in overloads.iter().enumerate() {
        writer.add(&reader.read(number, tools))?;
    }
    Ok(reader)
}

/// Builds the index with a second thread. Returns `None` if there are too few tools, or if the thread cannot be
/// started.
fn build_threaded(
    overloads: &[&[&Tool]],
    writer: &mut IndexBuilder,
    analyzer: Analyzer,
) -> Option<Result<ToolAnalyzer, Error>> {
    if overloads.len() < MIN_THREADED_TOOLS {
        return None;
    }
    thread::scope(|scope| {
        let (sender, batches) = sync_channel::<Vec<Document>>(MAX_QUEUED_BATCHES);
        let reading = move || {
            let mut reader = ToolAnalyzer::new(analyzer);
            let mut numbered = overloads.iter().enumerate().peekable();
            while numbered.peek().is_some() {
                let batch =
                    numbered.by_ref().take(BATCH_TOOLS).map(|(number, tools)| reader.read(number, tools));
                // The receiver is gone if the index has rejected an earlier batch.
                if sender.send(batch.collect()).is_err() {
                    break;
                }
            }
            reader
        };
        let reading =
            thread::Builder::new().name("toolcrib-words".into()).spawn_scoped(scope, reading).ok()?;
        let written = batches.iter().flatten().try_for_each(|document| writer.add(&document));
        drop(batches);
        let reader = reading.join().unwrap_or_else(|panic| resume_unwind(panic));
        Some(written.map(|()| reader))
    })
}

/// An analyzer of the texts of tools.
struct ToolAnalyzer {
    analyzer: Analyzer,
    lexicon: LexiconBuilder,
    vocabulary: BTreeMap<String, String>,
}

impl ToolAnalyzer {
    fn new(analyzer: Analyzer) -> Self {
        Self { analyzer, lexicon: LexiconBuilder::new(analyzer), vocabulary: BTreeMap::new() }
    }

    /// Returns the terms of a tool and its overloads.
    fn read(&mut self, number: usize, overloads: &[&Tool]) -> Document {
        let mut text = ToolText::default();
        for tool in overloads {
            text.add(tool);
        }
        let mut lengths = [0; Field::ALL.len()];
        let texts = Field::ALL.map(|field| {
            let (text, length) = self.lexicon.read(text.get(field), field as usize, number);
            if let Some(slot) = lengths.get_mut(field as usize) {
                *slot = length;
            }
            text
        });
        let names = overloads.first().map(|tool| [tool.name.name(), tool.name.namespace()]);
        for words in names.into_iter().flatten().chain([text.get(Field::Keywords)]) {
            for term in self.analyzer.terms(words) {
                self.vocabulary.insert(term.word, term.text);
            }
        }
        Document { texts, lengths }
    }
}
