//! The edges of the dataflow.

use std::sync::Arc;

use crate::enrichment::tool_key::ToolKey;

/// A property of a result that fits an argument.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ParameterPair {
    /// The property of the producer's result.
    pub output: Arc<str>,
    /// The argument of the consumer.
    pub argument: Arc<str>,
    /// The score, greater than 0 and at most 1.
    pub score: f64,
}

/// Two tools, one of which produces what the other consumes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DataflowEdge {
    /// The tool with the result.
    pub producer: Arc<ToolKey>,
    /// The tool with the argument.
    pub consumer: Arc<ToolKey>,
    /// The score of the best pair.
    pub score: f64,
    /// The matching parameters: for each argument the property that fits it best, the best pair first.
    pub pairs: Arc<[ParameterPair]>,
}
