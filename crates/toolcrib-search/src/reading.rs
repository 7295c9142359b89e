//! From tools to the index of their words: one thread takes texts apart, another puts the terms into the index.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::mpsc::sync_channel;
use std::thread;

use toolcrib_model::{QualifiedName, Tool};

use crate::document::ToolText;
use crate::keyword::{Document, KeywordIndex, Writer};
use crate::lexicon::Lexicon;
use crate::text::Analyzer;
use crate::{Error, Field};

/// From how many tools on they are read by a thread of its own: below, starting it costs more than it saves.
const MIN_SHARED_TOOLS: usize = 256;
/// How many tools are handed over at once.
const BATCH: usize = 64;
/// How many batches may wait.
const MAX_WAITING: usize = 8;

/// What was read of all tools.
pub(crate) struct Read {
    /// In their order; overloads of one name are one.
    pub names: Vec<QualifiedName>,
    pub keyword: KeywordIndex,
    /// The folded words of the names, with the term of each.
    pub vocabulary: BTreeMap<String, String>,
}

/// Reads the tools.
pub(crate) fn read<'a>(tools: impl IntoIterator<Item = &'a Tool>, analyzer: Analyzer) -> Result<Read, Error> {
    let mut tools: Vec<&Tool> = tools.into_iter().collect();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    let overloads: Vec<&[&Tool]> = tools.chunk_by(|a, b| a.name == b.name).collect();
    let mut writer = Writer::new()?;
    let reader = match shared(&overloads, &mut writer, analyzer) {
        Some(read) => read?,
        None => alone(&overloads, &mut writer, analyzer)?,
    };
    let names = overloads.iter().filter_map(|tools| Some(tools.first()?.name.clone())).collect();
    Ok(Read { names, keyword: writer.finish(reader.lexicon.closed())?, vocabulary: reader.vocabulary })
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
    lexicon: Lexicon,
    vocabulary: BTreeMap<String, String>,
}

impl Reader {
    fn new(analyzer: Analyzer) -> Self {
        Self { analyzer, lexicon: Lexicon::new(analyzer), vocabulary: BTreeMap::new() }
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
        for term in names.into_iter().flatten().flat_map(|text| self.analyzer.terms(text)) {
            self.vocabulary.insert(term.word, term.text);
        }
        Document { texts, lengths }
    }
}
