//! The background thread that makes vectors, for the newest generation first.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use toolcrib_io::table::SharedTable;
use toolcrib_model::{QualifiedName, Tool};

use super::shared_vectors::{SetName, SharedVectors};
use super::tool_texts::texts_of;
use super::vector_cache::{VectorCache, model_name, set_name};
use super::vector_index::{QuantizedVector, Row};
use super::vector_set::VectorSet;
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
    /// The table that other processes share.
    pub(crate) table: OnceLock<Arc<dyn SharedTable>>,
    shared: OnceLock<Option<SharedVectors>>,
    jobs: Mutex<JobQueue>,
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

/// The vectors that generations share.
#[derive(Default)]
struct VectorPool {
    /// The vectors that were made for generations in progress.
    made: HashMap<ContentHash, QuantizedVector>,
    /// The vectors of the last finished generation.
    finished: Option<Arc<VectorSet>>,
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
    /// The sets that have vectors of these contents.
    sets: Vec<Arc<VectorSet>>,
    /// The location of the vector of each content that one of the sets has.
    locations: Vec<Option<VectorLocation>>,
    /// The contents without a vector, each with its texts and the number of its tools.
    missing: VecDeque<(ContentHash, Vec<String>, usize)>,
    made: usize,
    fault: Option<EmbedError>,
    written: Instant,
}

/// The location of a vector.
#[derive(Clone, Copy)]
struct VectorLocation {
    set: usize,
    row: u32,
}

impl EmbeddingWorker {
    pub(crate) fn new(open: Box<dyn Fn() -> OpenedEmbedder + Send + Sync>) -> Self {
        Self {
            open,
            opened: OnceLock::new(),
            cache: OnceLock::new(),
            table: OnceLock::new(),
            shared: OnceLock::new(),
            jobs: Mutex::default(),
            pool: Mutex::default(),
        }
    }

