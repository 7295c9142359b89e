//! The parallel search of many files.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;
use toolcrib_io::files::Kind;
use toolcrib_model::ToolError;

use super::super::glob::Glob;
use super::super::walk::{Walk, WalkEntry};
use super::match_collector::MatchCollector;
use super::search::{FileMatches, SearchQuery};
use super::{MAX_GREP_BYTES, MAX_MATCHES};

/// The maximum number of threads.
const MAX_THREADS: usize = 8;

/// The number of files that a thread takes at a time.
const BATCH: usize = 16;

/// The number of files that are searched before further threads are started.
const SINGLE_THREAD_FILES: usize = 64;

/// The results of searching a directory.
pub(super) struct SearchResults {
    pub(super) collector: MatchCollector,
    /// The notes of the walk.
    pub(super) notes: Vec<String>,
}

/// Searches all files of a walk that match the glob. The matches have the order of the walk, and do not depend on the
/// scheduling of the threads.
pub(super) fn search(
    query: &SearchQuery<'_>,
    walk: Walk<'_>,
    glob: Option<&Glob>,
) -> Result<SearchResults, ToolError> {
    let shared = SharedSearch {
        query,
        glob,
        walk: Mutex::new((walk, 0)),
        is_done: AtomicBool::new(false),
        matches: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
    };
    let mut results = shared.search(SINGLE_THREAD_FILES)?;
    if !shared.is_done.load(Ordering::Relaxed) {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let all = thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| shared.search(usize::MAX))).collect();
            let mut all = vec![shared.search(usize::MAX)];
            all.extend(others.into_iter().map(|other| match other.join() {
                Ok(results) => results,
                Err(panic) => resume_unwind(panic),
            }));
            all
        });
        for part in all {
            results.extend(part?);
        }
    }
    results.sort_unstable_by_key(|(number, _)| *number);
    let mut collector = MatchCollector::new();
    for (_, outcome) in results {
        collector.add(outcome);
    }
    if collector.over.is_none() && shared.is_too_much() {
        collector.over = Some("there is more text than one call searches: make `path` or `glob` narrower");
    }
    let (walk, _) = shared.walk.into_inner();
    Ok(SearchResults { collector, notes: walk.notes() })
}

struct SharedSearch<'a> {
    query: &'a SearchQuery<'a>,
    glob: Option<&'a Glob>,
    /// The walk, and the number of files that have been taken from it.
    walk: Mutex<(Walk<'a>, usize)>,
    /// True if there are no more files to take.
    is_done: AtomicBool,
    /// The number of matches in the searched files.
    matches: AtomicUsize,
    /// The number of searched bytes.
    bytes: AtomicU64,
}

impl SharedSearch<'_> {
    /// Searches up to `most` files. Returns the results that have to be mentioned, with the numbers of their files.
    fn search(&self, most: usize) -> Result<Vec<(usize, FileMatches)>, ToolError> {
        let query = self.query.clone();
        let mut searcher = query.searcher();
        let (mut results, mut searched) = (Vec::new(), 0);
        while searched < most {
            let batch = self.take()?;
            if batch.is_empty() {
                break;
            }
            searched += batch.len();
            for (number, found) in batch {
                let outcome = match found.open() {
                    Ok(file) => query.file(&mut searcher, &found.path, file)?,
                    Err(_) => FileMatches::unreadable(),
                };
                self.matches.fetch_add(outcome.matches.len(), Ordering::Relaxed);
                self.bytes.fetch_add(outcome.bytes, Ordering::Relaxed);
                if outcome.is_notable() {
                    results.push((number, outcome));
                }
            }
        }
        Ok(results)
    }

    /// Takes the next files of the walk, unless there are enough matches. Files that have been taken are searched to
    /// the end, so that the results contain the first of all matches.
    fn take(&self) -> Result<Vec<(usize, WalkEntry)>, ToolError> {
        let mut walk = self.walk.lock();
        let (walk, taken) = &mut *walk;
        let mut batch = Vec::new();
        let is_enough = self.matches.load(Ordering::Relaxed) > MAX_MATCHES || self.is_too_much();
        while !is_enough && batch.len() < BATCH {
            let Some(found) = walk.next()? else { break };
            if found.kind == Kind::File && self.glob.is_none_or(|glob| glob.fits(&found.below)) {
                batch.push((*taken, found));
                *taken += 1;
            }
        }
        if batch.len() < BATCH {
            self.is_done.store(true, Ordering::Relaxed);
        }
        Ok(batch)
    }

    fn is_too_much(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) >= MAX_GREP_BYTES
    }
}
