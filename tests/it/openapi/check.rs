//! Compares a request with what the document says of the operation and with the arguments that were given.

use serde_json::{Map, Value};

use super::binding::Binding;
use super::bodies::{self, kind};
use super::decode::{Coding, Pair, is_undefined, percent, slot, take};
use super::reader::{Layout, Operation, Parameter, Place, Style};
use super::schema_check;
use super::server::Recorded;

/// Headers that clients send of their own.
const OWN_HEADERS: [&str; 9] = [
    "accept",
    "accept-encoding",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "traceparent",
    "user-agent",
    "idempotency-key",
];

/// A list as pairs of the same name.
const FORM: Layout = Layout::Styled { style: Style::Form, explode: true, reserved: false };

impl Recorded {
    pub(super) fn header(&self, name: &str) -> Option<String> {
        let (_, value) = self.headers.iter().find(|(known, _)| known == name)?;
        Some(String::from_utf8_lossy(value).into_owned())
    }
}

/// A call that was made.
pub(super) struct Made<'a> {
    pub(super) operation: &'a Operation<'a>,
    pub(super) binding: &'a Binding<'a>,
    pub(super) arguments: &'a Map<String, Value>,
    /// The path of the server, without a slash at its end.
    pub(super) base: &'a str,
}

impl Made<'_> {
    /// What is wrong with the request: classes, and behind a colon what it is in this case.
    pub(super) fn problems(&self, request: &Recorded) -> Vec<String> {
        let mut problems = Vec::new();
        if request.method != self.operation.method {
            problems.push(format!("method: {} instead of {}", request.method, self.operation.method));
        }
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        problems.extend(self.path(path).err());
        problems.extend(self.query(query).err());
        problems.extend(self.headers(request).err());
        problems.extend(self.cookies(request).err());
        for place in [Place::Path, Place::Query, Place::Header, Place::Cookie] {
            let of_document = |(parameter, value): (&Parameter<'_>, &Value)| {
                // A null is left out, and is none of the values that are sent.
                let schema = parameter.schema.filter(|_| !value.is_null())?;
                schema_check::problem(schema, value)
                    .map(|why| format!("argument that the document refuses, {why}"))
            };
            problems.extend(self.given(place).filter_map(of_document));
        }
        let body = self.operation.body.as_ref();
        problems.extend(bodies::check(body, &self.binding.body, self.arguments, request).err());
        problems
    }

    /// The parameters of a place that have a value.
    fn given(&self, place: Place) -> impl Iterator<Item = (&Parameter<'_>, &Value)> {
        let parameters =
            self.binding.parameters.iter().filter(move |(_, parameter)| parameter.place == place);
        parameters.filter_map(|(argument, parameter)| Some((*parameter, self.arguments.get(argument)?)))
    }

    fn path(&self, sent: &str) -> Result<(), String> {
        let template = self.operation.path.split(['#', '?']).next().unwrap_or_default();
        let wanted = format!("{}/{}", self.base, template.trim_start_matches('/'));
        let (sent_parts, wanted): (Vec<_>, Vec<_>) = (sent.split('/').collect(), wanted.split('/').collect());
        if sent_parts.len() != wanted.len() {
            return Err(format!("path: {sent} has other segments than {template}"));
        }
        for (sent, wanted) in sent_parts.iter().zip(wanted) {
            let mut why = String::new();
            if !self.fits(sent, wanted, &mut why) {
                let layouts: Vec<_> = self
                    .given(Place::Path)
                    .filter(|(parameter, _)| wanted.contains(&parameter.name))
                    .map(|(parameter, value)| format!("{} {}", parameter.layout, kind(value)))
                    .collect();
                return Err(format!("path, {}: `{sent}` is not {wanted}: {why}", layouts.join(" and ")));
            }
        }
        Ok(())
    }

    /// Whether a segment is what a part of the template means; where a value ends is found by trying.
    fn fits(&self, sent: &str, wanted: &str, why: &mut String) -> bool {
        let (before, rest) = wanted.split_once('{').unwrap_or((wanted, ""));
        if !before.is_empty() || rest.is_empty() {
            let literal = percent(before).unwrap_or_else(|_| before.to_owned());
            let ends = (0..=sent.len()).rev().filter(|end| sent.is_char_boundary(*end));
            let rest = wanted.get(before.len()..).unwrap_or_default();
            let mut matching = ends.filter(|end| percent(&sent[..*end]).as_ref() == Ok(&literal));
            return matching.any(|end| {
                if rest.is_empty() { end == sent.len() } else { self.fits(&sent[end..], rest, why) }
            });
        }
        let Some((name, rest)) = rest.split_once('}') else { return false };
        let Some((parameter, value)) = self.given(Place::Path).find(|(parameter, _)| parameter.name == name)
        else {
            *why = format!("no value for {name}");
            return false;
        };
        let ends = (0..=sent.len()).rev().filter(|end| sent.is_char_boundary(*end));
        let mut ends = ends.filter(|end| !rest.is_empty() || *end == sent.len());
        ends.any(|end| match slot(name, &sent[..end], parameter.layout, coding(parameter), value) {
            Ok(()) if rest.is_empty() => true,
            Ok(()) => self.fits(&sent[end..], rest, why),
            Err(problem) => {
                *why = problem;
                false
            }
        })
    }

    fn query(&self, sent: &str) -> Result<(), String> {
        let mut pairs: Vec<Pair> = pairs(sent, &["&"]);
        let path = self.operation.path.split('#').next().unwrap_or_default();
        for (name, value) in pairs_of_template(path) {
            let is_it =
                |(sent, text): &Pair| percent(sent) == percent(&name) && percent(text) == percent(&value);
            let index = pairs
                .iter()
                .position(is_it)
                .ok_or_else(|| format!("query of the path: {name} is missing"))?;
            pairs.remove(index);
        }
        self.take_all(Place::Query, &mut pairs)
    }

    fn take_all(&self, place: Place, pairs: &mut Vec<Pair>) -> Result<(), String> {
        let mut given: Vec<_> = self.given(place).collect();
        // An object in pairs of its own takes what no other name claims.
        given.sort_by_key(|(parameter, value)| match parameter.layout {
            Layout::Styled { explode: true, style: Style::Form | Style::Cookie, .. } => value.is_object(),
            _ => false,
        });
        for (parameter, value) in given {
            if parameter.layout == Layout::Whole {
                let fields =
                    value.as_object().into_iter().flatten().filter(|(_, value)| !is_undefined(value));
                for (name, value) in fields {
                    take(pairs, name, FORM, Coding::Form, value)
                        .map_err(|why| format!("whole query: {name}: {why}"))?;
                }
                continue;
            }
            take(pairs, &parameter.name, parameter.layout, coding(parameter), value).map_err(|why| {
                format!("{}, {}, {}: {}: {why}", place.name(), parameter.layout, kind(value), parameter.name)
            })?;
        }
        if pairs.is_empty() { Ok(()) } else { Err(format!("{} that nobody gave: {pairs:?}", place.name())) }
    }

    fn headers(&self, request: &Recorded) -> Result<(), String> {
        let mut names: Vec<String> = Vec::new();
        for (parameter, value) in self.given(Place::Header) {
            let name = parameter.name.to_lowercase();
            names.push(name.clone());
            let sent: Vec<_> = request.headers.iter().filter(|(known, _)| *known == name).collect();
            let problem =
                |why: String| format!("header, {}, {}: {name}: {why}", parameter.layout, kind(value));
            match sent.as_slice() {
                [] if is_undefined(value) => {}
                [(_, bytes)] if is_undefined(value) && bytes.is_empty() => {}
                [(_, bytes)] => {
                    let text = String::from_utf8(bytes.clone()).map_err(|_| problem("no UTF-8".into()))?;
                    slot(&name, &text, parameter.layout, Coding::Raw, value).map_err(problem)?;
                }
                some => return Err(problem(format!("there {} times", some.len()))),
            }
        }
        let other = request
            .headers
            .iter()
            .find(|(name, _)| !names.contains(name) && !OWN_HEADERS.contains(&name.as_str()));
        other.map_or(Ok(()), |(name, _)| Err(format!("a header that nobody gave: {name}")))
    }

    fn cookies(&self, request: &Recorded) -> Result<(), String> {
        if self.given(Place::Header).any(|(parameter, _)| parameter.name.eq_ignore_ascii_case("cookie")) {
            return Ok(());
        }
        let sent = request.header("cookie").unwrap_or_default();
        self.take_all(Place::Cookie, &mut pairs(&sent.replace("; ", ";"), &[";", "&"]))
    }
}

fn coding(parameter: &Parameter<'_>) -> Coding {
    match (parameter.place, parameter.layout) {
        (Place::Header, _) | (_, Layout::Styled { style: Style::Cookie, .. }) => Coding::Raw,
        (_, Layout::Styled { reserved, .. }) => Coding::Url { reserved },
        _ => Coding::Url { reserved: false },
    }
}

fn pairs(text: &str, separators: &[&str]) -> Vec<Pair> {
    let mut parts = vec![text];
    for separator in separators {
        parts = parts.into_iter().flat_map(|part| part.split(separator)).collect();
    }
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts
        .map(|part| part.split_once('=').unwrap_or((part, "")))
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .collect()
}

fn pairs_of_template(path: &str) -> Vec<Pair> {
    path.split_once('?').map(|(_, query)| pairs(query, &["&"])).unwrap_or_default()
}
