//! ONNX models that this program runs itself, with `rten`.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use fastembed::{OutputKey, Pooling};
use rten::{
    LoadErrorKind, Model, ModelOptions, NodeId, OpRegistry, RunOptions, ThreadPool, Value, op_registry,
};

use super::files::{ModelFiles, wrong};
use super::limits::threads;
use super::tokenizer::{TextTokenizer, Tokens};
use crate::embedding::{EmbedError, Embedder, MAX_DIMENSION};

/// The outputs that are looked for in this order, if a model has several. They are those of `fastembed`.
const OUTPUTS: [&str; 3] = ["text_embeds", "last_hidden_state", "sentence_embedding"];

/// An embedder whose model runs in this program, without another library.
pub struct RtenEmbedder {
    id: String,
    dimension: usize,
    tokenizer: TextTokenizer,
    network: Network,
}

/// A loaded model.
struct Network {
    model: Model,
    inputs: Vec<(NodeId, Input)>,
    output: NodeId,
    /// True if the output has one vector for the text instead of one for each token.
    is_pooled: bool,
    pooling: Pooling,
    threads: Arc<ThreadPool>,
}

/// The content of an input.
#[derive(Clone, Copy)]
enum Input {
    Ids,
    Mask,
    Segments,
}

impl RtenEmbedder {
    /// Opens a folder with `model.onnx` and `tokenizer.json`, as sentence transformers are exported. The vectors of the
    /// tokens are averaged.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, EmbedError> {
        Self::from_files(ModelFiles::in_folder(folder.as_ref())?)
    }

    /// Opens a model that [`pull`](super::pull()) has downloaded into the folder of all models.
    pub fn open_named(name: &str, models: &Path) -> Result<Self, EmbedError> {
        Self::from_files(ModelFiles::of_named(name, models)?)
    }

    fn from_files(files: ModelFiles) -> Result<Self, EmbedError> {
        let name = files.name.clone();
        // Damaged files are errors of the crates in most cases, but not in all.
        let opened = catch_unwind(AssertUnwindSafe(|| Self::load(files)));
        opened
            .unwrap_or_else(|_| Err("its files are damaged".to_owned()))
            .map_err(|message| wrong(&name, message))
    }

    fn load(files: ModelFiles) -> Result<Self, String> {
        let id = files.id("rten");
        let [_, _, settings] = &files.settings;
        let tokenizer = TextTokenizer::parse(&files.tokenizer, settings.as_deref())?;
        let network = Network::load(files)?;
        let dimension = network.vector(&tokenizer.tokens("a")?)?.len();
        if !(1..=MAX_DIMENSION).contains(&dimension) {
            return Err(format!("its vectors have {dimension} numbers, more than {MAX_DIMENSION} or none"));
        }
        // A tokenizer of another model is noticed here, and not at a rare word.
        let last = u32::try_from(tokenizer.size().saturating_sub(1)).unwrap_or(u32::MAX);
        network.vector(&Tokens { ids: vec![last], segments: vec![0] }).map_err(|error| {
            format!(
                "tokenizer.json has tokens that model.onnx does not know ({error}); take both from one model"
            )
        })?;
        Ok(Self { id, dimension, tokenizer, network })
    }

    fn embed_one(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let vector = self.tokenizer.tokens(text).and_then(|tokens| self.network.vector(&tokens));
        vector.map_err(|message| EmbedError::Failed { model: self.id.clone(), message })
    }
}

impl Network {
    fn load(files: ModelFiles) -> Result<Self, String> {
        let mut options = ModelOptions::with_ops(operators());
        // Otherwise each run would arrange the weights again, which takes longer than a short text.
        options.prepack_weights(true);
        for (name, bytes) in files.more {
            options.external_data(&name, bytes);
        }
        let model = options.load(files.onnx).map_err(|error| {
            let remedy = match error.kind() {
                LoadErrorKind::OperatorInvalid => "`tier: fastembed` may run it, with ONNX Runtime",
                _ => "it is damaged, or no ONNX model; copy or pull it again",
            };
            format!("its ONNX file: {error}; {remedy}")
        })?;
        let inputs = model.input_ids().iter().map(|node| {
            let name = node_name(&model, *node);
            let input = match name {
                "input_ids" => Input::Ids,
                "attention_mask" => Input::Mask,
                "token_type_ids" => Input::Segments,
                _ => return Err(format!("it has the input `{name}`; it is not a model of texts")),
            };
            Ok((*node, input))
        });
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let output = output(&model, files.output.as_ref()).ok_or_else(|| {
            let names: Vec<_> = model.output_ids().iter().map(|node| node_name(&model, *node)).collect();
            format!("none of its outputs is a vector of a text: {}", names.join(", "))
        })?;
        let is_pooled =
            model.node_info(output).and_then(|node| node.shape()).is_some_and(|shape| shape.len() == 2);
        let threads = Arc::new(ThreadPool::with_num_threads(threads()));
        Ok(Self { model, inputs, output, is_pooled, pooling: files.pooling, threads })
    }

