//! The definitions that the schemas of a document share. Each is converted once in each direction.

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use serde_json::{Value, json};
use toolcrib_schema::BoundsCheck;

use super::Converter;
use super::bundled_definition::{BundledDefinition, size};
use crate::Error;
use crate::spec::{Node, Spec, ValueLocation};
use crate::unique_names::UniqueNames;

/// The most values of the argument schema of one tool, slightly less than can be compiled. Definitions beyond the
/// limit, which are the farthest from the top, permit any value.
pub(super) const MAX_INPUT_NODES: usize = 25_000;

/// The most values of a result schema. Definitions beyond the limit permit any value.
pub(super) const MAX_OUTPUT_NODES: usize = 5_000;

/// The most values of all schemas of one document, with those of shared definitions counted for each schema: a tool
/// that is sent or called is made of a separate copy of them.
const MAX_DOCUMENT_NODES: usize = 4_000_000;

/// The longest name in `$defs`, without the number that makes it unique.
const MAX_DEFINITION_NAME_CHARS: usize = 100;

/// The most values of schemas that are checked for their validation cost.
const MAX_CHECKED_NODES: usize = 1_000_000;

/// The direction in which the values of a schema are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the server: `readOnly` properties are dropped.
    Input,
    /// From the server: `writeOnly` properties are dropped.
    Output,
}

impl Direction {
    pub(super) fn max_nodes(self) -> usize {
        match self {
            Self::Input => MAX_INPUT_NODES,
            Self::Output => MAX_OUTPUT_NODES,
        }
    }
}

/// The schemas of one document.
pub(crate) struct Schemas<'a> {
    pub(crate) spec: Spec<'a>,
    known: HashMap<ValueLocation, usize>,
    definitions: Vec<ReferencedSchema<'a>>,
    taken: UniqueNames,
    /// The remaining budget of values.
    left: usize,
    /// The remaining budget of values that are checked for their validation cost.
    checks: usize,
    pub(super) bounds: BoundsCheck,
    /// The number of definitions that fit into a schema, if one had too many.
    pub(super) fitting: Option<usize>,
    /// The number of schemas that have not used their share of the budget.
    shares: usize,
}

/// A schema that a reference names.
struct ReferencedSchema<'a> {
    name: String,
    node: Node<'a>,
    input: Option<Result<Rc<ConvertedDefinition>, Error>>,
    output: Option<Result<Rc<ConvertedDefinition>, Error>>,
    /// The definition that permits any value.
    open: Option<BundledDefinition>,
}

/// The measures of a converted schema, and the definitions that it needs.
#[derive(Debug, Default)]
pub(super) struct ConvertedSchema {
    /// The number of its values.
    pub(super) nodes: usize,
    /// Its cost: its values, and its texts by their length.
    pub(super) cost: usize,
    /// The definitions that it refers to.
    pub(super) references: Vec<usize>,
    pub(super) notes: Vec<String>,
}

struct ConvertedDefinition {
    schema: ConvertedSchema,
    whole: BundledDefinition,
}

impl<'a> Schemas<'a> {
    pub(crate) fn new(spec: Spec<'a>) -> Self {
        Self {
            spec,
            known: HashMap::new(),
            definitions: Vec::new(),
            taken: UniqueNames::default(),
            left: MAX_DOCUMENT_NODES,
            checks: MAX_CHECKED_NODES,
            bounds: BoundsCheck::default(),
            fitting: None,
            shares: 0,
        }
    }

    /// Sets the number of schemas that share the budget.
    pub(crate) fn share_among(&mut self, count: usize) {
        self.shares = count;
    }

    /// Charges the budget for a value that is not a schema and is copied into a tool.
    pub(crate) fn charge(&mut self, value: &Value) -> Result<(), Error> {
        self.take(size(value))
    }

    pub(super) fn take(&mut self, nodes: usize) -> Result<(), Error> {
        let left = self.left.checked_sub(nodes);
        self.left = left.unwrap_or(0);
        left.map(|_| ()).ok_or(Error::TooLarge {
            what: "the schemas of all operations together",
            max: MAX_DOCUMENT_NODES,
        })
    }

    /// Charges the budget for checking this many values. Returns false if it is exhausted.
    pub(super) fn take_check(&mut self, nodes: usize) -> bool {
        let left = self.checks.checked_sub(nodes);
        self.checks = left.unwrap_or(self.checks);
        left.is_some()
    }

    /// Returns the definition that a reference points to.
    pub(super) fn definition(&mut self, file: usize, reference: &str) -> Result<usize, Error> {
        let (key, node) = self.spec.target(file, reference)?;
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        // A chain of references that only leads back to itself would send a validator into an endless loop.
        self.spec.resolve(node)?;
        let wanted = definition_name(self.spec.stem(key.file), &key.pointer);
        let name = self.taken.take_numbered(&wanted, |wanted, count| format!("{wanted}_{count}"));
        let id = self.definitions.len();
        self.definitions.push(ReferencedSchema { name, node, input: None, output: None, open: None });
        self.known.insert(key, id);
        Ok(id)
    }

