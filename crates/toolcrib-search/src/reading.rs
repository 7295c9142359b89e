//! From tools to the index of their words: one thread takes texts apart, another puts the terms into the index.

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

/// From how many tools on they are read by a thread of its own: below, starting it costs more than it saves.
const MIN_SHARED_TOOLS: usize = 256;
/// How many tools are handed over at once.
const BATCH: usize = 64;
/// How many batches may wait.
const MAX_WAITING: usize = 8;

/// The words of all tools.
pub(crate) struct Words {
    pub keyword: KeywordIndex,
    /// The words of names, titles, tags and aliases.
    pub vocabulary: Vocabulary,
}

impl Words {
    /// Writes them all.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) -> Result<(), Error> {
        self.vocabulary.encode(bytes);
        self.keyword.encode(bytes)
    }

    /// Reads what was written of so many names.
    pub(crate) fn decode(parts: &mut Parts<'_>, names: usize) -> Option<Self> {
        let (vocabulary, keyword) = (Vocabulary::decode(parts)?, KeywordIndex::decode(parts, names)?);
        parts.rest.is_empty().then_some(Self { keyword, vocabulary })
    }
}

/// Reads the tools: their names in order, where overloads of one name are one, and their words. Of many tools the words
/// are kept in the folder, if there is one.
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

/// The words of tools; those of one name stand together.
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

/// None when the tools are few, or there is no other thread.
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
                // Nobody takes it when the index has refused what came before.
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

/// Takes the texts of tools apart.
struct Reader {
    analyzer: Analyzer,
    lexicon: LexiconReader,
    vocabulary: BTreeMap<String, String>,
}

impl Reader {
    fn new(analyzer: Analyzer) -> Self {
        Self { analyzer, lexicon: LexiconReader::new(analyzer), vocabulary: BTreeMap::new() }
    }

    /// The terms of a tool with its overloads.
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