    /// Returns the vector of a text.
    fn vector(&self, tokens: &Tokens) -> Result<Vec<f32>, String> {
        let count = tokens.ids.len();
        let inputs = self.inputs.iter().map(|(node, input)| {
            let numbers = match input {
                Input::Ids => signed(&tokens.ids)?,
                Input::Mask => vec![1; count],
                Input::Segments => signed(&tokens.segments)?,
            };
            let value = Value::from_shape([1, count], numbers).map_err(|error| error.to_string())?;
            Ok((*node, value.into()))
        });
        let inputs = inputs.collect::<Result<Vec<_>, String>>()?;
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&self.threads)));
        let outputs = self.model.run(inputs, &[self.output], Some(options));
        let output =
            outputs.map_err(|error| error.to_string())?.into_iter().next().ok_or("it gave no output")?;
        if self.is_pooled {
            let vector = output.into_shape_vec::<f32, 2>().map_err(|error| error.to_string())?;
            return Ok(vector.1);
        }
        let ([_, _, dimension], numbers) =
            output.into_shape_vec::<f32, 3>().map_err(|error| error.to_string())?;
        Ok(pooled(&numbers, dimension, &self.pooling))
    }
}

/// Returns one vector for those of the tokens: that of the first, or their sum, which has the direction of their mean.
fn pooled(numbers: &[f32], dimension: usize, pooling: &Pooling) -> Vec<f32> {
    let mut vectors = numbers.chunks_exact(dimension.max(1));
    let mut sum = vectors.next().map(<[f32]>::to_vec).unwrap_or_default();
    if *pooling == Pooling::Mean {
        for vector in vectors {
            sum.iter_mut().zip(vector).for_each(|(sum, number)| *sum += number);
        }
    }
    sum
}

/// Returns the output with the vector of a text.
fn output(model: &Model, named: Option<&OutputKey>) -> Option<NodeId> {
    let outputs = model.output_ids();
    let find = |name: &str| outputs.iter().copied().find(|node| node_name(model, *node) == name);
    match (named, outputs) {
        (Some(OutputKey::ByName(name)), _) => find(name),
        (Some(OutputKey::ByOrder(place)), _) => outputs.get(*place).copied(),
        (_, [only]) => Some(*only),
        _ => OUTPUTS.into_iter().find_map(find),
    }
}

fn node_name(model: &Model, node: NodeId) -> &str {
    model.node_info(node).and_then(|node| node.name()).unwrap_or_default()
}

fn signed(numbers: &[u32]) -> Result<Vec<i32>, String> {
    let signed = numbers.iter().map(|number| i32::try_from(*number));
    signed.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

/// Returns the operators of sentence transformers, a part of all, since the others would be in the program too.
fn operators() -> OpRegistry {
    op_registry!(
        Abs,
        Add,
        And,
        Cast,
        Clip,
        Concat,
        ConstantOfShape,
        Cos,
        CumSum,
        DequantizeLinear,
        Div,
        DynamicQuantizeLinear,
        Equal,
        Erf,
        Exp,
        Expand,
        Flatten,
        Floor,
        Gather,
        GatherElements,
        GatherND,
        Gelu,
        Gemm,
        Greater,
        GreaterOrEqual,
        Identity,
        LayerNormalization,
        Less,
        LessOrEqual,
        Log,
        LpNormalization,
        MatMul,
        MatMulInteger,
        Max,
        Min,
        Mod,
        Mul,
        Neg,
        Not,
        OneHot,
        Or,
        Pad,
        Pow,
        QuantizeLinear,
        Range,
        Reciprocal,
        ReduceL2,
        ReduceMax,
        ReduceMean,
        ReduceMin,
        ReduceSum,
        Relu,
        Reshape,
        RotaryEmbedding,
        ScatterND,
        Shape,
        Sigmoid,
        Sign,
        Sin,
        Slice,
        Softmax,
        Split,
        Sqrt,
        Squeeze,
        Sub,
        Sum,
        Tanh,
        Tile,
        Transpose,
        Trilu,
        Unsqueeze,
        Where
    )
}

impl Embedder for RtenEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        // One by one: a quantized model scales its numbers to the texts of a batch, so the vector of a text would
        // depend on the other texts.
        texts.iter().map(|text| self.embed_one(text)).collect()
    }
}

impl fmt::Debug for RtenEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("RtenEmbedder");
        f.field("id", &self.id).field("dimension", &self.dimension).finish_non_exhaustive()
    }
}