    pub(super) fn reference(&self, id: usize) -> Value {
        let name = self.definitions.get(id).map_or("", |definition| &definition.name);
        format!("#/$defs/{name}").into()
    }

    /// Returns the definitions that a schema refers to, directly or indirectly, the nearest first, within the budget.
    pub(super) fn bundle(
        &mut self,
        direction: Direction,
        top: &ConvertedSchema,
        notes: &mut Vec<String>,
    ) -> Result<Vec<BundledDefinition>, Error> {
        // The unused budget of earlier tools is available to later ones.
        let share = (self.left / self.shares.max(1)).max(top.cost);
        self.shares = self.shares.saturating_sub(1);
        let max_nodes = direction.max_nodes();
        let (mut nodes, mut cost) = (top.nodes, top.cost);
        let mut left_out = 0;
        let mut seen: HashSet<usize> = HashSet::new();
        let mut pending: VecDeque<usize> = VecDeque::new();
        let mut found: Vec<Result<Rc<ConvertedDefinition>, BundledDefinition>> = Vec::new();
        pending.extend(top.references.iter().filter(|id| seen.insert(**id)));
        while let Some(id) = pending.pop_front() {
            let converted = match self.converted(id, direction) {
                Err(Error::TooLarge { .. }) => None,
                converted => Some(converted?),
            };
            let has_room = |schema: &ConvertedSchema| {
                nodes.saturating_add(schema.nodes) <= max_nodes && cost.saturating_add(schema.cost) <= share
            };
            let Some(converted) = converted.filter(|converted| has_room(&converted.schema)) else {
                left_out += 1;
                nodes += 1;
                found.push(Err(self.open(id)));
                continue;
            };
            nodes += converted.schema.nodes;
            cost += converted.schema.cost;
            pending.extend(converted.schema.references.iter().filter(|id| seen.insert(**id)));
            found.push(Ok(converted));
        }
        let is_composed = found.iter().flatten().any(|found| found.whole.is_composed);
        let kept = self.expected_to_fit(found.len(), is_composed);
        let mut bundled = Vec::with_capacity(found.len());
        for (index, converted) in found.into_iter().enumerate() {
            let definition = match converted {
                Ok(converted) if index < kept => {
                    self.take(converted.schema.cost)?;
                    notes.extend(converted.schema.notes.iter().cloned());
                    bundled.push(converted.whole.clone());
                    continue;
                }
                Ok(converted) => converted.whole.clone().loosened(),
                Err(open) => open,
            };
            self.take(size(&definition.definition.schema))?;
            bundled.push(definition);
        }
        if left_out > 0 {
            notes.push(format!(
                "{left_out} parts of the schema are omitted and allow any value: it is too large"
            ));
        }
        Ok(bundled)
    }

    fn open(&mut self, id: usize) -> BundledDefinition {
        let Some(referenced) = self.definitions.get_mut(id) else {
            return BundledDefinition::last("", json!({}));
        };
        let make = || BundledDefinition::last(&referenced.name, json!({}));
        referenced.open.get_or_insert_with(make).clone()
    }

    fn converted(&mut self, id: usize, direction: Direction) -> Result<Rc<ConvertedDefinition>, Error> {
        let referenced =
            self.definitions.get(id).ok_or_else(|| Error::malformed("a definition is missing"))?;
        let (known, other) = match direction {
            Direction::Input => (&referenced.input, &referenced.output),
            Direction::Output => (&referenced.output, &referenced.input),
        };
        if let Some(known) = known {
            return known.clone();
        }
        let (name, node, other) = (referenced.name.clone(), referenced.node, other.clone());
        let mut converter = Converter::new(self, direction);
        let converted = converter.convert(node).map(|value| {
            let whole = BundledDefinition::new(&name, value);
            // Most schemas are the same in both directions.
            let is_same = |other: &BundledDefinition| other.definition == whole.definition;
            let same = other.and_then(Result::ok).map(|other| other.whole.clone()).filter(is_same);
            Rc::new(ConvertedDefinition { schema: converter.finish(), whole: same.unwrap_or(whole) })
        });
        if let Some(referenced) = self.definitions.get_mut(id) {
            match direction {
                Direction::Input => referenced.input = Some(converted.clone()),
                Direction::Output => referenced.output = Some(converted.clone()),
            }
        }
        converted
    }
}

/// Returns the number of values in a value.
pub(super) fn values(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(values).sum::<usize>(),
        _ => 1,
    }
}

/// Returns the name of a component, or a name derived from the path of another schema. It contains only characters that
/// need no escape in a reference.
fn definition_name(stem: Option<&str>, pointer: &str) -> String {
    let component = ["/components/schemas/", "/definitions/", "/$defs/"]
        .into_iter()
        .find_map(|folder| pointer.strip_prefix(folder).filter(|rest| !rest.contains('/')));
    let plain = match (stem, component) {
        (_, Some(component)) => component.to_owned(),
        (Some(stem), None) => format!("{stem}{pointer}"),
        (None, None) => pointer.trim_start_matches('/').to_owned(),
    };
    let name: String = plain
        .chars()
        .take(MAX_DEFINITION_NAME_CHARS)
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' })
        .collect();
    if name.is_empty() { "document".into() } else { name }
}
