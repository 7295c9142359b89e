//! The search index: built once from all tools of a generation, read-only afterwards.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use toolcrib_model::{QualifiedName, Tool};

use crate::embedding::Vectors;
use crate::keyword::builder::load_or_build;
use crate::keyword::synonyms::Synonyms;
use crate::keyword::vocabulary::Vocabulary;
use crate::keyword::word_index::WordIndex;
use crate::keyword::{Candidate, KeywordIndex, QueryTerm};
use crate::limits::MIN_CONFIDENCE;
use crate::names::aliases::Aliases;
use crate::names::did_you_mean::suggest;
use crate::names::{Mention, NameIndex};
use crate::query::Query;
use crate::ranking::action::{QueryAction, ToolAction, action_factor};
use crate::ranking::confidence::{SemanticEvidence, evidence};
use crate::ranking::fusion::{self, DEPTH, FusedHit, RetrieverHit};
use crate::semantic_retriever::SemanticRetriever;
use crate::text::Analyzer;
use crate::tool_text::ToolText;
use crate::{
    Error, Evidence, Explain, Field, Hit, Outcome, Ranking, Reason, RetrieverScore, SearchOptions,
    SearchSettings,
};

/// The share of the best score that a hidden tool must reach to be counted as withheld.
const WITHHELD_SHARE: f32 = 0.8;

/// The share of the best score that a read-only tool must reach to rank above tools that change something, if the query
/// itself only reads.
const RELEVANT_READ_SHARE: f32 = 0.35;

/// The factor that puts a score just below another one.
const JUST_BELOW: f32 = 0.999;

/// The most overloads that are compared with a query.
const MAX_OVERLOADS: usize = 16;

/// An index that finds tools by their names, descriptions and other metadata.
///
/// It is immutable and `Sync`: each generation of tools gets a new index.
pub struct SearchIndex {
    /// The names in order. The position of a name is its document number.
    names: Vec<QualifiedName>,
    exact: NameIndex,
    aliases: Aliases,
    /// The action of each tool.
    actions: Vec<ToolAction>,
    keyword: KeywordIndex,
    vocabulary: Vocabulary,
    synonyms: Synonyms,
    analyzer: Analyzer,
    ranking: Ranking,
    /// The semantic retriever. Unset until vectors are attached.
    meaning: OnceLock<SemanticRetriever>,
}

impl std::fmt::Debug for SearchIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchIndex").field("tools", &self.names.len()).finish_non_exhaustive()
    }
}

