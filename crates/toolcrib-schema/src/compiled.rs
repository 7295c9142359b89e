//! A schema, ready to check values.

use std::sync::OnceLock;

use jsonschema::{Draft, Validator};
use serde_json::Value;
use toolcrib_model::JsonObject;

use crate::names::{self, Names};
use crate::repair::{self, Plan};
use crate::shape::Shape;
use crate::unchecked::{self, Unchecked};
use crate::work::{Graph, MAX_CHECK_DEPTH};
use crate::{Error, MAX_VALUE_DEPTH, MAX_VIOLATIONS, Repaired, Violation, Violations, engine, example};

/// The deepest nesting of a schema.
pub const MAX_SCHEMA_DEPTH: usize = 128;

/// The most values in a schema: objects, lists and scalars. The largest public ones have some 20,000.
pub const MAX_SCHEMA_NODES: usize = 100_000;

/// A schema, ready to check values.
#[derive(Debug)]
pub struct CompiledSchema {
    schema: Value,
    /// What is checked instead, where a pattern is left out.
    checked: Option<Value>,
    unchecked: Vec<Unchecked>,
    draft: Draft,
    validator: Validator,
    names: Names,
    /// The longest way of parts that apply to the same value.
    levels: u64,
    /// Whether there is a default somewhere.
    has_defaults: bool,
    /// Whether an integer is asked for somewhere.
    has_integers: bool,
    /// Made when a call first needs it: most schemas of many tools never do.
    plan: OnceLock<Plan>,
}

impl CompiledSchema {
    /// Compiles a schema of the draft that `$schema` names: 2020-12, 2019-09, 7, 6 or 4. It is 2020-12 when it names
    /// none, or one that is none of these.
    pub fn compile(schema: &Value) -> Result<Self, Error> {
        let contents = Contents::of(schema)?;
        let levels = Graph::new(schema).check()?;
        let draft = engine::draft_of(schema);
        let (checked, unchecked, validator) = match engine::build(schema, draft) {
            Ok(validator) => (None, Vec::new(), validator),
            Err(error) => {
                let (checked, unchecked) = unchecked::leave_out(schema).ok_or(error)?;
                let validator = engine::build(&checked, draft)?;
                (Some(checked), unchecked, validator)
            }
        };
        Ok(Self {
            names: Names::new(checked.as_ref().unwrap_or(schema)),
            schema: schema.clone(),
            checked,
            unchecked,
            draft,
            validator,
            levels,
            has_defaults: contents.has_defaults,
            has_integers: contents.has_integers,
            plan: OnceLock::new(),
        })
    }

    /// The schema as it was given.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// The patterns that no value is checked against, since that could not be done in linear time. Whoever loads the
    /// schema should say so; a value that only breaks these is accepted.
    pub fn unchecked(&self) -> &[Unchecked] {
        &self.unchecked
    }

    /// Whether JSON Schema accepts the value. Faster than [`validate`](Self::validate), and without its rules on the
    /// names of arguments. A value so deep that the check could overflow the stack is not accepted.
    pub fn accepts(&self, value: &Value) -> bool {
        self.accepts_shaped(value, Shape::of(value))
    }

    fn accepts_shaped(&self, value: &Value, shape: Shape) -> bool {
        self.is_shallow(shape) && self.validator.is_valid(value)
    }

    /// Whether a check of the value fits on the stack.
    fn is_shallow(&self, shape: Shape) -> bool {
        shape.levels <= MAX_VALUE_DEPTH && shape.levels.saturating_mul(self.levels) <= MAX_CHECK_DEPTH
    }

    /// Checks the arguments of a call.
    ///
    /// Beyond JSON Schema, names are looked at, since some readers of JSON take one for another:
    /// - An argument that the schema does not list is refused, unless the schema says `additionalProperties` or composes
    ///   several parts: models misspell optional arguments, and a tool that ignores them silently does something else
    ///   than was asked.
    /// - A name that differs from a listed one only in its case, or in characters that nobody sees, is refused at every
    ///   depth, and so is a name with the character NUL.
    pub fn validate(&self, value: &Value) -> Result<(), Violations> {
        let shape = Shape::of(value);
        if self.is_valid(value, shape) { Ok(()) } else { Err(self.violations(value, shape)) }
    }

    fn is_valid(&self, value: &Value, shape: Shape) -> bool {
        !shape.has_nul_name && self.accepts_shaped(value, shape) && self.has_known_names(value)
    }

    fn has_known_names(&self, value: &Value) -> bool {
        self.names.are_plain(value)
            || self.names.unknown(&self.schema, value).next().is_none()
                && names::mistaken(self.plan(), value).is_empty()
    }

    fn violations(&self, value: &Value, shape: Shape) -> Violations {
        let is_shallow = self.is_shallow(shape);
        // Validity is cheap, since the validator remembers what it knows of each part; the errors may be very many.
        let mut violations: Vec<Violation> = if is_shallow && self.validator.is_valid(value) {
            Vec::new()
        } else if is_shallow && Graph::new(self.checked()).is_explainable(value) {
            let errors = self.validator.iter_errors(value).take(MAX_VIOLATIONS);
            errors.flat_map(|error| Violation::from_error(&error, self.checked())).collect()
        } else {
            vec![Violation::unexplained()]
        };
        violations.extend(self.names.unknown(self.checked(), value).take(MAX_VIOLATIONS));
        if shape.has_nul_name {
            violations.extend(names::cut_short(value));
        }
        if is_shallow && !self.names.are_plain(value) {
            let mistaken = names::mistaken(self.plan(), value);
            let is_new = |found: &Violation| violations.iter().all(|violation| violation.path != found.path);
            let mistaken: Vec<_> = mistaken.into_iter().filter(is_new).collect();
            violations.extend(mistaken);
        }
        violations.truncate(MAX_VIOLATIONS);
        if violations.is_empty() {
            violations.push(Violation::unexplained());
        }
        Violations(violations)
    }

