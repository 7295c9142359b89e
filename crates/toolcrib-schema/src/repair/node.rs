//! The parts of a plan.

use std::collections::HashMap;

use serde_json::Value;

use super::kind::Kinds;

/// The most schemas of their own that values can be checked against. A value whose repair needs more is not repaired.
pub(crate) const MAX_PROBES: usize = 500;

/// The number of a part in its plan.
pub(crate) type NodeId = usize;

/// The number of a schema that values can be checked against on its own.
pub(crate) type ProbeId = usize;

/// One part of a schema.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// The types that this part takes; none stated is all of them.
    pub(crate) kinds: Option<Kinds>,
    /// The types that all parts take that apply to the same value.
    pub(crate) common_kinds: Option<Kinds>,
    /// The values that `enum` or `const` lists.
    pub(crate) options: Option<Vec<Value>>,
    pub(crate) properties: HashMap<String, NodeId>,
    pub(crate) patterns: Vec<(ProbeId, NodeId)>,
    /// The schema of members that are not listed.
    pub(crate) rest: Option<NodeId>,
    pub(crate) required: Vec<String>,
    pub(crate) defaults: Vec<Filling>,
    /// The schemas of the first items.
    pub(crate) first: Vec<NodeId>,
    pub(crate) items: Option<NodeId>,
    /// The parts of `allOf` and what `$ref` names.
    pub(crate) with: Vec<NodeId>,
    /// This part and all that apply to the same value for it, each once.
    pub(super) together: Vec<NodeId>,
    pub(crate) unions: Vec<Union>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) dependents: Vec<(String, NodeId)>,
    /// True if a valid value may need a change: a default, or a number to be written as an integer.
    pub(crate) is_busy: bool,
}

/// The value for a missing property.
#[derive(Debug)]
pub(crate) struct Filling {
    pub(crate) name: String,
    pub(crate) value: Value,
    pub(crate) node: NodeId,
    pub(crate) probe: Option<ProbeId>,
}

/// `anyOf` or `oneOf`.
#[derive(Debug)]
pub(crate) struct Union {
    pub(crate) is_exclusive: bool,
    pub(crate) branches: Vec<(NodeId, ProbeId)>,
}

/// `if` with what follows from it.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) probe: ProbeId,
    pub(crate) then: Option<NodeId>,
    pub(crate) otherwise: Option<NodeId>,
}
