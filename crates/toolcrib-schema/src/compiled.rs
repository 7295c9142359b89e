//! A schema, ready to check values.

use std::sync::OnceLock;

use jsonschema::{Draft, Validator};
use serde_json::Value;
use toolcrib_model::JsonObject;

use crate::argument_names::{self, ArgumentNames};
use crate::contents::Contents;
use crate::limits::MAX_VALUE_CHECKS;
use crate::pattern_cost::MAX_PATTERN_STATES;
use crate::repair::{self, Plan, Repaired};
use crate::schema_cost::{Graph, MAX_CHECK_DEPTH};
use crate::unchecked_patterns::{self, Unchecked};
use crate::value_size::{MAX_VALUE_DEPTH, Shape};
use crate::violation::MAX_VIOLATIONS;
use crate::{Error, Violation, Violations, example, validator};

/// A schema, ready to check values.
#[derive(Debug)]
pub struct CompiledSchema {
    schema: Value,
    /// The schema without its unchecked patterns, if there are any.
    checked: Option<Value>,
    unchecked: Vec<Unchecked>,
    draft: Draft,
    validator: Validator,
    names: ArgumentNames,
    /// The longest way of parts that apply to the same value.
    levels: u64,
    /// At most how many steps the check of one value takes: its own values, and what its patterns reach at once.
    weight: u64,
    /// True if the schema contains a default.
    has_defaults: bool,
    /// True if the schema contains the type `integer`.
    has_integers: bool,
    /// Made when a call first needs it: most schemas of many tools never do.
    plan: OnceLock<Plan>,
}

impl CompiledSchema {
    /// Compiles a schema of the draft that `$schema` names: 2020-12, 2019-09, 7, 6 or 4. Without `$schema`, or with any
    /// other draft, it is read as 2020-12.
    pub fn compile(schema: &Value) -> Result<Self, Error> {
        let contents = Contents::of(schema, 0);
        contents.check()?;
        let levels = Graph::new(schema).check()?;
        let draft = validator::draft_of(schema);
        let whole = if contents.pattern_states > MAX_PATTERN_STATES {
            Err(Error::PatternsTooLarge)
        } else {
            validator::build(schema, draft)
        };
        let (checked, unchecked, validator) = match whole {
            Ok(validator) => (None, Vec::new(), validator),
            Err(error) => {
                let (checked, unchecked) = unchecked_patterns::leave_out(schema).ok_or(error)?;
                let validator = validator::build(&checked, draft)?;
                (Some(checked), unchecked, validator)
            }
        };
        Ok(Self {
            names: ArgumentNames::new(checked.as_ref().unwrap_or(schema)),
            schema: schema.clone(),
            checked,
            unchecked,
            draft,
            validator,
            levels,
            weight: contents.weight,
            has_defaults: contents.has_defaults,
            has_integers: contents.has_integers,
            plan: OnceLock::new(),
        })
    }

    /// Returns the schema as it was given.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Returns the patterns that are not checked, because matching them could take more than linear time. The loader of the
    /// schema should warn about them. A value that violates only these is accepted.
    pub fn unchecked(&self) -> &[Unchecked] {
        &self.unchecked
    }

    /// Returns true if JSON Schema accepts the value. Faster than [`validate`](Self::validate), and without its rules for
    /// the names of arguments. Values that are too deep for the stack, or that need more than
    /// [`MAX_VALUE_CHECKS`], are not accepted.
    pub fn accepts(&self, value: &Value) -> bool {
        self.look(value).is_checkable && self.validator.is_valid(value)
    }

    fn look(&self, value: &Value) -> Look {
        let shape = Shape::of(value);
        let is_shallow =
            shape.levels <= MAX_VALUE_DEPTH && shape.levels.saturating_mul(self.levels) <= MAX_CHECK_DEPTH;
        let is_little = || shape.amount.saturating_mul(self.weight) <= MAX_VALUE_CHECKS;
        let is_checkable = is_shallow && (is_little() || Graph::new(self.checked()).is_checkable(value));
        Look { shape, is_checkable }
    }

