//! The interface of embedding models.

/// The most numbers of one vector.
pub const MAX_DIMENSION: usize = 4096;

/// An embedding model: texts of similar meaning get vectors of similar direction.
///
/// The vector of a text must not depend on the other texts of the call, since vectors are stored and compared with
/// later ones. The methods may block: they are called on a thread that permits it.
pub trait Embedder: Send + Sync {
    /// Returns the id of the model. It must change whenever the vectors change.
    fn id(&self) -> &str;

    /// Returns the dimension of the vectors, at most [`MAX_DIMENSION`].
    fn dimension(&self) -> usize;

    /// Returns one vector for each text, in the same order.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// Returns the share of a text that the embedder knows, from 0 (no word of it) to 1 (all). It measures how far the
    /// vector can be trusted.
    ///
    /// The vector of a text of coverage 0 may be all zeros, which is not an error.
    fn coverage(&self, text: &str) -> f32 {
        let _ = text;
        1.0
    }

    /// Returns false if a text is in another language than English. Tools are mostly described in English, so that the
    /// words of such a text are no evidence for or against them.
    fn is_english(&self, text: &str) -> bool {
        let _ = text;
        true
    }
}

/// The error that left some or all texts without vectors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// The model cannot be used.
    #[error("the embedding model in {model} cannot be used: {message}")]
    Model {
        /// The path or name of the model.
        model: String,
        /// The cause.
        message: String,
    },
    /// The library that runs the model cannot be used.
    #[error("ONNX Runtime cannot be used: {message}")]
    Library {
        /// The cause, and what to do.
        message: String,
    },
    /// The model failed on a text.
    #[error("the embedding model {model} failed: {message}")]
    Failed {
        /// The id of the model.
        model: String,
        /// The error message of the model.
        message: String,
    },
    /// The embedder panicked.
    #[error("the embedding model {model} panicked; this is a fault in its embedder")]
    Panicked {
        /// The id of the model.
        model: String,
    },
    /// The number of vectors differs from the number of texts.
    #[error("the embedding model {model} gave {found} vectors for {texts} texts")]
    Count {
        /// The id of the model.
        model: String,
        /// The number of texts.
        texts: usize,
        /// The number of vectors.
        found: usize,
    },
    /// A vector has another dimension than the model declares.
    #[error("the embedding model {model} gave a vector of {found} numbers, expected {expected}")]
    Dimension {
        /// The id of the model.
        model: String,
        /// The declared dimension.
        expected: usize,
        /// The dimension of the vector.
        found: usize,
    },
    /// A vector has no direction: it contains NaN or an infinity, or is all zeros.
    #[error("the embedding model {model} gave a vector without direction for `{text}`")]
    Nowhere {
        /// The id of the model.
        model: String,
        /// The start of the text.
        text: String,
    },
    /// The vectors of some tools are still being made.
    #[error("{left} tools have no vector yet; the next refresh continues with them")]
    Unfinished {
        /// The number of tools without a vector.
        left: usize,
    },
}

/// Scales a vector to length one. Returns an error if it has the wrong dimension or no direction.
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
    // Numbers of magnitude below one lose nothing significant.
    #[expect(clippy::cast_possible_truncation, reason = "each is at most one")]
    Ok(vector.into_iter().map(|number| (f64::from(number) / length) as f32).collect())
}
