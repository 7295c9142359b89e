//! The rules of each API, according to its documentation and its error messages.

use super::Profile;

/// The rules of an API.
#[derive(Debug)]
pub(super) struct Rules {
    /// The accepted keywords other than those for types and properties, which every API accepts.
    pub(super) keywords: &'static [&'static str],
    /// The values of `format` that it takes.
    pub(super) formats: &'static [&'static str],
    /// True if a part has at most one type, with `nullable` for null.
    pub(super) has_single_types: bool,
    /// True if all properties are required, and others are refused.
    pub(super) is_strict: bool,
}

/// Keywords for which no API refuses a request.
const PLAIN: &[&str] = &["type", "description", "properties", "required", "items", "enum"];

const OPEN_AI: &[&str] = &[
    "title",
    "default",
    "examples",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "additionalProperties",
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
];

const STRICT: &[&str] = &[
    "const",
    "anyOf",
    "additionalProperties",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
];

const GEMINI: &[&str] = &[
    "title",
    "anyOf",
    "format",
    "nullable",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "pattern",
];

const PORTABLE: &[&str] = &["anyOf"];

const FORMATS: &[&str] =
    &["date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"];

const STRICT_FORMATS: &[&str] =
    &["date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

impl Profile {
    pub(super) fn rules(self) -> &'static Rules {
        match self {
            Self::OpenAi | Self::Anthropic => {
                &Rules { keywords: OPEN_AI, formats: FORMATS, has_single_types: false, is_strict: false }
            }
            Self::OpenAiStrict => {
                &Rules { keywords: STRICT, formats: STRICT_FORMATS, has_single_types: false, is_strict: true }
            }
            Self::Gemini => &Rules {
                keywords: GEMINI,
                formats: &["date-time", "int32", "int64", "float", "double"],
                has_single_types: true,
                is_strict: false,
            },
            Self::Portable => {
                &Rules { keywords: PORTABLE, formats: &[], has_single_types: true, is_strict: false }
            }
        }
    }
}

impl Rules {
    pub(super) fn takes(&self, keyword: &str) -> bool {
        PLAIN.contains(&keyword) || self.keywords.contains(&keyword)
    }
}
