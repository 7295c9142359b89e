//! The model in ONNX Runtime.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use ort::environment::Environment;
use ort::session::{Session, SessionInputValue};
use ort::value::Tensor;

use crate::vectors::{add, normalise};

/// The variable that says where the library is.
const LIBRARY: &str = "ORT_DYLIB_PATH";

/// A session of the model.
pub(super) struct Model {
    session: Session,
    /// The names of its inputs.
    inputs: Vec<String>,
}

/// Loads the library, once for all sessions.
pub(super) fn load_library() -> Result<Environment> {
    let path =
        std::env::var_os(LIBRARY).with_context(|| format!("{LIBRARY} has to name ONNX Runtime's library"))?;
    let loaded = ort::init_from(Path::new(&path));
    Ok(loaded.map_err(|error| anyhow!("could not load ONNX Runtime: {error}"))?.build()?)
}

impl Model {
    pub(super) fn open(environment: &Environment, path: &Path) -> Result<Self> {
        let wrong = |error: &dyn std::fmt::Display| anyhow!("could not open {}: {error}", path.display());
        let builder = Session::builder(environment).map_err(|error| wrong(&error))?;
        let mut builder = builder.with_intra_threads(1).map_err(|error| wrong(&error))?;
        let session = builder.commit_from_file(path).map_err(|error| wrong(&error))?;
        let inputs = session.inputs().iter().map(|input| input.name().to_owned()).collect();
        Ok(Self { session, inputs })
    }

    /// The mean of the vectors of the tokens, at length one.
    pub(super) fn vector(&mut self, ids: &[i64]) -> Result<Vec<f32>> {
        let shape = [1, ids.len()];
        let mut inputs: Vec<(Cow<'_, str>, SessionInputValue<'_>)> = Vec::new();
        for name in &self.inputs {
            let values = match name.as_str() {
                "input_ids" => ids.to_vec(),
                "attention_mask" => vec![1; ids.len()],
                "token_type_ids" => vec![0; ids.len()],
                other => return Err(anyhow!("the model asks for {other}, which is not known here")),
            };
            inputs.push((name.as_str().into(), Tensor::from_array((shape, values))?.into()));
        }
        let outputs = self.session.run(inputs)?;
        let (_, output) = outputs.iter().next().context("the model has no output")?;
        let (shape, numbers) = output.try_extract_tensor::<f32>()?;
        let width = shape.last().and_then(|width| usize::try_from(*width).ok()).unwrap_or_default();
        ensure!(
            width > 0 && numbers.len() == ids.len() * width,
            "the model gives {shape} for {} tokens",
            ids.len()
        );
        let mut sum = vec![0.0; width];
        for vector in numbers.chunks_exact(width) {
            add(&mut sum, 1.0, vector);
        }
        let length = normalise(&mut sum);
        ensure!(length.is_finite() && length > 0.0, "the model gives a vector that points nowhere");
        Ok(sum)
    }
}
