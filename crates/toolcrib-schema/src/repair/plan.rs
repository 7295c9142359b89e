//! A schema as the walk through a value needs it: every part once, what it refers to resolved.

use jsonschema::{Draft, Validator};
use serde_json::Value;

use super::kind::Kinds;
use super::node::{MAX_PROBES, Node, NodeId, ProbeId};
use super::source::Source;
use crate::validator;

/// The most parts that may apply to the same value for one of them; more are not walked through.
const MAX_TOGETHER: usize = 256;

/// A schema as the walk through a value needs it.
#[derive(Debug)]
pub(crate) struct Plan {
    nodes: Vec<Node>,
    /// The node of a missing part.
    open: Node,
    probes: Option<Validator>,
    /// True if `1.0` is an integer.
    pub(crate) whole_floats_are_integers: bool,
}

impl Plan {
    /// Creates the plan of a schema that has been compiled.
    pub(crate) fn new(schema: &Value, draft: Draft) -> Self {
        let Source { nodes, probes, .. } = Source::read(schema, draft);
        let mut plan = Self {
            nodes,
            open: Node::default(),
            probes: validator::probes(schema, draft, &probes),
            whole_floats_are_integers: draft != Draft::Draft4,
        };
        plan.put_together();
        plan.drop_unfit_defaults();
        plan.mark_busy();
        plan
    }

    /// Returns the part with this number.
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id).unwrap_or(&self.open)
    }

    /// Returns the part and all that apply to the same value for it.
    pub(crate) fn together<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = &'a Node> + Clone {
        node.together.iter().map(|id| self.node(*id))
    }

    /// Returns true if the schema of a probe accepts the value. The value is moved out during the check.
    pub(crate) fn accepts(&self, probe: ProbeId, value: &mut Value) -> bool {
        let Some(validator) = self.probes.as_ref().filter(|_| probe < MAX_PROBES) else { return false };
        let name = probe.to_string();
        let held = Value::Object([(name, value.take())].into_iter().collect());
        let is_accepted = validator.is_valid(&held);
        if let Value::Object(map) = held {
            *value = map.into_values().next().unwrap_or_default();
        }
        is_accepted
    }

    /// Returns the parts and all that may apply to the same value for them, alternatives too.
    pub(crate) fn everything(&self, mut parts: Vec<NodeId>) -> Vec<NodeId> {
        let mut next = 0;
        while let Some(node) = parts.get(next).map(|id| self.node(*id)) {
            next += 1;
            let branches =
                node.unions.iter().flat_map(|union| union.branches.iter().map(|(branch, _)| *branch));
            let consequences = node
                .conditions
                .iter()
                .flat_map(|condition| condition.then.into_iter().chain(condition.otherwise));
            let dependents = node.dependents.iter().map(|(_, part)| *part);
            for part in node.together.iter().copied().chain(branches).chain(consequences).chain(dependents) {
                if parts.len() < MAX_TOGETHER && !parts.contains(&part) {
                    parts.push(part);
                }
            }
        }
        parts
    }

    /// Returns the number of name patterns of the parts.
    pub(crate) fn patterns(&self, parts: &[NodeId]) -> usize {
        parts.iter().map(|id| self.node(*id).patterns.len()).sum()
    }

    /// Returns the names of all properties that the parts list.
    pub(crate) fn property_names<'a>(&'a self, parts: &'a [NodeId]) -> impl Iterator<Item = &'a str> {
        parts.iter().flat_map(|id| self.node(*id).properties.keys().map(String::as_str))
    }

    /// Returns true if one of the parts lists the property, or has a matching pattern.
    pub(crate) fn lists(&self, parts: &[NodeId], name: &str) -> bool {
        parts.iter().map(|id| self.node(*id)).any(|node| {
            let is_matched = |probe| self.accepts(probe, &mut name.into());
            node.properties.contains_key(name) || node.patterns.iter().any(|(probe, _)| is_matched(*probe))
        })
    }

    /// Returns the parts for a member of a value that these parts are for.
    pub(crate) fn members(&self, parts: &[NodeId], name: &str) -> Vec<NodeId> {
        parts.iter().flat_map(|id| self.node(*id).members(self, name)).collect()
    }

    /// Returns the parts for an item of a value that these parts are for.
    pub(crate) fn items(&self, parts: &[NodeId], position: usize) -> Vec<NodeId> {
        parts.iter().filter_map(|id| self.node(*id).item(position)).collect()
    }

    /// Returns true if the types and listed values of the part allow null.
    pub(crate) fn takes_null(&self, id: NodeId) -> bool {
        self.takes_null_within(id, MAX_TOGETHER)
    }

    fn takes_null_within(&self, id: NodeId, left: usize) -> bool {
        let node = self.node(id);
        if left == 0 || !node.common_kinds.unwrap_or(Kinds::ANY).has(Kinds::NULL) {
            return left == 0;
        }
        self.together(node).all(|part| {
            let is_listed = part.options.as_ref().is_none_or(|options| options.contains(&Value::Null));
            let share = left / part.unions.iter().map(|union| union.branches.len()).sum::<usize>().max(2);
            is_listed
                && part.unions.iter().all(|union| {
                    union.branches.iter().any(|(branch, _)| self.takes_null_within(*branch, share))
                })
        })
    }

    fn put_together(&mut self) {
        let edges: Vec<Vec<NodeId>> =
            self.nodes.iter_mut().map(|node| std::mem::take(&mut node.with)).collect();
        for id in 0..self.nodes.len() {
            let together = reachable(id, &edges);
            let common = together.iter().filter_map(|id| self.node(*id).kinds).reduce(Kinds::and);
            if let Some(node) = self.nodes.get_mut(id) {
                node.together = together;
                node.common_kinds = common;
            }
        }
    }

    /// A default that its own schema refuses would make every call wrong.
    fn drop_unfit_defaults(&mut self) {
        let mut nodes = std::mem::take(&mut self.nodes);
        for filling in nodes.iter_mut().map(|node| &mut node.defaults) {
            filling.retain_mut(|filling| {
                filling.probe.is_none_or(|probe| self.accepts(probe, &mut filling.value))
            });
        }
        self.nodes = nodes;
    }

    /// Marks what has something to do, and everything above it.
    fn mark_busy(&mut self) {
        let mut above: Vec<Vec<NodeId>> = vec![Vec::new(); self.nodes.len()];
        for (id, node) in self.nodes.iter().enumerate() {
            for below in node.below() {
                if let Some(above) = above.get_mut(below) {
                    above.push(id);
                }
            }
        }
        let has_work =
            |node: &Node| !node.defaults.is_empty() || node.common_kinds.is_some_and(Kinds::is_whole_only);
        let mut left: Vec<NodeId> =
            self.nodes.iter().enumerate().filter(|(_, node)| has_work(node)).map(|(id, _)| id).collect();
        while let Some(id) = left.pop() {
            if let Some(node) = self.nodes.get_mut(id).filter(|node| !node.is_busy) {
                node.is_busy = true;
                left.extend(above.get(id).into_iter().flatten());
            }
        }
    }
}

