//! Whatever makes vectors of texts.

/// The most numbers of one vector.
pub const MAX_DIMENSION: usize = 4096;

/// Makes vectors of texts: texts that mean alike get vectors that point alike.
///
/// The vector of a text must not depend on the texts beside it, since vectors are kept and compared with later ones.
/// It may take its time: it is called on a thread that may block.
pub trait Embedder: Send + Sync {
    /// Names the model, and with it everything that makes its vectors differ from those of another.
    fn id(&self) -> &str;

    /// How many numbers each vector has, at most [`MAX_DIMENSION`].
    fn dimension(&self) -> usize;

    /// One vector for each text, in their order.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// How much of a text the embedder knows, from 0 (no word of it) to 1 (all): how far its vector can be trusted.
    ///
    /// A text of coverage 0 may have a vector of zeros, which is no fault.
    fn coverage(&self, text: &str) -> f32 {
        let _ = text;
        1.0
    }
}

/// Why there are no vectors, or not all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// The model cannot be used.
    #[error("the embedding model in {model} cannot be used: {message}")]
    Model {
        /// Where it is.
        model: String,
        /// What is wrong.
        message: String,
    },
    /// The library that runs the model cannot be used.
    #[error("ONNX Runtime cannot be used: {message}; set ORT_DYLIB_PATH to its library")]
    Library {
        /// What is wrong.
        message: String,
    },
    /// The model failed on a text.
    #[error("the embedding model {model} failed: {message}")]
    Failed {
        /// The model.
        model: String,
        /// What it said.
        message: String,
    },
    /// The embedder panicked.
    #[error("the embedding model {model} panicked; this is a fault in its embedder")]
    Panicked {
        /// The model.
        model: String,
    },
    /// Not one vector for each text.
    #[error("the embedding model {model} gave {found} vectors for {texts} texts")]
    Count {
        /// The model.
        model: String,
        /// How many texts there were.
        texts: usize,
        /// How many vectors came.
        found: usize,
    },
    /// A vector of another size than the model says.
    #[error("the embedding model {model} gave a vector of {found} numbers where {expected} are due")]
    Dimension {
        /// The model.
        model: String,
        /// How many numbers each vector should have.
        expected: usize,
        /// How many it has.
        found: usize,
    },
    /// A vector that points nowhere: not a number, infinite, or all zeros.
    #[error("the embedding model {model} gave a vector that points nowhere for `{text}`")]
    Nowhere {
        /// The model.
        model: String,
        /// The start of the text.
        text: String,
    },
    /// The time was over before all texts had their vectors.
    #[error("{left} tools have no vector yet; the next refresh goes on with them")]
    Unfinished {
        /// How many.
        left: usize,
    },
}

/// A vector of length one, when it is one of the right size that points somewhere.
pub(crate) fn checked(embedder: &dyn Embedder, text: &str, vector: Vec<f32>) -> Result<Vec<f32>, EmbedError> {
    /// The most characters of a text that are shown.
    const MAX_SHOWN_CHARS: usize = 40;

    let (model, expected, found) = (embedder.id().to_owned(), embedder.dimension(), vector.len());
    if found != expected || found > MAX_DIMENSION {
        return Err(EmbedError::Dimension { model, expected: expected.min(MAX_DIMENSION), found });
    }
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() || length == 0.0 {
        return Err(EmbedError::Nowhere { model, text: text.chars().take(MAX_SHOWN_CHARS).collect() });
    }
    // Numbers below one lose nothing that counts.
    #[expect(clippy::cast_possible_truncation, reason = "each is at most one")]
    Ok(vector.into_iter().map(|number| (f64::from(number) / length) as f32).collect())
}
