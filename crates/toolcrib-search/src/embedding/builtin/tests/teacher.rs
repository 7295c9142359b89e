//! Beside the teacher and its own tokenizer, where these and the library that runs them are there.

use std::fs;
use std::path::{Path, PathBuf};

use fastembed::{InitOptionsUserDefined, TextEmbedding, TokenizerFiles, UserDefinedEmbeddingModel};

use super::tokens::written;
use super::{builtin, similarity};
use crate::embedding::{Embedder, FastEmbedder};
use crate::evaluation::LabelledQuery;

/// The sets whose queries no table was trained with.
const SETS: [&str; 3] = ["seal_tools", "stabletoolbench", "bfcl"];
/// How many queries of each are looked at.
const SAMPLE: usize = 60;
/// The least correlation of how alike two queries are for the table and for the teacher.
const MIN_CORRELATION: f64 = 0.75;

/// The folder of shared data; none where it or the library is not there.
fn shared() -> Option<PathBuf> {
    std::env::var_os("ORT_DYLIB_PATH")?;
    std::env::var_os("TOOLCRIB_SHARED").map(PathBuf::from)
}

fn queries(shared: &Path) -> Vec<String> {
    let mut queries = Vec::new();
    for set in SETS {
        let text = fs::read_to_string(shared.join("data/retrieval").join(set).join("queries.jsonl")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for line in lines.iter().step_by(lines.len() / SAMPLE) {
            queries.push(serde_json::from_str::<LabelledQuery>(line).unwrap().query);
        }
    }
    queries
}

#[test]
fn queries_are_as_alike_as_the_teacher_says() {
    let Some(shared) = shared() else { return };
    let teacher = FastEmbedder::open(shared.join("models/all-MiniLM-L6-v2-onnx-int8"), None).unwrap();
    let queries = queries(&shared);
    let texts: Vec<&str> = queries.iter().map(String::as_str).collect();
    let (ours, theirs) = (builtin().embed(&texts).unwrap(), teacher.embed(&texts).unwrap());
    let mut pairs = Vec::new();
    for one in 0..texts.len() {
        for other in 0..one {
            let both = [similarity(&ours[one], &ours[other]), similarity(&theirs[one], &theirs[other])];
            pairs.push(both.map(f64::from));
        }
    }
    let correlation = correlation(&pairs);
    assert!(correlation > MIN_CORRELATION, "{correlation}");
}

/// Pearson's.
fn correlation(pairs: &[[f64; 2]]) -> f64 {
    let number = f64::from(u32::try_from(pairs.len()).unwrap());
    let mean = |of: &dyn Fn(&[f64; 2]) -> f64| pairs.iter().map(of).sum::<f64>() / number;
    let (one, other) = (mean(&|pair| pair[0]), mean(&|pair| pair[1]));
    let product = mean(&|pair| (pair[0] - one) * (pair[1] - other));
    let spread = |of: usize, centre: f64| mean(&|pair| (pair[of] - centre).powi(2)).sqrt();
    product / (spread(0, one) * spread(1, other))
}

#[test]
fn queries_are_cut_as_the_teacher_does() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("models/all-MiniLM-L6-v2-onnx-int8");
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let files = TokenizerFiles {
        tokenizer_file: read("tokenizer.json"),
        config_file: read("config.json"),
        special_tokens_map_file: read("special_tokens_map.json"),
        tokenizer_config_file: read("tokenizer_config.json"),
    };
    let model = UserDefinedEmbeddingModel::new(read("model.onnx"), files);
    let mut original =
        TextEmbedding::try_new_from_user_defined(model, InitOptionsUserDefined::new()).unwrap().tokenizer;
    original.with_truncation(None).unwrap();
    original.with_padding(None);
    let table = builtin().english;
    for text in queries(&shared) {
        let encoded = original.encode(text.as_str(), false).unwrap();
        let expected: Vec<String> =
            encoded.get_tokens().iter().take(super::MAX_TEXT_TOKENS).cloned().collect();
        assert_eq!(written(&table, &text), expected, "{text}");
    }
}
