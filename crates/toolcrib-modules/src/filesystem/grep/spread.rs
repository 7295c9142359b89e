//! The search through many files, by several threads.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use toolcrib_io::files::Kind;
use toolcrib_model::ToolError;

use super::super::glob::Glob;
use super::super::walk::{Found, Walk};
use super::search::{Outcome, Query};
use super::tally::Tally;
use super::{MAX_GREP_BYTES, MAX_MATCHES};

/// How many threads search at most.
const MAX_THREADS: usize = 8;

/// How many files one thread takes at a time.
const BATCH: usize = 16;

/// How many files are searched before other threads are asked for help.
const ALONE: usize = 64;

/// What was found below a directory.
pub(super) struct Searched {
    pub(super) tally: Tally,
    /// What the walk left out.
    pub(super) notes: Vec<String>,
}

/// Searches all files that a walk comes by and the glob fits. The matches come in the order of the walk, and are the same
/// however the threads run.
pub(super) fn search(query: &Query<'_>, walk: Walk<'_>, glob: Option<&Glob>) -> Result<Searched, ToolError> {
    let shared = Shared {
        query,
        glob,
        walk: Mutex::new((walk, 0)),
        is_done: AtomicBool::new(false),
        matches: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
    };
    let mut told = shared.search(ALONE)?;
    if !shared.is_done.load(Ordering::Relaxed) {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let all = thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| shared.search(usize::MAX))).collect();
            let mut all = vec![shared.search(usize::MAX)];
            all.extend(others.into_iter().map(|other| match other.join() {
                Ok(told) => told,
                Err(panic) => resume_unwind(panic),
            }));
            all
        });
        for part in all {
            told.extend(part?);
        }
    }
    told.sort_unstable_by_key(|(number, _)| *number);
    let mut tally = Tally::new();
    for (_, outcome) in told {
        tally.add(outcome);
    }
    if tally.over.is_none() && shared.is_too_much() {
        tally.over = Some("there is more text than one call searches: make `path` or `glob` narrower");
    }
    let (walk, _) = shared.walk.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Searched { tally, notes: walk.notes() })
}

struct Shared<'a> {
    query: &'a Query<'a>,
    glob: Option<&'a Glob>,
    /// The walk, and how many files have been taken from it.
    walk: Mutex<(Walk<'a>, usize)>,
    /// Whether there are no more files to take.
    is_done: AtomicBool,
    /// How many matches there are in the files that were searched.
    matches: AtomicUsize,
    /// How many bytes were searched.
    bytes: AtomicU64,
}

impl Shared<'_> {
    /// Searches files as long as there are any, and no more than `most` of them. Those that there is something to tell of
    /// come with their numbers.
    fn search(&self, most: usize) -> Result<Vec<(usize, Outcome)>, ToolError> {
        let query = self.query.clone();
        let mut searcher = query.searcher();
        let (mut told, mut searched) = (Vec::new(), 0);
        while searched < most {
            let batch = self.take()?;
            if batch.is_empty() {
                break;
            }
            searched += batch.len();
            for (number, found) in batch {
                let outcome = match found.open() {
                    Ok(file) => query.file(&mut searcher, &found.path, file)?,
                    Err(_) => Outcome::unreadable(),
                };
                self.matches.fetch_add(outcome.matches.len(), Ordering::Relaxed);
                self.bytes.fetch_add(outcome.bytes, Ordering::Relaxed);
                if outcome.tells() {
                    told.push((number, outcome));
                }
            }
        }
        Ok(told)
    }

    /// Takes the next files of the walk. Once there are matches enough no more are taken: what has been taken is searched
    /// to its end, so that the first of all matches are among them.
    fn take(&self) -> Result<Vec<(usize, Found)>, ToolError> {
        let mut walk = self.walk.lock().unwrap_or_else(PoisonError::into_inner);
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
