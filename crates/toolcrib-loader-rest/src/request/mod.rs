//! The construction of a request from the arguments of a call.

mod body;
mod collision;
mod multipart;

mod style;
pub(crate) mod url_encoding;

#[cfg(test)]
mod tests;

use http::header::{ACCEPT, CONTENT_TYPE, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use toolcrib_io::http::Request;
use toolcrib_model::JsonObject;
use url::Url;

use crate::Error;
use crate::auth::{KeyLocation, Slot};
use crate::operation::{BoundParameter, Encoding, Operation, ParameterLocation, PathTemplate, Piece};
use crate::upload::Files;

use collision::FieldNames;

/// The most bytes of a URL. Many servers accept less.
const MAX_URL_BYTES: usize = 32 * 1024;

/// The parameters that have a value in a call.
type ParameterValues<'a> = [(&'a BoundParameter, &'a Value)];

/// Builds the request without the credentials. The headers of the source take precedence over those of the arguments.
pub(crate) fn prepare(
    operation: &Operation,
    arguments: &JsonObject,
    own: &HeaderMap,
    files: &mut Files<'_>,
) -> Result<Request, Error> {
    let server = operation.server.clone()?;
    let owned = &operation.credentials.owned;
    let given = parameter_values(&operation.parameters, arguments)?;
    let names = |locations: &[ParameterLocation]| {
        let of_location =
            operation.parameters.iter().filter(|bound| locations.contains(&bound.parameter.location));
        FieldNames::new(of_location.map(|bound| bound.parameter.name.as_str()))
    };
    let url = url(
        server,
        &operation.path,
        &given,
        owned,
        names(&[ParameterLocation::Query, ParameterLocation::QueryString]),
    )?;
    let mut headers = headers(&given, owned, names(&[ParameterLocation::Cookie]))?;
    headers.insert(ACCEPT, operation.accept.clone());
    let mut request = Request::new(operation.method.clone(), url);
    if let Some(body) = &operation.body
        && let Some((content_type, bytes)) = body::write(body, arguments, files)?
    {
        headers.insert(CONTENT_TYPE, content_type);
        request = request.with_body(bytes);
    }
    for (name, value) in own {
        headers.insert(name, value.clone());
    }
    Ok(request.with_headers(headers))
}

/// Returns true if preparing the call reads files.
pub(crate) fn reads_files(operation: &Operation) -> bool {
    let encoding = operation.body.as_ref().map(|body| &body.encoding);
    matches!(encoding, Some(Encoding::Multipart(_) | Encoding::Base64))
}

/// Returns the parameters that have a value in the call. Null counts as absent, since it has no text form.
fn parameter_values<'a>(
    parameters: &'a [BoundParameter],
    arguments: &'a JsonObject,
) -> Result<Vec<(&'a BoundParameter, &'a Value)>, Error> {
    let mut given = Vec::new();
    for bound in parameters {
        match arguments.get(&bound.argument).filter(|value| !value.is_null()) {
            Some(value) => given.push((bound, value)),
            None if bound.parameter.required => {
                return Err(Error::argument(&bound.argument, "is required and has no value"));
            }
            None => {}
        }
    }
    Ok(given)
}

fn url(
    mut url: Url,
    template: &PathTemplate,
    given: &ParameterValues<'_>,
    owned: &[Slot],
    mut names: FieldNames,
) -> Result<Url, Error> {
    let mut path = url.path().trim_end_matches('/').to_owned();
    for pieces in &template.segments {
        path.push('/');
        path.push_str(&segment(pieces, given)?);
    }
    let query = [url.query(), template.fixed_query.as_deref()];
    let mut query: Vec<String> = query
        .into_iter()
        .flatten()
        .flat_map(|query| query.split('&'))
        .filter(|pair| !pair.is_empty() && !is_owned(owned, KeyLocation::Query, pair))
        .map(str::to_owned)
        .collect();
    names.add(query.iter().map(|pair| name_of(pair)));
    for (bound, value) in given {
        if matches!(bound.parameter.location, ParameterLocation::Query | ParameterLocation::QueryString) {
            query.extend(pairs(bound, value, owned, KeyLocation::Query, &mut names)?);
        }
    }
    url.set_path(&path);
    url.set_query((!query.is_empty()).then(|| query.join("&")).as_deref());
    url.set_fragment(None);
    if url.as_str().len() <= MAX_URL_BYTES {
        return Ok(url);
    }
    let longest = given
        .iter()
        .filter(|(bound, _)| {
            matches!(
                bound.parameter.location,
                ParameterLocation::Path | ParameterLocation::Query | ParameterLocation::QueryString
            )
        })
        .max_by_key(|(_, value)| style::text_of(value).len());
    let problem = format!("makes the URL longer than {MAX_URL_BYTES} bytes");
    match longest {
        Some((bound, _)) => Err(Error::argument(&bound.argument, problem)),
        None => Err(Error::malformed(format!("the document {problem}"))),
    }
}

