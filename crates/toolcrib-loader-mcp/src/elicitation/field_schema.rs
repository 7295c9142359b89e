//! A field of a form: its display, and the validation of its value.

use rmcp::model::{
    ConstTitle, EnumSchema, MultiSelectEnumSchema, PrimitiveSchemaDefinition, SingleSelectEnumSchema,
    StringFormat,
};
use serde_json::{Value, json};
use toolcrib_model::{FieldKind, FormField, JsonObject};

use super::MAX_LABEL_CHARS;
use super::text_format::{format_name, has_format};
use crate::text::clean;

/// The largest number of choices of a field.
const MAX_CHOICES: usize = 50;

/// A field.
#[derive(Debug)]
pub(super) struct FieldSchema {
    /// The key of the field, which is safe to show.
    pub(super) name: String,
    pub(super) label: String,
    is_required: bool,
    default: Option<Value>,
    kind: FieldType,
}

#[derive(Debug)]
enum FieldType {
    Text { min: Option<u32>, max: Option<u32>, format: Option<StringFormat> },
    Number { min: Option<f64>, max: Option<f64> },
    Integer { min: Option<i64>, max: Option<i64> },
    Boolean,
    One(Choices),
    Many { choices: Choices, min: Option<u64>, max: Option<u64> },
}

/// The values to choose from, with their displayed texts.
#[derive(Debug)]
struct Choices {
    values: Vec<String>,
    shown: Vec<String>,
}

impl FieldSchema {
    /// Parses a property of the schema.
    pub(super) fn read(
        name: &str,
        property: &PrimitiveSchemaDefinition,
        is_required: bool,
    ) -> Result<Self, String> {
        use PrimitiveSchemaDefinition as Property;
        if name.is_empty() || line(name) != name {
            return Err(format!("the name of its field `{}` cannot be shown", line(name)));
        }
        let (title, description, default, kind) = match property {
            Property::String(it) => {
                let kind = FieldType::Text { min: it.min_length, max: it.max_length, format: it.format };
                (&it.title, &it.description, it.default.as_ref().map(|default| json!(default)), kind)
            }
            Property::Number(it) => {
                let kind = FieldType::Number { min: it.minimum, max: it.maximum };
                (&it.title, &it.description, it.default.map(|default| json!(default)), kind)
            }
            Property::Integer(it) => {
                let kind = FieldType::Integer { min: it.minimum, max: it.maximum };
                (&it.title, &it.description, it.default.map(|default| json!(default)), kind)
            }
            Property::Boolean(it) => {
                (&it.title, &it.description, it.default.map(|default| json!(default)), FieldType::Boolean)
            }
            Property::Enum(EnumSchema::Single(SingleSelectEnumSchema::Untitled(it))) => {
                let kind = FieldType::One(Choices::new(&it.enum_, &[])?);
                (&it.title, &it.description, it.default.as_ref().map(|default| json!(default)), kind)
            }
            Property::Enum(EnumSchema::Single(SingleSelectEnumSchema::Titled(it))) => {
                let kind = FieldType::One(Choices::titled(&it.one_of)?);
                (&it.title, &it.description, it.default.as_ref().map(|default| json!(default)), kind)
            }
            Property::Enum(EnumSchema::Legacy(it)) => {
                let titles = it.enum_names.as_deref().unwrap_or_default();
                let kind = FieldType::One(Choices::new(&it.enum_, titles)?);
                (&it.title, &it.description, it.default.as_ref().map(|default| json!(default)), kind)
            }
            Property::Enum(EnumSchema::Multi(MultiSelectEnumSchema::Untitled(it))) => {
                let choices = Choices::new(&it.items.enum_, &[])?;
                let kind = FieldType::Many { choices, min: it.min_items, max: it.max_items };
                (&it.title, &it.description, it.default.as_ref().map(|default| json!(default)), kind)
            }
            Property::Enum(EnumSchema::Multi(MultiSelectEnumSchema::Titled(it))) => {
                let choices = Choices::titled(&it.items.any_of)?;
                let kind = FieldType::Many { choices, min: it.min_items, max: it.max_items };
                (&it.title, &it.description, it.default.as_ref().map(|default| json!(default)), kind)
            }
            _ => return Err(format!("its field `{name}` is of a kind that is not known")),
        };
        let title = title.as_deref().map(line).filter(|title| !title.is_empty());
        let mut label = title.unwrap_or_else(|| name.to_owned());
        if let Some(description) = description.as_deref().map(line).filter(|text| !text.is_empty()) {
            label = format!("{label}: {description}");
        }
        // An invalid default is ignored rather than an error of the question.
        let default = default.filter(|default| kind.check(default).is_ok());
        Ok(Self { name: name.to_owned(), label, is_required, default, kind })
    }

