//! The index: built once from all tools of a generation, then only read.

use std::collections::{BTreeMap, HashMap, HashSet};

use toolcrib_model::{QualifiedName, Tool};

use crate::document::ToolText;
use crate::keyword::{Candidate, KeywordIndex, QueryTerm, Writer, term_texts};
use crate::names::{Mention, Names};
use crate::nearest::nearest;
use crate::query::Query;
use crate::synonyms::Synonyms;
use crate::text::{Analyzer, words};
use crate::vocabulary::Vocabulary;
use crate::{Error, Explain, Field, Hit, Outcome, Reason, SearchOptions};

/// Finds tools by what they are called and what they say of themselves.
///
/// Immutable and `Sync`: a new generation of tools gets a new index.
pub struct SearchIndex {
    /// In the order of their names; the place is the number of the document.
    names: Vec<QualifiedName>,
    exact: Names,
    keyword: KeywordIndex,
    vocabulary: Vocabulary,
    synonyms: Synonyms,
    analyzer: Analyzer,
}

impl std::fmt::Debug for SearchIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchIndex").field("tools", &self.names.len()).finish_non_exhaustive()
    }
}

impl SearchIndex {
    /// Indexes the tools. Overloads of one name become one entry.
    pub fn build<'a>(tools: impl IntoIterator<Item = &'a Tool>) -> Result<Self, Error> {
        let mut overloads: BTreeMap<&QualifiedName, Vec<&Tool>> = BTreeMap::new();
        for tool in tools {
            overloads.entry(&tool.name).or_default().push(tool);
        }
        let analyzer = Analyzer::new();
        let mut writer = Writer::new()?;
        let mut vocabulary = BTreeMap::new();
        let mut uses: HashMap<String, usize> = HashMap::new();
        for (name, tools) in &overloads {
            let mut text = ToolText::default();
            for tool in tools {
                text.add(tool);
            }
            let terms = Field::ALL.map(|field| term_texts(analyzer, text.get(field)));
            for term in terms.iter().flatten().collect::<HashSet<_>>() {
                *uses.entry(term.clone()).or_default() += 1;
            }
            writer.add(terms)?;
            for term in [name.name(), name.namespace()].into_iter().flat_map(|text| analyzer.terms(text)) {
                vocabulary.insert(term.word, term.text);
            }
        }
        let names: Vec<QualifiedName> = overloads.into_keys().cloned().collect();
        let synonyms = Synonyms::builtin(analyzer);
        let exact = Names::new(&names, |word, same_name| {
            let term = analyzer.stem(word);
            !synonyms.knows(&term) && uses.get(&term).is_none_or(|count| *count <= same_name)
        });
        Ok(Self {
            exact,
            keyword: writer.finish()?,
            vocabulary: Vocabulary::new(vocabulary),
            synonyms,
            analyzer,
            names,
        })
    }

    /// How many names are indexed.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is nothing to find.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Finds the visible tools that fit a query: those that it names first, in order of mention, then by score, ties by
    /// name.
    ///
    /// Never fails: a query that is empty or finds nothing gets a reason.
    pub fn search(&self, query: &str, options: &SearchOptions<'_>) -> Outcome {
        let query = Query::new(query);
        if query.words.is_empty() {
            return Outcome { hits: Vec::new(), no_match: Some(Reason::EmptyQuery), nearest: Vec::new() };
        }
        let reason = match self.hits(&query, options) {
            Ok(hits) if hits.is_empty() => Reason::NothingSimilar,
            Ok(hits) => return Outcome { hits, no_match: None, nearest: Vec::new() },
            Err(_) => Reason::IndexUnreadable,
        };
        let nearest = nearest(&self.names, &query.words, |name| options.allows(name));
        Outcome { hits: Vec::new(), no_match: Some(reason), nearest }
    }

    fn hits(&self, query: &Query<'_>, options: &SearchOptions<'_>) -> Result<Vec<Hit>, Error> {
        let terms = query.terms(self.analyzer, &self.synonyms, &self.vocabulary, &self.keyword)?;
        let mut candidates = self.keyword.search(&terms)?;
        let limit = options.bounded_limit();
        let mentions =
            self.exact.mentions(&self.names, query.text, &query.words, |name| options.allows(name));
        let mut ranked = named_first(mentions, candidates.as_slice());
        ranked.truncate(limit);
        let named: HashSet<u32> = ranked.iter().map(|candidate| candidate.document).collect();
        while ranked.len() < limit {
            let Some(candidate) = candidates.pop() else { break };
            let is_visible =
                self.names.get(candidate.document as usize).is_some_and(|name| options.allows(name));
            if is_visible && !named.contains(&candidate.document) {
                ranked.push(candidate);
            }
        }
        Ok(self.explained(&ranked, named.len(), &terms))
    }

    fn explained(&self, ranked: &[Candidate], named: usize, terms: &[QueryTerm]) -> Vec<Hit> {
        let best = ranked.iter().map(|candidate| candidate.score).fold(0.0, f32::max);
        let mut lift = 0.0;
        let mut hits: Vec<Hit> = ranked
            .iter()
            .enumerate()
            .rev()
            .filter_map(|(place, candidate)| {
                let exact = place < named;
                // Named tools stand above the best of the others, one point apart.
                let score = if exact {
                    lift += 1.0;
                    best + lift
                } else {
                    candidate.score
                };
                let terms = terms.iter().enumerate().filter(|(bit, _)| candidate.terms >> bit & 1 == 1);
                let fields =
                    Field::ALL.into_iter().filter(|field| candidate.fields >> (*field as u8) & 1 == 1);
                let explain = Explain {
                    exact,
                    keyword: candidate.score,
                    terms: terms.map(|(_, term)| term.word.clone()).collect(),
                    fields: fields.collect(),
                };
                Some(Hit { name: self.names.get(candidate.document as usize)?.clone(), score, explain })
            })
            .collect();
        hits.reverse();
        hits
    }
}

/// What the keyword arm knows of the named tools, in order of mention; at one place, the better fit first.
fn named_first(mut mentions: Vec<Mention>, candidates: &[Candidate]) -> Vec<Candidate> {
    if mentions.is_empty() {
        return Vec::new();
    }
    let wanted: HashSet<u32> = mentions.iter().map(|mention| mention.document).collect();
    let known: HashMap<u32, Candidate> = candidates
        .iter()
        .filter(|candidate| wanted.contains(&candidate.document))
        .map(|candidate| (candidate.document, *candidate))
        .collect();
    let of = |document: u32| {
        known.get(&document).copied().unwrap_or(Candidate { document, score: 0.0, terms: 0, fields: 0 })
    };
    mentions.sort_by(|a, b| {
        (a.span.0, !a.literal, !a.full)
            .cmp(&(b.span.0, !b.literal, !b.full))
            .then_with(|| of(b.document).cmp(&of(a.document)))
    });
    mentions.into_iter().map(|mention| of(mention.document)).collect()
}

/// The words of a name run together, for comparing spellings.
pub(crate) fn compact(text: &str) -> String {
    words(text).into_iter().map(|word| word.text).collect()
}