    /// Checks the arguments of a call.
    ///
    /// In addition to JSON Schema, names are checked, since some JSON parsers confuse similar names:
    /// - An unlisted argument is refused, unless the schema has `additionalProperties` or composes several parts. Models
    ///   misspell optional arguments, and a tool that ignores them silently does something other than requested.
    /// - A name that differs from a listed one only in case or in invisible characters is refused at every depth, and so is
    ///   a name with the character NUL.
    pub fn validate(&self, value: &Value) -> Result<(), Violations> {
        let look = self.look(value);
        self.check(value, look).map_err(|refusal| self.violations(value, look, refusal))
    }

    fn check(&self, value: &Value, look: Look) -> Result<(), Refusal> {
        if !look.is_checkable || !self.validator.is_valid(value) {
            Err(Refusal::BySchema)
        } else if look.shape.has_nul_name || !self.has_known_names(value) {
            Err(Refusal::ByNames)
        } else {
            Ok(())
        }
    }

    fn has_known_names(&self, value: &Value) -> bool {
        self.names.are_plain(value)
            || self.names.unknown(&self.schema, value).next().is_none()
                && argument_names::mistaken(self.plan(), value).is_empty()
    }

    fn violations(&self, value: &Value, look: Look, refusal: Refusal) -> Violations {
        let Look { shape, is_checkable } = look;
        // To know that a value does not fit is cheap, and its errors may be very many.
        let mut violations: Vec<Violation> = if refusal == Refusal::ByNames {
            Vec::new()
        } else if is_checkable && Graph::new(self.checked()).is_explainable(value) {
            let errors = self.validator.iter_errors(value).take(MAX_VIOLATIONS);
            errors.flat_map(|error| Violation::from_error(&error, self.checked())).collect()
        } else {
            vec![Violation::unexplained()]
        };
        violations.extend(self.names.unknown(self.checked(), value).take(MAX_VIOLATIONS));
        if shape.has_nul_name {
            violations.extend(argument_names::cut_short(value));
        }
        if is_checkable && violations.len() < MAX_VIOLATIONS && !self.names.are_plain(value) {
            let mistaken = argument_names::mistaken(self.plan(), value);
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
    /// use toolcrib_schema::repair::Change;
    /// use toolcrib_schema::CompiledSchema;
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
        let look = self.look(&value);
        if let Err(refusal) = self.check(&value, look) {
            return self.mended(&value, look, refusal);
        }
        let may_change = self.has_defaults || self.has_integers && look.shape.has_whole_float;
        if may_change && repair::wants(self.plan(), &value) {
            return Ok(self.completed(value, Vec::new()));
        }
        Ok(repaired(value, Vec::new()))
    }

    fn mended(&self, value: &Value, look: Look, refusal: Refusal) -> Result<Repaired, Violations> {
        let is_open_to_repair = look.is_checkable && !look.shape.has_nul_name && self.has_known_names(value);
        let mended = || repair::mend(self.plan(), value).find(|(value, _)| self.is_fit(value));
        match is_open_to_repair.then(mended).flatten() {
            Some((value, repairs)) => Ok(self.completed(value, repairs)),
            None => Err(self.violations(value, look, refusal)),
        }
    }

    fn is_fit(&self, value: &Value) -> bool {
        value.is_object() && self.check(value, self.look(value)).is_ok()
    }

    fn completed(&self, value: Value, mut repairs: Vec<repair::Repair>) -> Repaired {
        let completed = repair::complete(self.plan(), &value).find(|(value, _)| self.is_fit(value));
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

    /// Returns a minimal value that the schema accepts, if one can be generated. The value has been checked.
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

/// Properties of a value that are computed before it is checked.
#[derive(Clone, Copy)]
struct Look {
    shape: Shape,
    /// True if checking the value fits the stack and the limit of steps.
    is_checkable: bool,
}

/// The reason for refusing a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Refusal {
    BySchema,
    ByNames,
}