impl SearchIndex {
    /// Indexes the tools with the default settings. Overloads of one name become one entry.
    pub fn build<'a>(tools: impl IntoIterator<Item = &'a Tool>) -> Result<Self, Error> {
        Self::build_with(tools, &SearchSettings::default())
    }

    /// Indexes the tools with the given settings.
    pub fn build_with<'a>(
        tools: impl IntoIterator<Item = &'a Tool>,
        settings: &SearchSettings,
    ) -> Result<Self, Error> {
        Self::build_cached(tools, settings, None)
    }

    /// Indexes the tools like [`build_with`](Self::build_with), and caches the index in `folder` if there are at least
    /// [`MIN_CACHED_TOOLS`](crate::limits::MIN_CACHED_TOOLS) tools, so that the next start loads it.
    ///
    /// The folder belongs to the operator and several processes may share it. A faulty cache costs time, nothing else.
    pub fn build_cached<'a>(
        tools: impl IntoIterator<Item = &'a Tool>,
        settings: &SearchSettings,
        folder: Option<&Path>,
    ) -> Result<Self, Error> {
        let analyzer = Analyzer::new();
        let tools: Vec<&Tool> = tools.into_iter().collect();
        let (names, WordIndex { keyword, vocabulary }) =
            load_or_build(tools.iter().copied(), analyzer, folder)?;
        let (aliases, actions) = aliases_and_actions(&names, &tools, analyzer);
        let synonyms = Synonyms::new(analyzer, &settings.synonyms);
        let exact = NameIndex::new(&names, |word, same_name| {
            let term = analyzer.stem(word);
            !synonyms.knows(&term) && keyword.tools_with(&term) <= same_name
        });
        let (ranking, meaning) = (settings.ranking, OnceLock::new());
        Ok(Self { names, exact, aliases, actions, keyword, vocabulary, synonyms, analyzer, ranking, meaning })
    }

    /// Adds the vectors of the same tools. From then on, queries are also answered by meaning. Later calls have no
    /// effect.
    pub fn attach(&self, vectors: &Arc<Vectors>) {
        self.meaning.get_or_init(|| SemanticRetriever::new(&self.names, Arc::clone(vectors)));
    }

    /// Returns the id of the embedding model, if vectors are attached.
    pub fn model(&self) -> Option<&str> {
        self.meaning.get().map(SemanticRetriever::model)
    }

    /// Returns the number of indexed names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns true if the index has no tools.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the visible tools that match a query: first those that it names, in order of mention, then the others by
    /// score. Ties are broken by name.
    ///
    /// The search never fails: if the query is empty or nothing matches, the outcome carries the reason.
    pub fn search(&self, query: &str, options: &SearchOptions<'_>) -> Outcome {
        let query = Query::new(query);
        if query.words.is_empty() {
            return Outcome::no_match(Reason::EmptyQuery, Vec::new(), Evidence::default());
        }
        let ranked = self.ranked(&query, options);
        if ranked.is_found() {
            let (hits, evidence) = (self.explained(&ranked, options.bounded_limit()), ranked.evidence);
            let withheld = if ranked.is_sure() { 0 } else { self.withheld(&query, options) };
            return Outcome { hits, no_match: None, nearest: Vec::new(), withheld, evidence };
        }
        let best = ranked.fused.iter().filter_map(|one| self.names.get(one.document as usize));
        let nearest = suggest(&self.names, &self.exact, &query.words, best, |name| options.allows(name));
        let withheld = self.withheld(&query, options);
        let reason = if withheld > 0 { Reason::NotPermitted } else { Reason::NothingSimilar };
        Outcome { withheld, ..Outcome::no_match(reason, nearest, ranked.evidence) }
    }

    /// Returns the position of the overload that fits a query best: the first of those that share the most words with
    /// it.
    pub fn best_overload<'a>(&self, query: &str, overloads: impl IntoIterator<Item = &'a Tool>) -> usize {
        let query = Query::new(query);
        let wanted: Vec<String> =
            self.analyzer.terms_of(&query.words).into_iter().map(|term| term.text).collect();
        let mut best = (0, 0);
        for (place, tool) in overloads.into_iter().take(MAX_OVERLOADS).enumerate() {
            let mut text = ToolText::default();
            text.add(tool);
            let fields =
                [Field::Description, Field::Parameters, Field::Keywords].map(|field| text.get(field));
            let words: HashSet<String> =
                fields.iter().flat_map(|text| self.analyzer.terms(text)).map(|term| term.text).collect();
            let common = wanted.iter().filter(|term| words.contains(*term)).count();
            if common > best.0 {
                best = (common, place);
            }
        }
        best.1
    }

    /// Counts the tools that the filter hides and that the search would otherwise have found for sure.
    fn withheld(&self, query: &Query<'_>, options: &SearchOptions<'_>) -> usize {
        if options.filter.is_none() {
            return 0;
        }
        let everything = SearchOptions { filter: None, ..*options };
        let ranked = self.ranked(query, &everything);
        let best = ranked.fused.first().map_or(0.0, |one| one.score);
        let is_good = |(place, one): &(usize, &FusedHit)| match ranked.named {
            0 => one.score >= best * WITHHELD_SHARE,
            named => *place < named,
        };
        let found = ranked.fused.iter().take(options.bounded_limit()).enumerate().filter(is_good);
        let hidden = found.filter_map(|(_, one)| self.names.get(one.document as usize));
        let hidden = hidden.filter(|name| !options.allows(name));
        if ranked.is_sure() { hidden.count() } else { 0 }
    }

    fn ranked(&self, query: &Query<'_>, options: &SearchOptions<'_>) -> Ranked {
        let terms = query.terms(self.analyzer, &self.synonyms, &self.vocabulary, &self.keyword);
        let is_visible =
            |document: u32| self.names.get(document as usize).is_some_and(|name| options.allows(name));
        let (keyword, weights) = self.keyword.search(&terms, DEPTH, is_visible);
        let mentions =
            self.exact.mentions(&self.names, query.text, &query.words, |name| options.allows(name));
        let mut named = self.named_first(mentions, &terms);
        let by_alias = self.mentions_by_alias(query, options, &named);
        named.extend(self.named_first(by_alias, &terms));
        let meaning = self.meaning.get().and_then(|retriever| {
            let reworded = query.reworded(self.analyzer, &self.synonyms, &self.keyword);
            let reworded = reworded.as_deref().map(Query::new);
            Some((retriever, retriever.of(reworded.as_ref().unwrap_or(query))?))
        });
        let (mut near, mut similarity, mut weight) = (Vec::new(), Vec::new(), 0.0);
        if let Some((retriever, embedded)) = &meaning {
            let documents: Vec<u32> = keyword.iter().map(|candidate| candidate.document).collect();
            (near, similarity) = retriever.nearest(embedded, &documents, DEPTH, is_visible);
            weight = fusion::weight(terms.len(), embedded.coverage, embedded.is_english);
        }
        let mut fused = fusion::fuse(self.ranking, weight, &keyword, &near, &similarity);
        let best = keyword.first().map_or(0.0, |candidate| candidate.score);
        let covered = fused.first().map_or(0, |one| one.terms);
        let near = meaning.as_ref().zip(near.first()).map(|((retriever, embedded), (_, similarity))| {
            SemanticEvidence {
                similarity: *similarity,
                coverage: embedded.coverage,
                background: retriever.background,
                is_english: embedded.is_english,
            }
        });
        let evidence = evidence(&weights, covered, best, near, weight);
        self.weigh_actions(query, &mut fused);
        let named = put_first(named, &mut fused);
        Ranked { fused, named, terms, evidence }
    }

    /// Returns the visible tools whose alias occurs in the query, except those in `named`.
    fn mentions_by_alias(
        &self,
        query: &Query<'_>,
        options: &SearchOptions<'_>,
        named: &[Candidate],
    ) -> Vec<Mention> {
        let is_rare = |term: &str, bearers: usize| {
            !self.synonyms.knows(term) && self.keyword.tools_with(term) <= bearers
        };
        let mut found: Vec<Mention> = Vec::new();
        for mention in self.aliases.mentions(&query.words, self.analyzer, is_rare) {
            for document in mention.documents {
                let is_known = found.iter().any(|known| known.document == *document)
                    || named.iter().any(|known| known.document == *document);
                let is_visible =
                    || self.names.get(*document as usize).is_some_and(|name| options.allows(name));
                if !is_known && is_visible() {
                    found.push(Mention {
                        document: *document,
                        span: mention.span,
                        literal: false,
                        full: false,
                    });
                }
            }
        }
        found
    }

    /// Returns the keyword results of the mentioned tools in order of mention. If several are mentioned at one
    /// position, the better match comes first.
    fn named_first(&self, mut mentions: Vec<Mention>, terms: &[QueryTerm]) -> Vec<Candidate> {
        if mentions.is_empty() {
            return Vec::new();
        }
        let documents = mentions.iter().map(|mention| mention.document).collect();
        let scores = self.keyword.scores(terms, documents).into_iter();
        let known: HashMap<u32, Candidate> = scores.map(|one| (one.document, one)).collect();
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

    /// Lowers the scores of tools whose action differs from the one that the query asks for.
    fn weigh_actions(&self, query: &Query<'_>, fused: &mut [FusedHit]) {
        let request = QueryAction::of(query);
        let best = fused.first().map_or(0.0, |one| one.score);
        let action = |one: &FusedHit| self.actions.get(one.document as usize).copied().unwrap_or_default();
        for one in fused.iter_mut() {
            one.score *= action_factor(request, action(one));
        }
        // For a read-only query, tools that change something rank below all relevant tools that only read.
        if request.is_some_and(QueryAction::is_read_only) {
            let reading =
                fused.iter().filter(|one| action(one).reads() && one.score >= best * RELEVANT_READ_SHARE);
            let bound = reading.map(|one| one.score).fold(f32::INFINITY, f32::min) * JUST_BELOW;
            for one in fused.iter_mut().filter(|one| action(one).changes()) {
                one.score = one.score.min(bound);
            }
        }
        fused.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.document.cmp(&b.document)));
    }

    fn explained(&self, ranked: &Ranked, limit: usize) -> Vec<Hit> {
        let best = ranked.fused.iter().map(|one| one.score).fold(0.0, f32::max);
        let mut lift = 0.0;
        let mut hits: Vec<Hit> = ranked
            .fused
            .iter()
            .take(limit)
            .enumerate()
            .rev()
            .filter_map(|(place, one)| {
                let exact = place < ranked.named;
                // Named tools rank above the best of the others, one point apart.
                let score = if exact {
                    lift += 1.0;
                    best + lift
                } else {
                    one.score
                };
                Some(Hit {
                    name: self.names.get(one.document as usize)?.clone(),
                    score,
                    explain: self.explain(one, exact, ranked),
                })
            })
            .collect();
        hits.reverse();
        hits
    }

    fn explain(&self, one: &FusedHit, exact: bool, ranked: &Ranked) -> Explain {
        let (keyword, meaning) = match self.ranking {
            Ranking::Fused => (1.0 - ranked.evidence.weight, ranked.evidence.weight),
            Ranking::Weighted => (1.0, 1.0),
        };
        let place = |place: Option<RetrieverHit>, weight| {
            place.map(|RetrieverHit { rank, score, share }| RetrieverScore { rank, score, share, weight })
        };
        let terms = ranked.terms.iter().enumerate().filter(|(bit, _)| one.terms >> bit & 1 == 1);
        let fields = Field::ALL.into_iter().filter(|field| one.fields >> (*field as u8) & 1 == 1);
        Explain {
            exact,
            fused: one.score,
            keyword: place(one.keyword, keyword),
            meaning: place(one.meaning, meaning),
            terms: terms.map(|(_, term)| term.word.clone()).collect(),
            fields: fields.collect(),
        }
    }
}

