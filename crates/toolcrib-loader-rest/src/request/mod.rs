//! From the arguments of a call to the request that is sent.

mod body;
pub(crate) mod encode;
mod style;

#[cfg(test)]
mod tests;

use http::header::{ACCEPT, CONTENT_TYPE, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use toolcrib_io::http::Request;
use toolcrib_model::JsonObject;
use url::Url;

use crate::Error;
use crate::operation::{BoundParameter, Operation, PathTemplate, Piece, Place};

/// Builds the request. The headers of the source go before those of the arguments.
pub(crate) fn prepare(
    operation: &Operation,
    arguments: &JsonObject,
    own: &HeaderMap,
) -> Result<Request, Error> {
    let server = operation.server.clone()?;
    let given = given(&operation.parameters, arguments)?;
    let url = url(server, &operation.path, &given)?;
    let mut headers = headers(&given)?;
    headers.insert(ACCEPT, operation.accept.clone());
    let mut request = Request::new(operation.method.clone(), url);
    if let Some(body) = &operation.body
        && let Some((content_type, bytes)) = body::write(body, arguments)?
    {
        headers.insert(CONTENT_TYPE, content_type);
        request = request.with_body(bytes);
    }
    headers.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
    Ok(request.with_headers(headers))
}

/// The parameters that the call has a value for. Null is as good as absent: there is no text for it.
fn given<'a>(
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

fn url(mut url: Url, template: &PathTemplate, given: &[(&BoundParameter, &Value)]) -> Result<Url, Error> {
    let mut path = url.path().trim_end_matches('/').to_owned();
    for pieces in &template.segments {
        path.push('/');
        path.push_str(&segment(pieces, given)?);
    }
    let mut query: Vec<String> = [url.query(), template.fixed_query.as_deref()]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    for (BoundParameter { parameter, .. }, value) in given {
        if parameter.place == Place::Query {
            query.extend(style::as_pairs(&parameter.name, value, parameter.writing));
        }
    }
    url.set_path(&path);
    url.set_query((!query.is_empty()).then(|| query.join("&")).as_deref());
    url.set_fragment(None);
    Ok(url)
}

fn segment(pieces: &[Piece], given: &[(&BoundParameter, &Value)]) -> Result<String, Error> {
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
            .find(|(bound, _)| bound.parameter.place == Place::Path && bound.parameter.name == *name)
            .ok_or_else(|| Error::argument(name, "is required and has no value"))?;
        let text = style::in_path(name, value, bound.parameter.writing);
        if text.is_empty() {
            return Err(Error::argument(&bound.argument, "must not be empty: it is a part of the path"));
        }
        out.push_str(&text);
        last_argument = Some(&bound.argument);
    }
    // URL parsers take these segments away, in either spelling, and with them what stands before.
    let is_dots = matches!(out.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..");
    match last_argument {
        Some(argument) if is_dots => Err(Error::argument(
            argument,
            format!("must not make the path segment `{out}`, which leads elsewhere"),
        )),
        _ => Ok(out),
    }
}

fn headers(given: &[(&BoundParameter, &Value)]) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    let mut cookies: Vec<String> = Vec::new();
    for (BoundParameter { argument, parameter }, value) in given {
        match parameter.place {
            Place::Header => {
                let text = style::in_header(value, parameter.writing);
                let header = HeaderName::from_bytes(parameter.name.as_bytes())
                    .map_err(|_| Error::argument(argument, "has no valid header to go into"))?;
                let value = HeaderValue::from_bytes(text.as_bytes()).map_err(|_| {
                    Error::argument(
                        argument,
                        "must not hold line breaks or other control characters: it is sent as a header",
                    )
                })?;
                if header == COOKIE {
                    cookies.push(text);
                } else {
                    headers.insert(header, value);
                }
            }
            Place::Cookie => cookies.extend(style::as_pairs(&parameter.name, value, parameter.writing)),
            Place::Path | Place::Query => {}
        }
    }
    if !cookies.is_empty() {
        let value = HeaderValue::from_bytes(cookies.join("; ").as_bytes())
            .map_err(|_| Error::argument("cookie", "must not hold control characters"))?;
        headers.insert(COOKIE, value);
    }
    Ok(headers)
}
