//! What the vectors of tools promise.

#[cfg(feature = "fastembed")]
mod onnx;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use toolcrib_model::{QualifiedName, Tool};
use toolcrib_port::{Loaded, ToolLoader};
use toolcrib_registry::{Enrichment, Snapshot, ToolRegistry};

use super::{BATCH, EmbedError, Embedder, Embeddings, EmbeddingsEnrichment, MAX_EMBEDDED_BYTES};

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
}

impl Words {
    fn new(fault: Fault) -> Arc<Self> {
        Arc::new(Self { fault: Mutex::new(fault), given: Mutex::default() })
    }

    fn given(&self) -> Vec<String> {
        std::mem::take(&mut *self.given.lock().unwrap())
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
        self.given.lock().unwrap().extend(texts.iter().map(|text| (*text).to_owned()));
        let fault = *self.fault.lock().unwrap();
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

    async fn load(&self) -> Loaded {
        Loaded { tools: self.0.lock().unwrap().clone(), rejected: vec![] }
    }
}

fn tool(name: &str, description: &str) -> Tool {
    Tool::new(QualifiedName::new("t", name).unwrap()).with_description(description)
}

struct Fixture {
    loader: Arc<Scripted>,
    registry: ToolRegistry,
}

impl Fixture {
    fn new(enrichment: EmbeddingsEnrichment, tools: Vec<Tool>) -> Self {
        let loader = Arc::new(Scripted(Mutex::new(tools)));
        let registry =
            ToolRegistry::new().with_enrichments([Arc::new(enrichment) as Arc<dyn Enrichment>]).unwrap();
        registry.add_loader(loader.clone());
        Self { loader, registry }
    }

    async fn refresh(&self) -> (Arc<Snapshot>, Arc<Embeddings>) {
        let snapshot = self.registry.refresh().await.unwrap();
        let embeddings = snapshot.artifacts().get::<Embeddings>(Embeddings::KEY).unwrap();
        (snapshot, embeddings)
    }
}

#[tokio::test]
async fn a_refresh_makes_vectors_of_what_is_new_or_changed_only() {
    let words = Words::new(Fault::None);
    let fixture = Fixture::new(
        EmbeddingsEnrichment::new(words.clone()),
        vec![tool("read", "Reads a file."), tool("write", "Writes a file."), tool("gone", "Goes.")],
    );
    let (_, embeddings) = fixture.refresh().await;
    assert_eq!((embeddings.len(), embeddings.made(), embeddings.degraded()), (3, 3, None));
    assert_eq!(words.given(), ["read\nReads a file.", "write\nWrites a file.", "gone\nGoes."]);

    let renamed = Tool::new(QualifiedName::new("other", "read").unwrap()).with_description("Reads a file.");
    let changed = tool("write", "Writes two files.");
    *fixture.loader.0.lock().unwrap() = vec![tool("read", "Reads a file."), renamed.clone(), changed.clone()];
    let (_, embeddings) = fixture.refresh().await;
    assert_eq!(words.given(), ["write\nWrites two files."]);
    assert_eq!((embeddings.len(), embeddings.made()), (2, 1), "what is gone is forgotten");
    assert_eq!(embeddings.of(&renamed), embeddings.of(&tool("read", "Reads a file.")));
    assert!(embeddings.of(&changed).is_some());
    fixture.refresh().await;
    assert!(words.given().is_empty());
}

#[tokio::test]
async fn every_vector_has_the_length_one() {
    let enrichment = EmbeddingsEnrichment::new(Words::new(Fault::None));
    let tools = vec![tool("read", "Reads a file of any size and gives its text.")];
    let fixture = Fixture::new(enrichment, tools.clone());
    let (_, embeddings) = fixture.refresh().await;
    let length: f32 = embeddings.of(&tools[0]).unwrap().iter().map(|number| number * number).sum();
    assert!((length - 1.0).abs() < 1e-5, "{length}");
}

#[tokio::test]
async fn whatever_goes_wrong_the_tools_are_there_and_the_next_refresh_mends_it() {
    for (fault, error, others) in [
        (Fault::Fails, "the embedding model words failed: odd", false),
        (Fault::Panics, "the embedding model words panicked; this is a fault in its embedder", false),
        (Fault::TooFew, "the embedding model words gave 1 vectors for 2 texts", false),
        (Fault::TooShort, "the embedding model words gave a vector of 31 numbers where 32 are due", true),
        (
            Fault::NotANumber,
            "the embedding model words gave a vector that points nowhere for `odd\nIs odd.`",
            true,
        ),
        (
            Fault::Infinite,
            "the embedding model words gave a vector that points nowhere for `odd\nIs odd.`",
            true,
        ),
        (
            Fault::Zeros,
            "the embedding model words gave a vector that points nowhere for `odd\nIs odd.`",
            true,
        ),
    ] {
        let words = Words::new(fault);
        let (fine, odd) = (tool("fine", "Is fine."), tool("odd", "Is odd."));
        let fixture = Fixture::new(EmbeddingsEnrichment::new(words.clone()), vec![fine.clone(), odd.clone()]);
        let (snapshot, embeddings) = fixture.refresh().await;
        assert_eq!(snapshot.iter().len(), 2, "{fault:?}");
        assert_eq!(embeddings.degraded().unwrap().to_string(), error, "{fault:?}");
        assert_eq!((embeddings.of(&fine).is_some(), embeddings.of(&odd)), (others, None), "{fault:?}");
        *words.fault.lock().unwrap() = Fault::None;
        let (_, embeddings) = fixture.refresh().await;
        assert_eq!((embeddings.len(), embeddings.degraded()), (2, None), "{fault:?}");
    }
}

#[tokio::test]
async fn an_embedder_that_could_not_be_opened_is_told_with_every_snapshot() {
    let error = EmbedError::Library { message: "it is not there".into() };
    for tools in [vec![], vec![tool("read", "Reads.")]] {
        let fixture = Fixture::new(EmbeddingsEnrichment::degraded(error.clone()), tools.clone());
        let (snapshot, embeddings) = fixture.refresh().await;
        assert_eq!(snapshot.iter().len(), tools.len());
        assert_eq!((embeddings.degraded(), embeddings.is_empty()), (Some(&error), true));
    }
}

#[tokio::test]
async fn without_patience_each_refresh_makes_one_batch_more() {
    let enrichment = EmbeddingsEnrichment::new(Words::new(Fault::None)).with_patience(Duration::ZERO);
    let tools = (0..=2 * BATCH).map(|number| tool(&format!("t{number}"), "Counts.")).collect();
    let fixture = Fixture::new(enrichment, tools);
    for (made, left) in [(BATCH, Some(BATCH + 1)), (BATCH, Some(1)), (1, None), (0, None)] {
        let (_, embeddings) = fixture.refresh().await;
        let expected = left.map(|left| EmbedError::Unfinished { left });
        assert_eq!((embeddings.made(), embeddings.degraded()), (made, expected.as_ref()));
    }
}

#[tokio::test]
async fn the_text_of_a_tool_is_bounded() {
    let words = Words::new(Fault::None);
    let tools = vec![tool("long", &"ß".repeat(1 << 20))];
    let fixture = Fixture::new(EmbeddingsEnrichment::new(words.clone()), tools);
    let (_, embeddings) = fixture.refresh().await;
    assert_eq!((embeddings.len(), embeddings.degraded()), (1, None));
    assert!(words.given().iter().all(|text| text.len() <= MAX_EMBEDDED_BYTES));
}
