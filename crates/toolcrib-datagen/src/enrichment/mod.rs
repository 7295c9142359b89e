//! Enrichments that ask a model.

mod output_parameters;

#[cfg(test)]
mod tests;

pub use output_parameters::{
    InferredOutputs, MAX_ATTEMPTS, MAX_OUTPUT_SCHEMA_BYTES, MAX_PARALLEL, OutputParametersEnrichment,
    OutputParametersSettings,
};
