//! The rules of each API, according to its documentation and its error messages.

use super::Profile;

/// The rules of an API.
#[derive(Debug)]
pub(super) struct Rules {
    /// The set of keywords that it takes, other than those for types and properties, which every API takes.
    keywords: u8,
    /// The values of `format` that it takes.
    pub(super) formats: &'static [&'static str],
    /// True if a part has at most one type, with `nullable` for null.
    pub(super) has_single_types: bool,
    /// True if objects have no other properties than those that are listed.
    pub(super) is_closed: bool,
    /// True if all properties are required.
    pub(super) requires_all: bool,
}

/// Keywords for which no API refuses a request.
const PLAIN: &[&str] = &["type", "description", "properties", "required", "items", "enum"];

// The sets of keywords that an API takes.
const OPEN_AI: u8 = 1;
const STRICT: u8 = 1 << 1;
const GEMINI: u8 = 1 << 2;
const PORTABLE: u8 = 1 << 3;
const STRUCTURED: u8 = 1 << 4;

/// The other keywords, with the sets that contain them.
const KEYWORDS: &[(&str, u8)] = &[
    ("title", OPEN_AI | GEMINI),
    ("default", OPEN_AI),
    ("examples", OPEN_AI),
    ("const", OPEN_AI | STRICT),
    ("anyOf", OPEN_AI | STRICT | GEMINI | PORTABLE | STRUCTURED),
    ("oneOf", OPEN_AI),
    ("allOf", OPEN_AI),
    ("additionalProperties", OPEN_AI | STRICT | STRUCTURED),
    ("format", OPEN_AI | STRICT | GEMINI | STRUCTURED),
    ("nullable", GEMINI),
    ("pattern", OPEN_AI | STRICT | GEMINI),
    ("minLength", OPEN_AI | GEMINI),
    ("maxLength", OPEN_AI | GEMINI),
    ("minimum", OPEN_AI | STRICT | GEMINI),
    ("maximum", OPEN_AI | STRICT | GEMINI),
    ("exclusiveMinimum", OPEN_AI | STRICT),
    ("exclusiveMaximum", OPEN_AI | STRICT),
    ("multipleOf", OPEN_AI | STRICT),
    ("minItems", OPEN_AI | STRICT | GEMINI),
    ("maxItems", OPEN_AI | STRICT | GEMINI),
    ("uniqueItems", OPEN_AI),
    ("minProperties", OPEN_AI),
    ("maxProperties", OPEN_AI),
];

const FORMATS: &[&str] =
    &["date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"];

const STRICT_FORMATS: &[&str] =
    &["date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

impl Profile {
    pub(super) fn rules(self) -> &'static Rules {
        match self {
            Self::OpenAi | Self::Anthropic => &Rules {
                keywords: OPEN_AI,
                formats: FORMATS,
                has_single_types: false,
                is_closed: false,
                requires_all: false,
            },
            Self::OpenAiStrict => &Rules {
                keywords: STRICT,
                formats: STRICT_FORMATS,
                has_single_types: false,
                is_closed: true,
                requires_all: true,
            },
            Self::Structured => &Rules {
                keywords: STRUCTURED,
                formats: FORMATS,
                has_single_types: false,
                is_closed: true,
                requires_all: false,
            },
            Self::Gemini => &Rules {
                keywords: GEMINI,
                formats: &["date-time", "int32", "int64", "float", "double"],
                has_single_types: true,
                is_closed: false,
                requires_all: false,
            },
            Self::Portable => &Rules {
                keywords: PORTABLE,
                formats: &[],
                has_single_types: true,
                is_closed: false,
                requires_all: false,
            },
        }
    }
}

impl Rules {
    pub(super) fn takes(&self, keyword: &str) -> bool {
        PLAIN.contains(&keyword)
            || KEYWORDS.iter().any(|(known, sets)| *known == keyword && sets & self.keywords != 0)
    }
}
