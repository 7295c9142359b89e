//! The background thread that makes vectors, for the newest generation first.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use toolcrib_model::{QualifiedName, Tool};

use super::tool_texts::texts_of;
use super::vector_cache::Cache;
use super::vector_index::{QuantizedVector, VectorIndex};
use super::vectors::{JobResult, JobState, Vectors, embed};
use super::{ContentHash, EmbedError, Embedder, Embeddings, OpenedEmbedder};

/// The number of tools whose texts an embedder is given at once.
pub const BATCH: usize = 32;

/// The interval at which vectors are written to the disk while more are being made. A crash loses at most this much
/// work.
const CHECKPOINT: Duration = Duration::from_secs(10);

/// A worker that makes vectors in a thread, which runs only while there are jobs.
pub(crate) struct EmbeddingWorker {
    open: Box<dyn Fn() -> OpenedEmbedder + Send + Sync>,
    opened: OnceLock<OpenedEmbedder>,
    pub(crate) cache: OnceLock<PathBuf>,
    jobs: Mutex<JobQueue>,
    /// The vectors of the last finished generation and of those in progress.
    pool: Mutex<VectorPool>,
}

#[derive(Default)]
struct JobQueue {
    /// The pending jobs, the newest last.
    waiting: Vec<Job>,
    is_running: bool,
    /// The number of jobs that were ever added.
    count: u64,
}

#[derive(Default)]
struct VectorPool {
    rows: HashMap<ContentHash, QuantizedVector>,
    is_read: bool,
}

/// A job that makes the vectors of one generation. It is dropped when that generation is no longer referenced.
struct Job {
    number: u64,
    state: Weak<JobState>,
    tools: Vec<(QualifiedName, Vec<Arc<Tool>>)>,
    work: Option<PreparedJob>,
}

/// The remaining work of a job, once its texts are known.
struct PreparedJob {
    embedder: Arc<dyn Embedder>,
    contents: Vec<ContentHash>,
    /// The contents without a vector, each with its texts and the number of its tools.
    missing: VecDeque<(ContentHash, Vec<String>, usize)>,
    made: usize,
    fault: Option<EmbedError>,
    written: Instant,
}

impl EmbeddingWorker {
    pub(crate) fn new(open: Box<dyn Fn() -> OpenedEmbedder + Send + Sync>) -> Self {
        let (opened, cache) = (OnceLock::new(), OnceLock::new());
        Self { open, opened, cache, jobs: Mutex::default(), pool: Mutex::default() }
    }

