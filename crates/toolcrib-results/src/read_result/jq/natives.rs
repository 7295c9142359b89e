//! The filters of the language: those of jq that depend only on their input.

use std::cell::RefCell;
use std::rc::Rc;

use jaq_core::load::parse::Def;
use jaq_core::native::{Fun, bome, run, unary, v};
use jaq_core::{Bind, Cv, ValR};
use jaq_std::ValT as _;
use regex::{Regex, RegexBuilder};

use super::Metered;
use super::meter;
use super::value::{Error, Val};
use crate::read_result::grep::{MAX_COMPILED_BYTES, MAX_PATTERN_BYTES};

/// The definitions of the standard library that are left out: those for the process and the clock, and mathematics that
/// is not available.
const LEFT_OUT: [&str; 19] = [
    "stderr",
    "debug",
    "halt",
    "halt_error",
    "logb",
    "significand",
    "pow10",
    "drem",
    "nexttoward",
    "scalb",
    "gamma",
    "todate",
    "fromdate",
    "@html",
    "@htmld",
    "@uri",
    "@urid",
    "@base64",
    "@base64d",
];

/// Filters that are written in the language.
const DEFINITIONS: &str = r#"
def tonumber: if isnumber then . elif isstring then fromjson | if isnumber then . else error("no number") end
  else error("no number") end;
def in(xs): . as $x | xs | has($x);
def inside(xs): . as $x | xs | contains($x);
def index($i): indices($i)[0];
def rindex($i): indices($i)[-1];
def transpose: [range([.[] | length] | max) as $i | [.[][$i]]];
def toarray: if isarray then . else [.] end;
def mean: add / length;
def count(g): reduce g as $x (0; . + 1);
def @json: tojson;
"#;

/// The maximum number of compiled patterns that are cached per program.
const MAX_PATTERNS: usize = 32;

/// The maximum length of a text that a pattern is matched against. A hostile pattern cannot be stopped before it has
/// read all of it.
const MAX_SEARCHED_BYTES: usize = 64 * 1024;

thread_local! {
    static PATTERNS: RefCell<Vec<(String, String, Rc<Regex>)>> = const { RefCell::new(Vec::new()) };
}

/// Returns the filters that are written in the language.
pub(super) fn definitions() -> impl Iterator<Item = Def<&'static str>> {
    let own = jaq_core::load::parse(DEFINITIONS, |parser| parser.defs()).unwrap_or_default();
    jaq_core::defs().chain(jaq_std::defs().filter(|def| !LEFT_OUT.contains(&def.name))).chain(own)
}

/// Returns the filters that are written in Rust.
pub(super) fn functions() -> impl Iterator<Item = Fun<Metered>> {
    let base = jaq_std::base_funs().filter(|(name, ..)| !LEFT_OUT.contains(name));
    jaq_core::funs().chain(base).chain(own())
}

/// Returns the names of all filters.
pub(super) fn names() -> Vec<String> {
    let defined = definitions().map(|def| def.name.to_owned());
    defined.chain(functions().map(|(name, ..)| name.to_owned())).collect()
}

fn own() -> Vec<Fun<Metered>> {
    let patterns = || [Bind::Var(()), Bind::Var(())].into();
    vec![
        run(("length", v(0), |cv| bome(length(&cv.1)))),
        run(("tojson", v(0), |cv| bome(Ok(Val::text(cv.1.to_json_text()))))),
        run(("fromjson", v(0), |cv| bome(from_json(&cv.1)))),
        run(("contains", v(1), |cv| unary(cv, |value, part| Ok(contains(&value, &part).into())))),
        run(("has", v(1), |cv| unary(cv, |value, key| has(&value, &key)))),
        run(("indices", v(1), |cv| unary(cv, |value, part| indices(&value, &part)))),
        run(("sqrt", v(0), |cv| bome(number(&cv.1).map(|number| number.sqrt().into())))),
        run(("pow", v(2), |mut cv| {
            let (exponent, base) = (cv.0.pop_var(), cv.0.pop_var());
            bome(number(&base).and_then(|base| Ok(base.powf(number(&exponent)?).into())))
        })),
        run(("matches", patterns(), |cv| bome(matches(cv, Parts { between: false, found: true })))),
        run(("split_matches", patterns(), |cv| bome(matches(cv, Parts { between: true, found: true })))),
        run(("split_", patterns(), |cv| bome(matches(cv, Parts { between: true, found: false })))),
    ]
}

fn number(value: &Val) -> Result<f64, Error> {
    value.as_f64().ok_or_else(|| Error::typ(value.clone(), "number"))
}

fn length(value: &Val) -> ValR<Val> {
    Ok(match value {
        Val::Null => Val::Int(0),
        Val::Bool(_) => return Err(Error::typ(value.clone(), "a value with a length")),
        Val::Int(number) => Val::Int(number.saturating_abs()),
        Val::Float(number) => Val::Float(number.abs()),
        Val::Text(text) => {
            meter::bytes(text.len());
            text.chars().count().into()
        }
        Val::List(_, items) => items.len().into(),
        Val::Object(_, map) => map.len().into(),
    })
}

fn from_json(value: &Val) -> ValR<Val> {
    let Val::Text(text) = value else { return Err(Error::typ(value.clone(), "string")) };
    // A value takes up to 16 times as much memory as its text.
    meter::bytes(text.len().saturating_mul(16));
    match serde_json::from_str(text) {
        Ok(value) => Ok(Val::from_json(value)),
        Err(error) => Err(Error::str(format!("no JSON: {error}"))),
    }
}