/// Returns the aliases of all tools and the action of each. The action of overloads is that of the first one.
fn aliases_and_actions(
    names: &[QualifiedName],
    tools: &[&Tool],
    analyzer: Analyzer,
) -> (Aliases, Vec<ToolAction>) {
    let mut aliases = Aliases::default();
    let mut actions = vec![None; names.len()];
    for tool in tools {
        let Ok(at) = names.binary_search(&tool.name) else { continue };
        if let (Ok(document), Some(action)) = (u32::try_from(at), actions.get_mut(at)) {
            aliases.add(document, tool, analyzer);
            action.get_or_insert_with(|| ToolAction::of(tool));
        }
    }
    (aliases, actions.into_iter().map(Option::unwrap_or_default).collect())
}

/// The combined results of the retrievers for a query.
struct Ranked {
    /// The named tools, then the others, best first.
    fused: Vec<FusedHit>,
    /// The number of named tools.
    named: usize,
    terms: Vec<QueryTerm>,
    evidence: Evidence,
}

impl Ranked {
    /// Returns true if there is a match, which may be weak.
    fn is_found(&self) -> bool {
        self.named > 0 || (!self.fused.is_empty() && self.evidence.confidence >= MIN_CONFIDENCE)
    }

    /// Returns true if there is a match that is not weak.
    fn is_sure(&self) -> bool {
        self.named > 0 || (!self.fused.is_empty() && !self.evidence.is_weak())
    }
}

/// Moves the named tools to the front and returns their number.
fn put_first(named: Vec<Candidate>, fused: &mut Vec<FusedHit>) -> usize {
    let count = named.len();
    let first: Vec<FusedHit> = named
        .into_iter()
        .map(|candidate| match fused.iter().position(|one| one.document == candidate.document) {
            Some(at) => fused.remove(at),
            None => FusedHit::named(candidate),
        })
        .collect();
    fused.splice(..0, first);
    count
}