impl Node {
    /// Returns the parts for a member of this name. The rest is for those that nothing else is for.
    pub(super) fn members(&self, plan: &Plan, name: &str) -> impl Iterator<Item = NodeId> + use<> {
        let listed = self.properties.get(name).copied();
        let is_matched = |probe: ProbeId| plan.accepts(probe, &mut name.into());
        let patterns: Vec<NodeId> =
            self.patterns.iter().filter(|(probe, _)| is_matched(*probe)).map(|(_, node)| *node).collect();
        let rest = self.rest.filter(|_| listed.is_none() && patterns.is_empty());
        listed.into_iter().chain(patterns).chain(rest)
    }

    /// Returns the part for the item at a position.
    pub(crate) fn item(&self, position: usize) -> Option<NodeId> {
        self.first.get(position).copied().or(self.items)
    }

    /// Every part that must fit for this one to fit: of alternatives nothing is known.
    fn below(&self) -> impl Iterator<Item = NodeId> + '_ {
        let members = self.properties.values().copied();
        let patterns = self.patterns.iter().map(|(_, node)| *node);
        members
            .chain(patterns)
            .chain(self.rest)
            .chain(self.first.iter().copied())
            .chain(self.items)
            .chain(self.together.iter().copied())
    }
}

/// Returns a part and everything that it leads to, each once.
fn reachable(id: NodeId, edges: &[Vec<NodeId>]) -> Vec<NodeId> {
    let mut found = vec![id];
    let mut next = 0;
    while let Some(here) = found.get(next).copied() {
        next += 1;
        for target in edges.get(here).into_iter().flatten() {
            if found.len() < MAX_TOGETHER && !found.contains(target) {
                found.push(*target);
            }
        }
    }
    found
}