fn contains(value: &Val, part: &Val) -> bool {
    meter::step();
    match (value, part) {
        (Val::Text(text), Val::Text(part)) => {
            meter::bytes(text.len());
            text.contains(part.as_str())
        }
        (Val::List(_, items), Val::List(_, parts)) => {
            parts.iter().all(|part| items.iter().any(|item| contains(item, part)))
        }
        (Val::Object(_, map), Val::Object(_, parts)) => {
            parts.iter().all(|(key, part)| map.get(key).is_some_and(|value| contains(value, part)))
        }
        _ => value == part,
    }
}

fn has(value: &Val, key: &Val) -> ValR<Val> {
    match (value, key) {
        (Val::Object(_, map), Val::Text(key)) => Ok(map.contains_key(key.as_str()).into()),
        (Val::List(_, items), Val::Int(at)) => {
            Ok(usize::try_from(*at).is_ok_and(|at| at < items.len()).into())
        }
        _ => Err(Error::index(value.clone(), key.clone())),
    }
}

fn indices(value: &Val, part: &Val) -> ValR<Val> {
    Ok(match (value, part) {
        (Val::Text(_), Val::Text(part)) if part.is_empty() => std::iter::empty().collect(),
        (Val::List(_, _), Val::List(_, part)) if part.is_empty() => std::iter::empty().collect(),
        (Val::Text(text), Val::Text(part)) => {
            meter::bytes(text.len());
            let (mut chars, mut last) = (0, 0);
            text.match_indices(part.as_str())
                .map(|(at, _)| {
                    chars += text.get(last..at).unwrap_or_default().chars().count();
                    last = at;
                    Val::from(chars)
                })
                .collect()
        }
        (Val::List(_, items), Val::List(_, part)) => {
            let windows = items.windows(part.len()).enumerate();
            windows.filter(|(_, window)| *window == part.as_slice()).map(|(at, _)| Val::from(at)).collect()
        }
        (Val::List(_, items), part) => {
            items.iter().enumerate().filter(|(_, item)| *item == part).map(|(at, _)| Val::from(at)).collect()
        }
        _ => return Err(Error::index(value.clone(), part.clone())),
    })
}

/// The requested parts of a text that a pattern is matched against.
#[derive(Clone, Copy)]
struct Parts {
    between: bool,
    found: bool,
}

fn matches(mut cv: Cv<'_, Metered>, wanted: Parts) -> ValR<Val> {
    let (flags, pattern) = (cv.0.pop_var(), cv.0.pop_var());
    let (Val::Text(text), Val::Text(pattern)) = (&cv.1, &pattern) else {
        return Err(Error::typ(cv.1.clone(), "string to look for a pattern in"));
    };
    if text.len() > MAX_SEARCHED_BYTES {
        let message =
            format!("a pattern is matched against a text of more than {MAX_SEARCHED_BYTES} bytes; use grep");
        return Err(Error::str(message));
    }
    let flags = match &flags {
        Val::Text(flags) => flags.as_str(),
        _ => "",
    };
    let pattern = compiled(pattern, flags)?;
    let mut parts = Vec::new();
    let mut last = 0;
    for found in pattern.captures_iter(text) {
        meter::bytes(text.len().min(1_024) + 64);
        let Some(whole) = found.get(0) else { continue };
        if flags.contains('n') && whole.is_empty() {
            continue;
        }
        if wanted.between {
            parts.push(Val::text(text.get(last..whole.start()).unwrap_or_default()));
            last = whole.end();
        }
        if wanted.found {
            let groups = found.iter().zip(pattern.capture_names());
            let groups = groups.filter_map(|(group, name)| Some((group?, name)));
            let told = groups.map(|(group, name)| {
                meter::bytes(group.start());
                let offset = text.get(..group.start()).unwrap_or_default().chars().count();
                let told = [
                    ("offset", Val::from(offset)),
                    ("length", Val::from(group.as_str().chars().count())),
                    ("string", Val::text(group.as_str())),
                ];
                let told = told.into_iter().chain(name.map(|name| ("name", Val::text(name))));
                <Val as jaq_core::ValT>::from_map(told.map(|(key, value)| (Val::text(key), value)))
            });
            parts.push(told.collect::<Result<Val, _>>()?);
        }
        if !flags.contains('g') {
            break;
        }
    }
    if wanted.between {
        parts.push(Val::text(text.get(last..).unwrap_or_default()));
    }
    meter::bytes(text.len());
    Ok(parts.into_iter().collect())
}

/// Returns a compiled pattern, from the cache if possible: programs apply the same pattern to many values.
fn compiled(pattern: &str, flags: &str) -> Result<Rc<Regex>, Error> {
    let known = PATTERNS.with_borrow(|known| {
        let found = known.iter().find(|(other, theirs, _)| other == pattern && theirs == flags);
        found.map(|(_, _, regex)| Rc::clone(regex))
    });
    if let Some(regex) = known {
        return Ok(regex);
    }
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(Error::str(format!("a pattern is longer than {MAX_PATTERN_BYTES} bytes")));
    }
    let has = |flag| flags.contains(flag);
    let built = RegexBuilder::new(pattern)
        .case_insensitive(has('i'))
        .multi_line(has('m') || has('p'))
        .dot_matches_new_line(has('s') || has('p'))
        .swap_greed(has('l'))
        .ignore_whitespace(has('x'))
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_COMPILED_BYTES)
        .build();
    let regex = Rc::new(built.map_err(|error| Error::str(format!("no pattern: {error}")))?);
    PATTERNS.with_borrow_mut(|known| {
        if known.len() == MAX_PATTERNS {
            known.remove(0);
        }
        known.push((pattern.to_owned(), flags.to_owned(), Rc::clone(&regex)));
    });
    Ok(regex)
}