    /// Makes the arguments of a call fit, where the schema says what was meant and nothing is lost, and fills in the
    /// defaults of what is left out. Each change is listed; the result has passed [`validate`](Self::validate), and
    /// repairing it again changes nothing.
    ///
    /// What is never done: to rename an argument, to touch a value that already fits (but for whole numbers that are
    /// written with a point where an integer is due) or an alternative that already accepts, to guess between two
    /// readings, or to fill in a default that is null. Where nothing helps, the violations are those of the arguments as
    /// they were given.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolcrib_schema::{Change, CompiledSchema};
    ///
    /// let schema = CompiledSchema::compile(&json!({"properties": {
    ///     "ids": {"type": "array", "items": {"type": "integer"}},
    ///     "unit": {"enum": ["celsius", "kelvin"], "default": "celsius"},
    /// }}))?;
    /// let given = json!({"ids": "[1, \"2\"]"});
    /// let repaired = schema.repair(given.as_object().cloned().unwrap_or_default())?;
    /// assert_eq!(serde_json::Value::from(repaired.arguments), json!({"ids": [1, 2], "unit": "celsius"}));
    /// let changes: Vec<_> = repaired.repairs.iter().map(|repair| (repair.path.as_str(), repair.change)).collect();
    /// assert_eq!(changes, [
    ///     ("/ids", Change::ParsedJson),
    ///     ("/ids/1", Change::StringToInteger),
    ///     ("/unit", Change::DefaultFilled),
    /// ]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn repair(&self, arguments: JsonObject) -> Result<Repaired, Violations> {
        let value = Value::Object(arguments);
        let shape = Shape::of(&value);
        if !self.is_valid(&value, shape) {
            return self.mended(&value, shape);
        }
        let may_change = self.has_defaults || self.has_integers && shape.has_whole_float;
        if may_change && repair::wants(self.plan(), &value) {
            return Ok(self.completed(value, Vec::new()));
        }
        Ok(repaired(value, Vec::new()))
    }

    fn mended(&self, value: &Value, shape: Shape) -> Result<Repaired, Violations> {
        let is_open_to_repair = !shape.has_nul_name && self.is_shallow(shape) && self.has_known_names(value);
        let mended = repair::mend(self.plan(), value)
            .take(if is_open_to_repair { usize::MAX } else { 0 })
            .find(|(value, _)| value.is_object() && self.is_valid(value, Shape::of(value)));
        match mended {
            Some((value, repairs)) => Ok(self.completed(value, repairs)),
            None => Err(self.violations(value, shape)),
        }
    }

    fn completed(&self, value: Value, mut repairs: Vec<repair::Repair>) -> Repaired {
        let completed = repair::complete(self.plan(), &value)
            .find(|(value, _)| value.is_object() && self.is_valid(value, Shape::of(value)));
        match completed {
            Some((value, more)) => {
                repairs.extend(more);
                repaired(value, repairs)
            }
            None => repaired(value, repairs),
        }
    }

    fn plan(&self) -> &Plan {
        self.plan.get_or_init(|| Plan::new(self.checked(), self.draft))
    }

    fn checked(&self) -> &Value {
        self.checked.as_ref().unwrap_or(&self.schema)
    }

    /// The smallest value that the schema accepts, as far as one can be made up; it has been checked.
    pub fn minimal_example(&self) -> Option<Value> {
        example::minimal(&self.schema).filter(|example| self.accepts(example))
    }
}

fn repaired(value: Value, repairs: Vec<repair::Repair>) -> Repaired {
    let arguments = match value {
        Value::Object(arguments) => arguments,
        _ => JsonObject::new(),
    };
    Repaired { arguments, repairs }
}

/// What one look at a schema tells.
#[derive(Default)]
struct Contents {
    has_defaults: bool,
    has_integers: bool,
}

impl Contents {
    /// Refuses a schema that is too large or too deep.
    fn of(schema: &Value) -> Result<Self, Error> {
        let mut contents = Self::default();
        // A list of what is left to look at, so that the check itself needs no stack.
        let mut left = vec![(schema, 0)];
        let mut nodes = 0;
        while let Some((value, depth)) = left.pop() {
            nodes += 1;
            if nodes > MAX_SCHEMA_NODES {
                return Err(Error::TooLarge);
            }
            if depth > MAX_SCHEMA_DEPTH {
                return Err(Error::TooDeep);
            }
            match value {
                Value::Array(items) => left.extend(items.iter().map(|item| (item, depth + 1))),
                Value::Object(map) => {
                    contents.has_defaults |= map.get("default").is_some_and(|default| !default.is_null());
                    left.extend(map.values().map(|item| (item, depth + 1)));
                }
                Value::String(text) => contents.has_integers |= text == "integer",
                _ => {}
            }
        }
        Ok(contents)
    }
}