    /// Returns true if the value could be a secret. Choices, dates and numbers with few digits cannot.
    pub(super) fn may_hold_secret(&self) -> bool {
        /// Smaller numbers have fewer digits than the shortest code.
        const SHORTEST_CODE: f64 = 1_000.0;
        #[expect(clippy::cast_precision_loss, reason = "compared with a small number")]
        let max = match &self.kind {
            FieldType::Text {
                format: Some(StringFormat::Email | StringFormat::Date | StringFormat::DateTime),
                ..
            }
            | FieldType::Boolean
            | FieldType::One(_)
            | FieldType::Many { .. } => return false,
            FieldType::Text { .. } => return true,
            FieldType::Number { max, .. } => *max,
            FieldType::Integer { max, .. } => max.map(|max| max as f64),
        };
        max.is_none_or(|max| max >= SHORTEST_CODE)
    }

    /// Returns the number of lines in a form: one, plus one for each choice of a multiple-choice field.
    pub(super) fn lines(&self) -> usize {
        match &self.kind {
            FieldType::Many { choices, .. } => 1 + choices.values.len(),
            _ => 1,
        }
    }

    /// Returns the field for the user's form.
    pub(super) fn field(&self) -> FormField {
        let (kind, default) = match &self.kind {
            FieldType::Many { choices, .. } => {
                let default = self.default.as_ref().and_then(Value::as_array).map(|all| {
                    let shown = all.iter().filter_map(|value| choices.label_of(value.as_str()?));
                    Value::from(shown.collect::<Vec<_>>())
                });
                (FieldKind::Choices(choices.shown.clone()), default)
            }
            FieldType::One(choices) => {
                let default = self.default.as_ref().and_then(|default| choices.label_of(default.as_str()?));
                (FieldKind::Choice(choices.shown.clone()), default.map(|default| json!(default)))
            }
            FieldType::Text { .. } => (FieldKind::Text, self.default.clone()),
            FieldType::Number { .. } => (FieldKind::Number, self.default.clone()),
            FieldType::Integer { .. } => (FieldKind::Integer, self.default.clone()),
            FieldType::Boolean => (FieldKind::Boolean, self.default.clone()),
        };
        let label = match self.kind.limits() {
            Some(limits) => format!("{} ({limits})", self.label),
            None => self.label.clone(),
        };
        FormField {
            name: self.name.clone(),
            label,
            kind,
            required: self.is_required,
            default,
            bounds: self.kind.bounds(),
        }
    }

    /// Returns the value that was filled in, else the default; `None` if there is neither.
    pub(super) fn value(&self, given: &JsonObject) -> Result<Option<Value>, String> {
        let problem = |problem: &str| format!("`{}` {problem}", self.name);
        let value = match &self.kind {
            FieldType::Many { choices, .. } => match given.get(&self.name) {
                Some(shown) => {
                    let shown = shown.as_array().into_iter().flatten();
                    let values =
                        shown.map(|shown| choices.value_of(shown.as_str()?)).collect::<Option<Vec<_>>>();
                    Some(json!(values.ok_or_else(|| problem("has to be of its choices"))?))
                }
                // An empty list is a valid value of a required field.
                None => self.default.clone().or_else(|| self.is_required.then(|| json!([]))),
            },
            FieldType::One(choices) => match given.get(&self.name) {
                Some(shown) => {
                    let value = shown.as_str().and_then(|shown| choices.value_of(shown));
                    Some(json!(value.ok_or_else(|| problem("has to be one of its choices"))?))
                }
                None => self.default.clone(),
            },
            _ => given.get(&self.name).cloned().or_else(|| self.default.clone()),
        };
        match value {
            Some(value) => self.kind.check(&value).map(|()| Some(value)).map_err(|limits| problem(&limits)),
            None if self.is_required => Err(problem("has to be filled in")),
            None => Ok(None),
        }
    }
}

