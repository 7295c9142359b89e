//! What the vectors of tools promise.

mod background;
mod cache;
mod index;
mod library;
mod making;
mod neighbors;
mod shared;

#[cfg(feature = "onnx")]
mod onnx;
#[cfg(feature = "onnx")]
mod pull;
#[cfg(feature = "onnx")]
mod rten;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::watch;
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_port::{LoadOutcome, ToolLoader};
use toolcrib_registry::{Enrichment, Snapshot, ToolRegistry};

use super::{EmbedError, Embedder, Embeddings, EmbeddingsEnrichment};

const DIMENSION: usize = 32;

/// What goes wrong with texts that hold the word `odd`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    Fails,
    Panics,
    TooFew,
    TooShort,
    NotANumber,
    Infinite,
    Zeros,
}

/// Counts the words of a text by their letters, and notes every text that it is given.
struct Words {
    fault: Mutex<Fault>,
    given: Mutex<Vec<String>>,
    largest: Mutex<usize>,
    /// How often it was called.
    calls: watch::Sender<usize>,
    /// While it is set, calls wait.
    is_held: AtomicBool,
}

impl Words {
    fn new(fault: Fault) -> Arc<Self> {
        Arc::new(Self {
            fault: Mutex::new(fault),
            given: Mutex::default(),
            largest: Mutex::default(),
            calls: watch::Sender::new(0),
            is_held: AtomicBool::new(false),
        })
    }

    fn hold(&self, is_held: bool) {
        self.is_held.store(is_held, Ordering::Relaxed);
    }

    fn given(&self) -> Vec<String> {
        std::mem::take(&mut *self.given.lock())
    }
}

impl Embedder for Words {
    fn id(&self) -> &'static str {
        "words"
    }

    fn dimension(&self) -> usize {
        DIMENSION
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.calls.send_modify(|calls| *calls += 1);
        while self.is_held.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let mut largest = self.largest.lock();
        *largest = texts.len().max(*largest);
        drop(largest);
        self.given.lock().extend(texts.iter().map(|text| (*text).to_owned()));
        let fault = *self.fault.lock();
        let mut vectors = Vec::new();
        for text in texts {
            let mut vector = vec![0.0; DIMENSION];
            for word in text.split_whitespace() {
                let sum = word.bytes().map(usize::from).sum::<usize>();
                vector[sum % DIMENSION] += 1.0;
            }
            match fault {
                _ if !text.contains("odd") => vectors.push(vector),
                Fault::None => vectors.push(vector),
                Fault::Fails => {
                    return Err(EmbedError::Failed { model: "words".into(), message: "odd".into() });
                }
                Fault::Panics => std::panic::resume_unwind(Box::new("odd")),
                Fault::TooFew => {}
                Fault::TooShort => vectors.push(vec![1.0; DIMENSION - 1]),
                Fault::NotANumber => vectors.push(vec![f32::NAN; DIMENSION]),
                Fault::Infinite => vectors.push(vec![f32::INFINITY; DIMENSION]),
                Fault::Zeros => vectors.push(vec![0.0; DIMENSION]),
            }
        }
        Ok(vectors)
    }
}

/// Gives the tools that the test puts into it.
struct Scripted(Mutex<Vec<Tool>>);

#[async_trait]
impl ToolLoader for Scripted {
    fn source(&self) -> &'static str {
        "scripted"
    }

    async fn load(&self) -> LoadOutcome {
        LoadOutcome { tools: self.0.lock().clone(), rejected: vec![] }
    }
}

fn tool(name: &str, description: &str) -> Tool {
    Tool::new(QualifiedName::new("t", name).unwrap()).with_description(description)
}

struct Fixture {
    loader: Arc<Scripted>,
    registry: Arc<ToolRegistry>,
}

impl Fixture {
    /// A refresh does not wait for the vectors: tests do where they want them.
    fn new(enrichment: EmbeddingsEnrichment, tools: Vec<Tool>) -> Self {
        let enrichment = Arc::new(enrichment.with_wait(std::time::Duration::ZERO));
        let loader = Arc::new(Scripted(Mutex::new(tools)));
        let registry = ToolRegistry::new().with_enrichments([enrichment as Arc<dyn Enrichment>]).unwrap();
        registry.add_loader(loader.clone());
        Self { loader, registry: Arc::new(registry) }
    }

    fn offer(&self, tools: Vec<Tool>) {
        *self.loader.0.lock() = tools;
    }

    async fn begin(&self) -> (Arc<Snapshot>, Arc<Embeddings>) {
        let snapshot = self.registry.refresh().await.unwrap();
        let embeddings = snapshot.artifacts().get::<Embeddings>(Embeddings::KEY).unwrap();
        (snapshot, embeddings)
    }

    async fn refresh(&self) -> (Arc<Snapshot>, Arc<Embeddings>) {
        let (snapshot, embeddings) = self.begin().await;
        embeddings.finished().await;
        (snapshot, embeddings)
    }
}

/// How many tools have a vector, and how many vectors were made.
fn counts(embeddings: &Embeddings) -> (usize, usize) {
    embeddings.vectors().map_or((0, 0), |vectors| (vectors.index().present(), vectors.made()))
}

fn of(embeddings: &Embeddings, tool: &Tool) -> Option<Vec<f32>> {
    embeddings.vectors()?.of(&tool.name)
}

#[cfg(feature = "onnx")]
fn cosine(one: &[f32], other: &[f32]) -> f32 {
    let product =
        |one: &[f32], other: &[f32]| one.iter().zip(other).map(|(one, other)| one * other).sum::<f32>();
    product(one, other) / (product(one, one) * product(other, other)).sqrt()
}

/// Asserts that an engine of the model for tests gives similar vectors to tools that do alike.
#[cfg(feature = "onnx")]
async fn alike_tools_point_alike(embedder: Arc<dyn Embedder>) {
    assert_eq!(embedder.dimension(), 384);
    let tools = [
        tool("delete_file", "Removes a file from the disk."),
        tool("erase_document", "Deletes a document from a folder."),
        tool("get_weather", "Current temperature and wind of a city."),
    ];
    let fixture = Fixture::new(EmbeddingsEnrichment::new(embedder.clone()), tools.to_vec());
    let (_, embeddings) = fixture.refresh().await;
    assert_eq!((counts(&embeddings), embeddings.degraded()), ((3, 3), None));
    let [delete, erase, weather] = tools.each_ref().map(|tool| of(&embeddings, tool).unwrap());
    assert!(cosine(&delete, &erase) > cosine(&delete, &weather) + 0.2);

    let alone = embedder.embed(&["a text"]).unwrap();
    let beside = embedder.embed(&["a text", "and a much longer one that stands beside it"]).unwrap();
    assert_eq!(alone[0], beside[0], "a vector does not depend on the texts beside");
}