/// Returns the pairs of a parameter of the query or of a cookie. The members of an object become names, none of which
/// may be that of a credential.
fn pairs(
    bound: &BoundParameter,
    value: &Value,
    owned: &[Slot],
    location: KeyLocation,
    names: &mut FieldNames,
) -> Result<Vec<String>, Error> {
    let BoundParameter { parameter, .. } = bound;
    names
        .take(&parameter.name, value, parameter.serialization)
        .map_err(|problem| Error::argument(&bound.argument, problem))?;
    let pairs = match parameter.location {
        ParameterLocation::QueryString => style::as_query(value, parameter.serialization),
        _ => style::as_pairs(&parameter.name, value, parameter.serialization)
            .map_err(|problem| Error::argument(&bound.argument, problem))?,
    };
    match pairs.iter().find(|pair| is_owned(owned, location, pair)) {
        None => Ok(pairs),
        Some(pair) => Err(Error::argument(
            &bound.argument,
            format!("must not set `{}`, which is the slot of a credential of this source", name_of(pair)),
        )),
    }
}

/// Returns true if an encoded pair has the name of a credential's slot.
fn is_owned(owned: &[Slot], location: KeyLocation, pair: &str) -> bool {
    owned.iter().filter(|slot| slot.location == location).any(|slot| {
        let name = name_of(pair);
        slot.name.eq_ignore_ascii_case(name) || url_encoding::encode(&slot.name).eq_ignore_ascii_case(name)
    })
}

fn name_of(pair: &str) -> &str {
    pair.split_once('=').map_or(pair, |(name, _)| name)
}

fn segment(pieces: &[Piece], given: &ParameterValues<'_>) -> Result<String, Error> {
    let mut out = String::new();
    let mut last_argument = None;
    for piece in pieces {
        let name = match piece {
            Piece::Literal(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Parameter(name) => name,
        };
        let (bound, value) = given
            .iter()
            .find(|(bound, _)| {
                bound.parameter.location == ParameterLocation::Path && bound.parameter.name == *name
            })
            .ok_or_else(|| Error::argument(name, "is required and has no value"))?;
        let text = style::in_path(name, value, bound.parameter.serialization)
            .map_err(|problem| Error::argument(&bound.argument, problem))?;
        if text.is_empty() {
            return Err(Error::argument(&bound.argument, "must not be empty: it is a part of the path"));
        }
        out.push_str(&text);
        last_argument = Some(&bound.argument);
    }
    // URL parsers remove these segments, in either spelling, together with the preceding segment.
    let is_dots = matches!(out.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..");
    match last_argument {
        Some(argument) if is_dots => Err(Error::argument(
            argument,
            format!("must not make the path segment `{out}`, which would change the path"),
        )),
        _ => Ok(out),
    }
}

fn headers(given: &ParameterValues<'_>, owned: &[Slot], mut names: FieldNames) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    let mut cookies: Vec<String> = Vec::new();
    for (bound, value) in given {
        let BoundParameter { argument, parameter } = bound;
        match parameter.location {
            ParameterLocation::Header => {
                let text = style::in_header(value, parameter.serialization)
                    .map_err(|problem| Error::argument(argument, problem))?;
                let header = HeaderName::from_bytes(parameter.name.as_bytes()).map_err(|_| {
                    Error::argument(argument, "cannot be sent: the name of its header is invalid")
                })?;
                let value = HeaderValue::from_bytes(text.as_bytes()).map_err(|_| {
                    Error::argument(
                        argument,
                        "must not contain line breaks or other control characters: it is sent as a header",
                    )
                })?;
                if header == COOKIE {
                    cookies.push(text);
                } else {
                    headers.insert(header, value);
                }
            }
            ParameterLocation::Cookie => {
                cookies.extend(pairs(bound, value, owned, KeyLocation::Cookie, &mut names)?);
            }
            ParameterLocation::Path | ParameterLocation::Query | ParameterLocation::QueryString => {}
        }
    }
    if !cookies.is_empty() {
        let value = HeaderValue::from_bytes(cookies.join("; ").as_bytes())
            .map_err(|_| Error::argument("cookie", "must not contain control characters"))?;
        headers.insert(COOKIE, value);
    }
    Ok(headers)
}