    /// Starts to make the vectors of a generation.
    pub(crate) fn begin<'a>(self: &Arc<Self>, tools: impl Iterator<Item = &'a Arc<Tool>>) -> Embeddings {
        let mut overloads: BTreeMap<&QualifiedName, Vec<Arc<Tool>>> = BTreeMap::new();
        for tool in tools {
            overloads.entry(&tool.name).or_default().push(Arc::clone(tool));
        }
        let tools: Vec<_> = overloads.into_iter().map(|(name, tools)| (name.clone(), tools)).collect();
        let embeddings = Embeddings::pending(tools.len());
        let state = Arc::downgrade(&embeddings.state);
        let mut jobs = self.jobs.lock();
        jobs.count += 1;
        let number = jobs.count;
        jobs.waiting.retain(|job| job.state.strong_count() > 0);
        jobs.waiting.push(Job { number, state, tools, work: None });
        if !jobs.is_running {
            let worker = Arc::clone(self);
            // Not a task of the runtime, which would wait for it at its shutdown.
            let thread = thread::Builder::new().name("toolcrib-vectors".into()).spawn(move || worker.run());
            jobs.is_running = thread.is_ok();
            if let Err(error) = thread {
                jobs.waiting.pop();
                let model = "in its background thread".to_owned();
                let fault = Some(EmbedError::Model { model, message: error.to_string() });
                embeddings.state.finish(JobResult { vectors: None, fault });
            }
        }
        embeddings
    }

    /// Runs one step of the newest job at a time, until there are no more jobs.
    fn run(&self) {
        loop {
            let mut jobs = self.jobs.lock();
            let Some(mut job) = jobs.waiting.pop() else {
                jobs.is_running = false;
                return;
            };
            drop(jobs);
            let Some(state) = job.state.upgrade() else { continue };
            let step = catch_unwind(AssertUnwindSafe(|| self.step(&mut job, &state)));
            let is_done = step.unwrap_or_else(|_| {
                let fault = Some(EmbedError::Panicked { model: "in use".into() });
                state.finish(JobResult { vectors: None, fault });
                true
            });
            if !is_done {
                let mut jobs = self.jobs.lock();
                let place = jobs.waiting.partition_point(|other| other.number < job.number);
                jobs.waiting.insert(place, job);
            }
        }
    }

    /// Runs one step of a job. Returns true if it was the last one.
    fn step(&self, job: &mut Job, state: &JobState) -> bool {
        let Some(work) = &mut job.work else {
            let opened = self.opened.get_or_init(|| self.opened());
            let Some(embedder) = &opened.embedder else {
                state.finish(JobResult { vectors: None, fault: opened.fault.clone() });
                return true;
            };
            let work = self.prepare(embedder, &job.tools, opened.fault.clone());
            let left: usize = work.missing.iter().map(|(_, _, tools)| tools).sum();
            state.done.store(state.total.saturating_sub(left), Ordering::Relaxed);
            job.work = Some(work);
            return false;
        };
        let mut batch: Vec<_> = work.missing.drain(..work.missing.len().min(BATCH)).collect();
        let tools: usize = batch.iter().map(|(_, _, tools)| tools).sum();
        let pool = self.pool.lock();
        // Another generation may have made some of them in the meantime.
        batch.retain(|(content, _, _)| !pool.rows.contains_key(content));
        drop(pool);
        let is_fine = batch.is_empty() || self.embed(work, &batch);
        state.done.fetch_add(tools, Ordering::Relaxed);
        if is_fine && !work.missing.is_empty() {
            if work.made > 0 && work.written.elapsed() >= CHECKPOINT {
                self.write(work);
                work.written = Instant::now();
            }
            return false;
        }
        self.finish(job, state);
        true
    }

    fn opened(&self) -> OpenedEmbedder {
        catch_unwind(AssertUnwindSafe(|| (self.open)())).unwrap_or_else(|_| OpenedEmbedder {
            embedder: None,
            fault: Some(EmbedError::Panicked { model: "being opened".into() }),
        })
    }

    /// Determines which vectors are missing.
    fn prepare(
        &self,
        embedder: &Arc<dyn Embedder>,
        tools: &[(QualifiedName, Vec<Arc<Tool>>)],
        fault: Option<EmbedError>,
    ) -> PreparedJob {
        let mut pool = self.pool.lock();
        if !std::mem::replace(&mut pool.is_read, true)
            && let Some(cache) = self.cache(embedder.as_ref())
        {
            pool.rows.extend(cache.read());
        }
        let mut contents = Vec::with_capacity(tools.len());
        let mut missing: VecDeque<(ContentHash, Vec<String>, usize)> = VecDeque::new();
        let mut places: HashMap<ContentHash, usize> = HashMap::new();
        for (_, overloads) in tools {
            let texts = texts_of(&overloads.iter().map(AsRef::as_ref).collect::<Vec<_>>());
            let content = ContentHash::of(embedder.id(), &texts);
            contents.push(content);
            if pool.rows.contains_key(&content) {
                continue;
            }
            let place = *places.entry(content).or_insert(missing.len());
            match missing.get_mut(place) {
                Some((_, _, tools)) => *tools += 1,
                None => missing.push_back((content, texts, 1)),
            }
        }
        let embedder = Arc::clone(embedder);
        PreparedJob { embedder, contents, missing, made: 0, fault, written: Instant::now() }
    }

    /// Makes the vectors of a batch. Returns true if the next batch may be tried. A text with an invalid vector is
    /// skipped.
    fn embed(&self, work: &mut PreparedJob, batch: &[(ContentHash, Vec<String>, usize)]) -> bool {
        let embedder = work.embedder.as_ref();
        let texts: Vec<&str> = batch.iter().flat_map(|(_, texts, _)| texts).map(String::as_str).collect();
        let vectors = match embed(embedder, &texts) {
            Ok(vectors) => vectors,
            Err(error) => {
                // The next batch would fail in the same way, and each may take long.
                work.fault.get_or_insert(error);
                return false;
            }
        };
        let mut vectors = vectors.into_iter();
        let mut rows = Vec::with_capacity(batch.len());
        for (content, texts, _) in batch {
            let mut mean = MeanVector::default();
            for (text, vector) in texts.iter().zip(&mut vectors) {
                match vector {
                    Ok(vector) => mean.add(&vector),
                    Err(EmbedError::Nowhere { .. }) if embedder.coverage(text) == 0.0 => {}
                    Err(error) => {
                        work.fault.get_or_insert(error);
                    }
                }
            }
            rows.extend(mean.row().map(|row| (*content, row)));
        }
        work.made += rows.len();
        self.pool.lock().rows.extend(rows);
        true
    }

    /// Publishes the vectors of a generation and writes them to the cache.
    fn finish(&self, job: &mut Job, state: &JobState) {
        let Some(work) = job.work.take() else { return };
        let mut pool = self.pool.lock();
        let jobs = self.jobs.lock();
        if job.number == jobs.count {
            let others = jobs.waiting.iter().filter_map(|job| job.work.as_ref());
            let used: HashSet<&ContentHash> =
                others.chain([&work]).flat_map(|work| work.contents.iter()).collect();
            pool.rows.retain(|content, _| used.contains(content));
        }
        drop(jobs);
        let rows = work.contents.iter().map(|content| pool.rows.get(content));
        let index = VectorIndex::new(work.embedder.dimension(), rows);
        drop(pool);
        let names = std::mem::take(&mut job.tools).into_iter().map(|(name, _)| name).collect();
        if let Some(fault) = &work.fault {
            tracing::warn!("semantic search is degraded: {fault}");
        }
        tracing::debug!(tools = index.len(), made = work.made, "the vectors of a generation are complete");
        // Without any vector, but with tools, there is nothing to search.
        let is_usable = index.present() > 0 || work.fault.is_none();
        let vectors = Vectors { embedder: Arc::clone(&work.embedder), names, index, made: work.made };
        let vectors = is_usable.then(|| Arc::new(vectors));
        // The cache is written first, since a command may exit as soon as it has its result.
        if work.made > 0 {
            self.write(&work);
        }
        state.finish(JobResult { vectors, fault: work.fault });
    }

    /// Writes the vectors of a generation to the cache. A failure costs time at the next start, nothing else.
    fn write(&self, work: &PreparedJob) {
        let Some(cache) = self.cache(work.embedder.as_ref()) else { return };
        let pool = self.pool.lock();
        let used =
            work.contents.iter().filter_map(|content| Some((*content, pool.rows.get(content)?.clone())));
        let used: HashMap<ContentHash, QuantizedVector> = used.collect();
        drop(pool);
        if let Err(error) = cache.write(&used) {
            tracing::debug!("the vectors are not cached: {error}");
        }
    }

    fn cache(&self, embedder: &dyn Embedder) -> Option<Cache> {
        Some(Cache::new(self.cache.get()?, embedder.id(), embedder.dimension()))
    }
}

/// The mean of several vectors.
#[derive(Default)]
pub(super) struct MeanVector {
    sum: Vec<f32>,
    count: u8,
}

impl MeanVector {
    pub(super) fn add(&mut self, vector: &[f32]) {
        self.sum.resize(vector.len(), 0.0);
        self.sum.iter_mut().zip(vector).for_each(|(sum, number)| *sum += number);
        self.count += 1;
    }

    pub(super) fn row(mut self) -> Option<QuantizedVector> {
        let count = f32::from(self.count.max(1));
        self.sum.iter_mut().for_each(|sum| *sum /= count);
        QuantizedVector::of(&self.sum)
    }
}
