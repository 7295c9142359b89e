//! A schema, ready to check values.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::work::{Graph, MAX_CHECK_DEPTH, levels};
use crate::{Error, MAX_VIOLATIONS, Violation, Violations, arguments, example};

/// The deepest nesting of a schema.
pub const MAX_SCHEMA_DEPTH: usize = 128;

/// The most values in a schema: objects, lists and scalars. The largest public ones have some 20,000.
pub const MAX_SCHEMA_NODES: usize = 100_000;

/// The most bytes a compiled pattern may take.
const MAX_PATTERN_BYTES: usize = 1 << 20;

const TYPES: &str = "string, number, integer, boolean, object, array and null";

/// A schema, ready to check values.
#[derive(Debug)]
pub struct CompiledSchema {
    schema: Value,
    validator: Validator,
    /// The longest way of parts that apply to the same value.
    levels: u64,
}

impl CompiledSchema {
    /// Compiles a schema of the draft that `$schema` names, 2020-12 when it names none.
    pub fn compile(schema: &Value) -> Result<Self, Error> {
        check_size(schema)?;
        let levels = Graph::new(schema).check()?;
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(
                PatternOptions::regex().size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES),
            )
            .build(schema)
            .map_err(|error| refusal(&error))?;
        Ok(Self { schema: schema.clone(), validator, levels })
    }

    /// The schema as it was given.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Whether JSON Schema accepts the value. Faster than [`validate`](Self::validate), and without its rule on
    /// unknown arguments. A value so deep that the check could overflow the stack is not accepted.
    pub fn accepts(&self, value: &Value) -> bool {
        self.is_shallow(value) && self.validator.is_valid(value)
    }

    /// Whether a check of the value fits on the stack.
    fn is_shallow(&self, value: &Value) -> bool {
        levels(value).saturating_mul(self.levels) <= MAX_CHECK_DEPTH
    }

    /// Checks the arguments of a call.
    ///
    /// Beyond JSON Schema, an argument that the schema does not list is refused, unless the schema says
    /// `additionalProperties` or composes several parts: models misspell optional arguments, and a tool that ignores
    /// them silently does something else than was asked.
    pub fn validate(&self, value: &Value) -> Result<(), Violations> {
        // Validity is cheap, since the validator remembers what it knows of each part; the errors may be very many.
        let mut violations: Vec<Violation> = if self.accepts(value) {
            Vec::new()
        } else if self.is_shallow(value) && Graph::new(&self.schema).is_explainable(value) {
            let errors = self.validator.iter_errors(value).take(MAX_VIOLATIONS);
            errors.flat_map(|error| Violation::from_error(&error, &self.schema)).collect()
        } else {
            vec![Violation::unexplained()]
        };
        violations.extend(arguments::unknown(&self.schema, value).take(MAX_VIOLATIONS));
        violations.truncate(MAX_VIOLATIONS);
        if violations.is_empty() { Ok(()) } else { Err(Violations(violations)) }
    }

    /// The smallest value that the schema accepts, as far as one can be made up; it has been checked.
    pub fn minimal_example(&self) -> Option<Value> {
        example::minimal(&self.schema).filter(|example| self.accepts(example))
    }
}

fn refusal(error: &jsonschema::ValidationError<'_>) -> Error {
    if let jsonschema::error::ValidationErrorKind::Referencing(inner) = error.kind()
        && let jsonschema::ReferencingError::Unretrievable { uri, .. } = inner
    {
        return Error::ExternalRef { reference: uri.clone() };
    }
    let path = error.instance_path().to_string();
    // The schema of schemas says this in a way that nobody understands.
    let message = match path.rsplit('/').next() {
        Some("type") => format!("{} is no type; the types are {TYPES}", error.instance()),
        Some("pattern") => {
            format!("{} is no regular expression that can be checked in linear time", error.instance())
        }
        _ => error.to_string(),
    };
    Error::Invalid { path, message }
}

fn check_size(schema: &Value) -> Result<(), Error> {
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
            Value::Object(map) => left.extend(map.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    Ok(())
}
