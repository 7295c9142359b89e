//! The arguments of `toolcrib models`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Args, Debug)]
pub(crate) struct Models {
    #[command(subcommand)]
    pub(crate) command: ModelsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// Fetch a model, with its checksums; nothing else ever does.
    Pull {
        /// Its name; a multilingual one unless given.
        name: Option<String>,
    },
    /// The models that have a name.
    List,
    /// Write a model into an app file, once it was opened and works.
    Use {
        /// Its name, or a folder with `model.onnx` and `tokenizer.json`.
        model: String,
        /// The app file.
        app: PathBuf,
        /// The tier that runs it.
        #[arg(long, value_enum, default_value_t)]
        tier: ModelTier,
    },
}

/// A tier that takes a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelTier {
    /// The program runs it.
    #[default]
    Model,
    /// ONNX Runtime runs it, a library that must be installed.
    Fastembed,
}