    /// Starts to make the vectors of a generation.
    pub(crate) fn begin<'a>(self: &Arc<Self>, tools: impl Iterator<Item = &'a Arc<Tool>>) -> Embeddings {
        let mut overloads: BTreeMap<&QualifiedName, Vec<Arc<Tool>>> = BTreeMap::new();
        for tool in tools {
            overloads.entry(&tool.name).or_default().push(Arc::clone(tool));
        }
        let tools: Vec<_> = overloads.into_iter().map(|(name, tools)| (name.clone(), tools)).collect();
        if let (Some(table), Ok(runtime)) = (self.table.get(), Handle::try_current()) {
            self.shared.get_or_init(|| SharedVectors::new(Arc::clone(table), runtime));
        }
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
            // This step holds one reference.
            let is_wanted = || job.state.strong_count() > 1;
            let work = self.prepare(embedder, &job.tools, opened.fault.clone(), is_wanted);
            let left: usize = work.missing.iter().map(|(_, _, tools)| tools).sum();
            state.done.store(state.total.saturating_sub(left), Ordering::Relaxed);
            job.work = Some(work);
            return false;
        };
        let mut batch: Vec<_> = work.missing.drain(..work.missing.len().min(BATCH)).collect();
        let tools: usize = batch.iter().map(|(_, _, tools)| tools).sum();
        let pool = self.pool.lock();
        // Another generation may have made some of them in the meantime.
        batch.retain(|(content, _, _)| !pool.made.contains_key(content));
        drop(pool);
        let is_fine = batch.is_empty() || self.embed(work, &batch);
        state.done.fetch_add(tools, Ordering::Relaxed);
        if is_fine && !work.missing.is_empty() {
            if work.made > 0 && work.written.elapsed() >= CHECKPOINT {
                drop(self.write(work));
                if let Some((shared, name)) = self.shared(work.embedder.as_ref(), &work.contents) {
                    shared.extend(&name);
                }
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
        is_wanted: impl Fn() -> bool,
    ) -> PreparedJob {
        let texts =
            |overloads: &[Arc<Tool>]| texts_of(&overloads.iter().map(AsRef::as_ref).collect::<Vec<_>>());
        let content = |overloads: &[Arc<Tool>]| ContentHash::of(embedder.id(), &texts(overloads));
        let contents: Vec<ContentHash> = tools.iter().map(|(_, overloads)| content(overloads)).collect();
        let (sets, locations) = self.locations(embedder.as_ref(), &contents, is_wanted);
        let mut missing: VecDeque<(ContentHash, Vec<String>, usize)> = VecDeque::new();
        let mut numbers: HashMap<ContentHash, usize> = HashMap::new();
        let pool = self.pool.lock();
        for ((content, location), (_, overloads)) in contents.iter().zip(&locations).zip(tools) {
            if location.is_some() || pool.made.contains_key(content) {
                continue;
            }
            let number = *numbers.entry(*content).or_insert(missing.len());
            match missing.get_mut(number) {
                Some((_, _, tools)) => *tools += 1,
                None => missing.push_back((*content, texts(overloads), 1)),
            }
        }
        drop(pool);
        let embedder = Arc::clone(embedder);
        PreparedJob { embedder, contents, sets, locations, missing, made: 0, fault, written: Instant::now() }
    }

    /// Looks up the vectors of these contents. Returns the sets that have them, and the location of each.
    fn locations(
        &self,
        embedder: &dyn Embedder,
        contents: &[ContentHash],
        is_wanted: impl Fn() -> bool,
    ) -> (Vec<Arc<VectorSet>>, Vec<Option<VectorLocation>>) {
        let finished = self.pool.lock().finished.clone();
        let cache = self.cache(embedder);
        let same = finished.clone().filter(|set| set.is_of(contents));
        let same = same.or_else(|| cache.as_ref()?.open(contents).map(Arc::new));
        let same = same.or_else(|| {
            let (shared, name) = self.shared(embedder, contents)?;
            let set = shared.fetch(&name, contents, embedder.dimension(), is_wanted)?;
            Some(Arc::new(match &cache {
                Some(cache) => cache.write(set),
                None => set,
            }))
        });
        if let Some(set) = same {
            let location = |row| set.index().row(row).map(|_| VectorLocation { set: 0, row });
            let locations = (0_u32..).take(contents.len()).map(location).collect();
            return (vec![set], locations);
        }
        let cached = cache.iter().flat_map(VectorCache::open_all).map(Arc::new);
        let sets: Vec<Arc<VectorSet>> = finished.into_iter().chain(cached).collect();
        let mut known = HashMap::new();
        for (number, set) in sets.iter().enumerate() {
            let rows = set.contents().zip(0_u32..).filter(|(_, row)| set.index().row(*row).is_some());
            known.extend(rows.map(|(content, row)| (content, VectorLocation { set: number, row })));
        }
        let locations = contents.iter().map(|content| known.get(content).copied()).collect();
        (sets, locations)
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
        self.pool.lock().made.extend(rows);
        true
    }

    /// Publishes the vectors of a generation and writes them to the cache.
    fn finish(&self, job: &mut Job, state: &JobState) {
        let Some(work) = job.work.take() else { return };
        let set = match work.sets.first() {
            // Nothing was added to the set of the same contents.
            Some(set) if work.made == 0 && set.is_of(&work.contents) => Arc::clone(set),
            // The cache is written first, since a command may exit as soon as it has its result.
            _ => Arc::new(self.write(&work)),
        };
        if let Some((shared, name)) = self.shared(work.embedder.as_ref(), &work.contents) {
            // Another process may be able to make what this one could not.
            shared.publish(&name, work.fault.is_none().then_some(set.as_ref()), work.made > 0);
        }
        let jobs = self.jobs.lock();
        if job.number == jobs.count {
            let others = jobs.waiting.iter().filter_map(|job| job.work.as_ref());
            let used: HashSet<&ContentHash> = others.flat_map(|work| &work.contents).collect();
            let mut pool = self.pool.lock();
            pool.made.retain(|content, _| used.contains(content));
            pool.finished = Some(Arc::clone(&set));
        }
        drop(jobs);
        let names = std::mem::take(&mut job.tools).into_iter().map(|(name, _)| name).collect();
        if let Some(fault) = &work.fault {
            tracing::warn!("semantic search is degraded: {fault}");
        }
        tracing::debug!(
            tools = set.index().len(),
            made = work.made,
            "the vectors of a generation are complete"
        );
        // Without any vector, but with tools, there is nothing to search.
        let is_usable = set.index().present() > 0 || work.fault.is_none();
        let vectors = Vectors { embedder: Arc::clone(&work.embedder), names, set, made: work.made };
        let vectors = is_usable.then(|| Arc::new(vectors));
        state.finish(JobResult { vectors, fault: work.fault });
    }

    /// Collects the vectors of a generation, and writes them to the cache if there are any.
    fn write(&self, work: &PreparedJob) -> VectorSet {
        let pool = self.pool.lock();
        let row = |(content, location): (&ContentHash, &Option<VectorLocation>)| -> Option<Row<'_>> {
            match location {
                Some(location) => work.sets.get(location.set)?.index().row(location.row),
                None => pool.made.get(content).map(QuantizedVector::row),
            }
        };
        let rows = work.contents.iter().zip(&work.locations).map(row);
        let set = VectorSet::new(work.embedder.dimension(), &work.contents, rows);
        drop(pool);
        match self.cache(work.embedder.as_ref()) {
            Some(cache) if set.index().present() > 0 => cache.write(set),
            _ => set,
        }
    }

    /// Returns the sets that other processes share, and the name of the set of these texts. An empty set is not shared.
    fn shared(&self, embedder: &dyn Embedder, contents: &[ContentHash]) -> Option<(&SharedVectors, SetName)> {
        let shared = self.shared.get()?.as_ref().filter(|_| !contents.is_empty())?;
        let model = model_name(embedder.id(), embedder.dimension());
        let set = set_name(&model, contents);
        Some((shared, SetName { model, set }))
    }

    fn cache(&self, embedder: &dyn Embedder) -> Option<VectorCache> {
        Some(VectorCache::new(self.cache.get()?, embedder.id(), embedder.dimension()))
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
