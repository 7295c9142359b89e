//! The settings of shapes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toolcrib_model::Risk;

/// An entry of `tools.shape`: how callers see one tool, or each tool that a glob matches.
///
/// ```yaml
/// tools:
///   shape:
///     - tool: github.search_code
///       name: code.search
///       description: Searches our code.
///       parameters:
///         q: {name: query, description: Words to look for.}
///         owner: {value: acme}
///         perPage: {default: 20, maximum: 50}
///         onBehalfOf: {from: user}
///     - tool: github.issue_write
///       split:
///         by: method
///         into: [{value: create, name: create_issue}, {value: update, name: update_issue}]
///     - tool: brave.web_search
///       name: web.search
///       fallbacks: [{tool: google.search, parameters: {q: {name: query}}}]
///     - tool: "payments.*"
///       risk: high
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ShapeSettings {
    /// The tool, as `namespace.name`, or a glob of such names (`*` matches any text). An entry with a glob, or without
    /// `name`, `split`, and `fallbacks`, changes tools under their names; all entries that match a tool apply, in order.
    pub tool: String,
    /// The name that callers see: `name`, or `namespace.name`. The original name is then no tool any more.
    pub name: Option<String>,
    /// The description that callers see.
    pub description: Option<String>,
    /// The risk. It can be raised, not lowered.
    pub risk: Option<Risk>,
    /// The changes of parameters, by the names of the original tool.
    pub parameters: BTreeMap<String, ParameterShape>,
    /// The expression for the results, `JSONPath` (`$.items[*].name`) or jq (`.items | map(.name)`). Callers get its
    /// value only.
    pub project: Option<String>,
    /// Several tools in the place of one, each with a fixed value of one parameter.
    pub split: Option<Split>,
    /// The tools that are called if the first one is unavailable, in the order of preference.
    pub fallbacks: Vec<Fallback>,
}

/// The change of one parameter.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ParameterShape {
    /// The name that callers see.
    pub name: Option<String>,
    /// The description that callers see.
    pub description: Option<String>,
    /// True if callers do not see the parameter. Without a value, the original tool does not get it.
    pub hidden: bool,
    /// The value of every call. Callers do not see the parameter.
    pub value: Option<Value>,
    /// The attribute of the caller that is the value of every call: `user`, `session`, `agent`, or `scope.KEY`. Callers do
    /// not see the parameter.
    pub from: Option<String>,
    /// The value of calls without the argument.
    pub default: Option<Value>,
    /// The attribute of the caller that is the value of calls without the argument.
    pub default_from: Option<String>,
    /// The values that callers may give.
    #[serde(rename = "enum")]
    pub values: Option<Vec<Value>>,
    /// The smallest number.
    pub minimum: Option<f64>,
    /// The largest number.
    pub maximum: Option<f64>,
    /// The shortest text, in characters.
    #[serde(rename = "minLength")]
    pub min_length: Option<u64>,
    /// The longest text, in characters.
    #[serde(rename = "maxLength")]
    pub max_length: Option<u64>,
    /// A regular expression that matches some part of the text.
    pub pattern: Option<String>,
    /// The smallest number of items.
    #[serde(rename = "minItems")]
    pub min_items: Option<u64>,
    /// The largest number of items.
    #[serde(rename = "maxItems")]
    pub max_items: Option<u64>,
}

/// Several tools in the place of one.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// The parameter whose value selects the tool.
    pub by: String,
    /// The tools. Values of the parameter that are not listed cannot be called.
    pub into: Vec<SplitTool>,
}

/// One of the tools of a split.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitTool {
    /// The value of the parameter.
    pub value: Value,
    /// The name that callers see.
    pub name: String,
    /// The description that callers see.
    #[serde(default)]
    pub description: Option<String>,
    /// Further changes of parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, ParameterShape>,
}

/// A tool that can stand in for another.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fallback {
    /// The tool, as `namespace.name`.
    pub tool: String,
    /// Its parameters that differ from those that callers see: `name`, `hidden`, `value`, `from`, `default`, and
    /// `default_from` of each. A call whose arguments it does not accept does not reach it.
    #[serde(default)]
    pub parameters: BTreeMap<String, ParameterShape>,
}

impl ParameterShape {
    /// Returns the change with another one on top.
    pub(super) fn overlaid(&self, top: &Self) -> Self {
        let below = self.clone();
        let top = top.clone();
        // A value on top replaces one below, of any origin.
        let has_value =
            top.value.is_some() || top.from.is_some() || top.default.is_some() || top.default_from.is_some();
        let values = if has_value { &top } else { &below };
        let (value, from) = (values.value.clone(), values.from.clone());
        let (default, default_from) = (values.default.clone(), values.default_from.clone());
        Self {
            name: top.name.or(below.name),
            description: top.description.or(below.description),
            hidden: top.hidden || below.hidden,
            value,
            from,
            default,
            default_from,
            values: top.values.or(below.values),
            minimum: top.minimum.or(below.minimum),
            maximum: top.maximum.or(below.maximum),
            min_length: top.min_length.or(below.min_length),
            max_length: top.max_length.or(below.max_length),
            pattern: top.pattern.or(below.pattern),
            min_items: top.min_items.or(below.min_items),
            max_items: top.max_items.or(below.max_items),
        }
    }

    /// Returns true if callers do not see the parameter.
    pub(super) fn is_hidden(&self) -> bool {
        self.hidden || self.value.is_some() || self.from.is_some()
    }

    /// Returns the keywords that narrow the schema of the parameter.
    pub(super) fn narrowing(&self) -> Vec<(&'static str, Value)> {
        let numbers = [("minimum", self.minimum), ("maximum", self.maximum)];
        let counts = [
            ("minLength", self.min_length),
            ("maxLength", self.max_length),
            ("minItems", self.min_items),
            ("maxItems", self.max_items),
        ];
        let list = self.values.clone().map(|values| ("enum", Value::Array(values)));
        let pattern = self.pattern.clone().map(|pattern| ("pattern", Value::String(pattern)));
        let numbers = numbers.into_iter().filter_map(|(key, number)| Some((key, number_of(number?))));
        let counts = counts.into_iter().filter_map(|(key, count)| Some((key, Value::from(count?))));
        list.into_iter().chain(numbers).chain(counts).chain(pattern).collect()
    }
}

/// Returns a number as JSON, an integer if it is one.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn number_of(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        Value::from(number as i64)
    } else {
        Value::from(number)
    }
}
