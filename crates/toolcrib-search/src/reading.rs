//! The builder of the word index. One thread analyzes the texts of tools, another adds the terms to the index.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

use toolcrib_model::{QualifiedName, Tool};

use crate::document::ToolText;
use crate::kept::Parts;
use crate::kept_words::{KeptWords, MIN_KEPT_TOOLS};
use crate::keyword::{Document, KeywordIndex, Writer};
use crate::lexicon::LexiconReader;
use crate::text::Analyzer;
use crate::vocabulary::Vocabulary;
use crate::{Error, Field};

/// The number of tools from which on a separate thread analyzes them. For fewer tools, starting it costs more than it
/// saves.
const MIN_SHARED_TOOLS: usize = 256;
/// The number of tools in one batch.
const BATCH: usize = 64;
/// The most batches that are queued.
const MAX_WAITING: usize = 8;

/// The index of the words of all tools.
pub(crate) struct Words {
    pub keyword: KeywordIndex,
    /// The words of names, titles, tags and aliases.
    pub vocabulary: Vocabulary,
}

impl Words {
    /// Writes the index.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) -> Result<(), Error> {
        self.vocabulary.encode(bytes);
        self.keyword.encode(bytes)
    }

    /// Reads an index that [`encode`](Self::encode) wrote. Returns `None` unless it has this many names.
    pub(crate) fn decode(parts: &mut Parts<'_>, names: usize) -> Option<Self> {
        let (vocabulary, keyword) = (Vocabulary::decode(parts)?, KeywordIndex::decode(parts, names)?);
        parts.rest.is_empty().then_some(Self { keyword, vocabulary })
    }
}

/// Builds the index, or loads it from the cache in `folder`. Returns it with the names of the tools in order, where
/// overloads count once.
///
/// The cache is used for [`MIN_KEPT_TOOLS`] tools and more.
pub(crate) fn read<'a>(
    tools: impl IntoIterator<Item = &'a Tool>,
    analyzer: Analyzer,
    folder: Option<&Path>,
) -> Result<(Vec<QualifiedName>, Words), Error> {
    let mut tools: Vec<&Tool> = tools.into_iter().collect();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    let overloads: Vec<&[&Tool]> = tools.chunk_by(|a, b| a.name == b.name).collect();
    let folder = folder.filter(|_| overloads.len() >= MIN_KEPT_TOOLS);
    let kept = folder.map(|folder| KeptWords::new(folder, &overloads));
    let words = if let Some(words) = kept.as_ref().and_then(|kept| kept.read(overloads.len())) {
        words
    } else {
        let words = words(&overloads, analyzer)?;
        if let Some(kept) = kept {
            kept.write(&words);
        }
        words
    };
    Ok((overloads.iter().filter_map(|tools| Some(tools.first()?.name.clone())).collect(), words))
}

/// Builds the index of tools, which are grouped by name.
pub(crate) fn words(overloads: &[&[&Tool]], analyzer: Analyzer) -> Result<Words, Error> {
    let mut writer = Writer::new()?;
    let reader = match shared(overloads, &mut writer, analyzer) {
        Some(read) => read?,
        None => alone(overloads, &mut writer, analyzer)?,
    };
    let keyword = writer.finish(reader.lexicon.finish())?;
    Ok(Words { keyword, vocabulary: Vocabulary::new(reader.vocabulary) })
}

fn alone(overloads: &[&[&Tool]], writer: &mut Writer, analyzer: Analyzer) -> Result<Reader, Error> {
    let mut reader = Reader::new(analyzer);
    for (number, tools) in overloads.iter().enumerate() {
        writer.add(&reader.read(number, tools))?;
    }
    Ok(reader)
}

/// Builds the index with a second thread. Returns `None` if there are too few tools, or if the thread cannot be
/// started.
fn shared(overloads: &[&[&Tool]], writer: &mut Writer, analyzer: Analyzer) -> Option<Result<Reader, Error>> {
    if overloads.len() < MIN_SHARED_TOOLS {
        return None;
    }
    thread::scope(|scope| {
        let (sender, batches) = sync_channel::<Vec<Document>>(MAX_WAITING);
        let reading = move || {
            let mut reader = Reader::new(analyzer);
            let mut numbered = overloads.iter().enumerate().peekable();
            while numbered.peek().is_some() {
                let batch = numbered.by_ref().take(BATCH).map(|(number, tools)| reader.read(number, tools));
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
struct Reader {
    analyzer: Analyzer,
    lexicon: LexiconReader,
    vocabulary: BTreeMap<String, String>,
}

impl Reader {
    fn new(analyzer: Analyzer) -> Self {
        Self { analyzer, lexicon: LexiconReader::new(analyzer), vocabulary: BTreeMap::new() }
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