impl FieldType {
    /// Checks a value. The error continues a sentence that begins with the name of the field.
    fn check(&self, value: &Value) -> Result<(), String> {
        let is_one = |choices: &Choices, value: &Value| {
            value.as_str().is_some_and(|value| choices.values.iter().any(|one| one == value))
        };
        let fits = match self {
            Self::Text { min, max, format } => value.as_str().is_some_and(|text| {
                let count = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
                min.is_none_or(|min| min <= count)
                    && max.is_none_or(|max| count <= max)
                    && format.is_none_or(|format| has_format(text, format))
            }),
            Self::Number { min, max } => value.as_f64().is_some_and(|number| {
                min.is_none_or(|min| min <= number) && max.is_none_or(|max| number <= max)
            }),
            Self::Integer { min, max } => value.as_i64().is_some_and(|number| {
                min.is_none_or(|min| min <= number) && max.is_none_or(|max| number <= max)
            }),
            Self::Boolean => value.is_boolean(),
            Self::One(choices) => is_one(choices, value),
            Self::Many { choices, min, max } => value.as_array().is_some_and(|all| {
                let count = all.len() as u64;
                all.iter().all(|value| is_one(choices, value))
                    && min.is_none_or(|min| min <= count)
                    && max.is_none_or(|max| count <= max)
            }),
        };
        if fits {
            return Ok(());
        }
        Err(self
            .limits()
            .map_or_else(|| "is of another type".to_owned(), |limits| format!("has to be: {limits}")))
    }

    /// Returns the limits of a value as keywords of JSON Schema.
    fn bounds(&self) -> JsonObject {
        let bounds = match self {
            Self::Text { min, max, format } => {
                vec![("minLength", json!(min)), ("maxLength", json!(max)), ("format", json!(format))]
            }
            Self::Number { min, max } => vec![("minimum", json!(min)), ("maximum", json!(max))],
            Self::Integer { min, max } => vec![("minimum", json!(min)), ("maximum", json!(max))],
            Self::Many { min, max, .. } => vec![("minItems", json!(min)), ("maxItems", json!(max))],
            Self::Boolean | Self::One(_) => Vec::new(),
        };
        let given = bounds.into_iter().filter(|(_, value)| !value.is_null());
        given.map(|(keyword, value)| (keyword.to_owned(), value)).collect()
    }

    /// Returns the limits of a value in words, without its type.
    fn limits(&self) -> Option<String> {
        fn range<T: ToString>(min: Option<T>, max: Option<T>) -> Option<String> {
            match (min.map(|it| it.to_string()), max.map(|it| it.to_string())) {
                (Some(min), Some(max)) => Some(format!("{min} to {max}")),
                (Some(min), None) => Some(format!("at least {min}")),
                (None, Some(max)) => Some(format!("at most {max}")),
                (None, None) => None,
            }
        }
        match self {
            Self::Text { min, max, format } => {
                let length = range(*min, *max).map(|range| format!("{range} characters"));
                let parts: Vec<_> =
                    format.map(|format| format_name(format).to_owned()).into_iter().chain(length).collect();
                (!parts.is_empty()).then(|| parts.join(", "))
            }
            Self::Number { min, max } => range(*min, *max),
            Self::Integer { min, max } => range(*min, *max),
            Self::Many { min, max, .. } => range(*min, *max).map(|range| format!("{range} of its choices")),
            Self::Boolean | Self::One(_) => None,
        }
    }
}

impl Choices {
    fn titled(all: &[ConstTitle]) -> Result<Self, String> {
        // The limit is checked before a long list is copied.
        Self::check_count(all.len())?;
        let (values, titles): (Vec<_>, Vec<_>) =
            all.iter().map(|one| (one.const_.clone(), one.title.clone())).unzip();
        Self::new(&values, &titles)
    }

    /// Creates the choices with these titles; those without a title are shown as they are.
    fn new(values: &[String], titles: &[String]) -> Result<Self, String> {
        Self::check_count(values.len())?;
        let titles = titles.iter().map(Some).chain(std::iter::repeat(None));
        let shown: Vec<_> =
            values.iter().zip(titles).map(|(value, title)| line(title.unwrap_or(value))).collect();
        let is_clear = |(at, one): (usize, &String)| {
            !one.is_empty() && shown.iter().skip(at + 1).all(|other| other != one)
        };
        if !shown.iter().enumerate().all(is_clear) {
            return Err("two of its choices cannot be told apart, or one is empty".into());
        }
        Ok(Self { values: values.to_vec(), shown })
    }

    fn check_count(count: usize) -> Result<(), String> {
        match count {
            0 => Err("one of its fields has no choices".into()),
            1..=MAX_CHOICES => Ok(()),
            _ => Err(format!("one of its fields has {count} choices, at most {MAX_CHOICES} are shown")),
        }
    }

    fn value_of(&self, shown: &str) -> Option<&str> {
        let at = self.shown.iter().position(|one| one == shown)?;
        self.values.get(at).map(String::as_str)
    }

    fn label_of(&self, value: &str) -> Option<&str> {
        let at = self.values.iter().position(|one| one == value)?;
        self.shown.get(at).map(String::as_str)
    }
}

/// Returns a text of a server on one line.
fn line(text: &str) -> String {
    clean(text, MAX_LABEL_CHARS).replace(['\n', '\t'], " ")
}
