//! The values of programs, which are metered.

use std::fmt;
use std::rc::Rc;

use indexmap::IndexMap;
use jaq_core::box_iter::{BoxIter, box_once};
use jaq_core::path::Opt;
use jaq_core::val::Range;
use jaq_core::{ValR, ValX};
use serde_json::{Number, Value};

use super::meter::{self, MAX_DEPTH, ProgramLimit};

/// The size of a value in addition to its text.
pub(super) const VALUE_BYTES: usize = 32;

/// The maximum number of bytes of a value in an error.
const MAX_SHOWN_BYTES: usize = 80;

pub(super) type Error = jaq_core::Error<Val>;
pub(super) type Map = IndexMap<String, Val>;

/// A JSON value. Lists and objects store their depth.
#[derive(Clone, Debug)]
pub(super) enum Val {
    Null,
    Bool(bool),
    Int(isize),
    Float(f64),
    Text(Rc<String>),
    List(u16, Rc<Vec<Val>>),
    Object(u16, Rc<Map>),
}

impl Val {
    /// Converts JSON to a value of a program.
    pub(super) fn from_json(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Number(number) => {
                let whole = number.as_i64().and_then(|whole| isize::try_from(whole).ok());
                whole.map_or_else(|| Self::Float(number.as_f64().unwrap_or(f64::NAN)), Self::Int)
            }
            Value::String(text) => Self::Text(Rc::new(text)),
            Value::Array(items) => Self::list(items.into_iter().map(Self::from_json).collect()),
            Value::Object(map) => {
                Self::object(map.into_iter().map(|(key, value)| (key, Self::from_json(value))).collect())
            }
        }
    }

    /// Converts a value to JSON. Numbers that JSON cannot represent become null.
    pub(super) fn into_json(self) -> Value {
        meter::bytes(VALUE_BYTES);
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Int(number) => Value::from(i64::try_from(number).unwrap_or(i64::MAX)),
            Self::Float(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
            Self::Text(text) => {
                meter::bytes(text.len());
                Value::String(Rc::unwrap_or_clone(text))
            }
            Self::List(_, items) => Rc::unwrap_or_clone(items).into_iter().map(Self::into_json).collect(),
            Self::Object(_, map) => {
                let entries = Rc::unwrap_or_clone(map).into_iter();
                Value::Object(entries.map(|(key, value)| (key, value.into_json())).collect())
            }
        }
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        meter::bytes(text.len() + VALUE_BYTES);
        Self::Text(Rc::new(text))
    }

    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(above(items.iter()), Rc::new(items))
    }

    pub(super) fn object(map: Map) -> Self {
        Self::Object(above(map.values()), Rc::new(map))
    }

    fn depth(&self) -> u16 {
        match self {
            Self::List(depth, _) | Self::Object(depth, _) => *depth,
            _ => 0,
        }
    }

    /// Returns the text of a key.
    fn into_key(self) -> Result<String, Error> {
        match self {
            Self::Text(text) => {
                meter::bytes(text.len() + 2 * VALUE_BYTES);
                Ok(Rc::unwrap_or_clone(text))
            }
            other => Err(Error::typ(other, "string")),
        }
    }

    pub(super) fn to_json_text(&self) -> String {
        self.clone().into_json().to_string()
    }

    fn entries(self) -> Result<Vec<(Self, Self)>, Error> {
        let entries: Vec<_> = match self {
            Self::List(_, items) => {
                let keyed = |(at, item): (usize, &Self)| (Self::from(at), item.clone());
                items.iter().enumerate().map(keyed).collect()
            }
            Self::Object(_, map) => {
                map.iter().map(|(key, value)| (Self::text(key.as_str()), value.clone())).collect()
            }
            other => return Err(Error::typ(other, "iterable (array or object)")),
        };
        meter::bytes(entries.len() * 2 * VALUE_BYTES);
        Ok(entries)
    }

    /// Returns the start and the end of a slice of a list with a number of items.
    fn bounds(range: Range<&Self>, length: usize) -> Result<(usize, usize), Error> {
        let place = |bound: Option<&Self>, default: usize| match bound {
            None | Some(Self::Null) => Ok(default),
            Some(Self::Int(at)) => Ok(absolute(*at, length)),
            #[expect(clippy::cast_possible_truncation, reason = "it saturates")]
            Some(Self::Float(at)) => Ok(absolute(at.floor() as isize, length)),
            Some(other) => Err(Error::typ(other.clone(), "integer")),
        };
        let (start, end) = (place(range.start, 0)?, place(range.end, length)?);
        Ok((start, end.max(start)))
    }

    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Int(_) | Self::Float(_) => 2,
            Self::Text(_) => 3,
            Self::List(..) => 4,
            Self::Object(..) => 5,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "as jq does")]
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the whole part of a number, which distinguishes large numbers that are equal as floats.
    pub(super) fn whole(&self) -> isize {
        match self {
            Self::Int(number) => *number,
            #[expect(clippy::cast_possible_truncation, reason = "it saturates")]
            Self::Float(number) => *number as isize,
            _ => 0,
        }
    }
}

/// Returns the depth of a list or an object of these values.
fn above<'v>(values: impl ExactSizeIterator<Item = &'v Val>) -> u16 {
    meter::bytes((values.len() + 1) * VALUE_BYTES);
    let depth = values.map(Val::depth).max().unwrap_or_default() + 1;
    if depth > MAX_DEPTH { meter::end(ProgramLimit::Depth) } else { depth }
}

fn absolute(at: isize, length: usize) -> usize {
    let place = at.unsigned_abs();
    if at < 0 { length.saturating_sub(place) } else { place.min(length) }
}

impl jaq_core::ValT for Val {
    fn from_num(number: &str) -> ValR<Self> {
        let float = || number.parse().map(Self::Float);
        number.parse().map(Self::Int).or_else(|_| float()).map_err(|_| Error::str("no number"))
    }

    fn from_map<I: IntoIterator<Item = (Self, Self)>>(entries: I) -> ValR<Self> {
        let entries = entries.into_iter().map(|(key, value)| Ok((key.into_key()?, value)));
        entries.collect::<Result<Map, Error>>().map(Self::object)
    }

    fn key_values(self) -> BoxIter<'static, ValR<(Self, Self), Self>> {
        match self.entries() {
            Ok(entries) => Box::new(entries.into_iter().map(Ok)),
            Err(error) => box_once(Err(error)),
        }
    }

    fn values(self) -> Box<dyn Iterator<Item = ValR<Self>>> {
        match self {
            Self::List(_, items) => {
                Box::new((0..items.len()).map_while(move |at| items.get(at).cloned().map(Ok)))
            }
            Self::Object(_, map) => Box::new(
                (0..map.len()).map_while(move |at| map.get_index(at).map(|(_, value)| Ok(value.clone()))),
            ),
            other => box_once(Err(Error::typ(other, "iterable (array or object)"))),
        }
    }

    fn index(self, index: &Self) -> ValR<Self> {
        match (&self, index) {
            (Self::Null, _) => Ok(Self::Null),
            (Self::Object(_, map), Self::Text(key)) => {
                Ok(map.get(key.as_str()).cloned().unwrap_or(Self::Null))
            }
            (Self::List(_, items), Self::Int(_) | Self::Float(_)) => {
                #[expect(clippy::cast_possible_truncation, reason = "it saturates")]
                let at = index.number().unwrap_or_default().floor() as isize;
                let place =
                    if at < 0 { items.len().checked_sub(at.unsigned_abs()) } else { Some(at.unsigned_abs()) };
                Ok(place.and_then(|place| items.get(place)).cloned().unwrap_or(Self::Null))
            }
            _ => Err(Error::index(self, index.clone())),
        }
    }

    fn range(self, range: Range<&Self>) -> ValR<Self> {
        match &self {
            Self::Null => Ok(Self::Null),
            Self::List(_, items) => {
                let (start, end) = Self::bounds(range, items.len())?;
                Ok(Self::list(items.get(start..end).unwrap_or_default().to_vec()))
            }
            Self::Text(text) => {
                let length = text.chars().count();
                meter::bytes(length);
                let (start, end) = Self::bounds(range, length)?;
                Ok(Self::text(text.chars().skip(start).take(end - start).collect::<String>()))
            }
            _ => Err(Error::typ(self, "rangeable (array or string)")),
        }
    }

    fn map_values<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        opt: Opt,
        f: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        match self {
            Self::List(_, items) => {
                Rc::unwrap_or_clone(items).into_iter().flat_map(f).collect::<Result<_, _>>().map(Self::list)
            }
            Self::Object(_, map) => {
                let entries = Rc::unwrap_or_clone(map).into_iter();
                let entries =
                    entries.filter_map(|(key, value)| f(value).next().map(|value| Ok((key, value?))));
                entries.collect::<Result<Map, _>>().map(Self::object)
            }
            other => opt.fail(other, |other| Error::typ(other, "iterable (array or object)").into()),
        }
    }

    fn map_index<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        index: &Self,
        opt: Opt,
        f: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        let old = match self.clone().index(index) {
            Ok(old) => old,
            Err(error) => return opt.fail(self, |_| error.into()),
        };
        let new = f(old).next().transpose()?;
        match (self, index) {
            (value @ (Self::Null | Self::Object(..)), Self::Text(key)) => {
                let mut map = match value {
                    Self::Object(_, map) => Rc::unwrap_or_clone(map),
                    _ => Map::new(),
                };
                match new {
                    Some(new) => map.insert(key.as_ref().clone(), new),
                    None => map.shift_remove(key.as_str()),
                };
                Ok(Self::object(map))
            }
            (value @ (Self::Null | Self::List(..)), Self::Int(at)) => {
                let mut items = match value {
                    Self::List(_, items) => Rc::unwrap_or_clone(items),
                    _ => Vec::new(),
                };
                let place = if *at < 0 {
                    items.len().checked_sub(at.unsigned_abs())
                } else {
                    Some(at.unsigned_abs())
                };
                let Some(place) = place else {
                    return opt.fail(Self::list(items), |_| Error::str("index out of bounds").into());
                };
                match (new, items.get_mut(place)) {
                    (Some(new), Some(item)) => *item = new,
                    (None, Some(_)) => {
                        items.remove(place);
                    }
                    (Some(new), None) => {
                        meter::bytes(place.saturating_mul(VALUE_BYTES));
                        items.resize(place, Self::Null);
                        items.push(new);
                    }
                    (None, None) => {}
                }
                Ok(Self::list(items))
            }
            (other, index) => opt.fail(other, |other| Error::index(other, index.clone()).into()),
        }
    }

    fn map_range<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        range: Range<&Self>,
        opt: Opt,
        f: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        let Self::List(_, items) = self else {
            return opt.fail(self, |other| Error::typ(other, "array").into());
        };
        let mut items = Rc::unwrap_or_clone(items);
        let (start, end) = Self::bounds(range, items.len())?;
        let new = f(Self::list(items.get(start..end).unwrap_or_default().to_vec())).next().transpose()?;
        let new = match new {
            None => Vec::new(),
            Some(Self::List(_, new)) => Rc::unwrap_or_clone(new),
            Some(other) => return Err(Error::typ(other, "array").into()),
        };
        items.splice(start..end, new);
        Ok(Self::list(items))
    }

    fn as_bool(&self) -> bool {
        !matches!(self, Self::Null | Self::Bool(false))
    }

    fn into_string(self) -> Self {
        match self {
            Self::Text(_) => self,
            other => Self::text(other.to_json_text()),
        }
    }
}

impl jaq_std::ValT for Val {
    fn into_seq<S: FromIterator<Self>>(self) -> Result<S, Self> {
        match self {
            Self::List(_, items) => {
                meter::bytes(items.len() * VALUE_BYTES);
                Ok(items.iter().cloned().collect())
            }
            other => Err(other),
        }
    }

    fn is_int(&self) -> bool {
        matches!(self, Self::Int(_))
    }

    fn as_isize(&self) -> Option<isize> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    fn as_f64(&self) -> Option<f64> {
        self.number()
    }

    fn is_utf8_str(&self) -> bool {
        matches!(self, Self::Text(_))
    }

    fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => Some(text.as_bytes()),
            _ => None,
        }
    }

    fn as_sub_str(&self, part: &[u8]) -> Self {
        Self::text(String::from_utf8_lossy(part))
    }

    fn from_utf8_bytes(bytes: impl AsRef<[u8]> + Send + 'static) -> Self {
        Self::text(String::from_utf8_lossy(bytes.as_ref()))
    }
}

impl From<bool> for Val {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<isize> for Val {
    fn from(number: isize) -> Self {
        Self::Int(number)
    }
}

impl From<usize> for Val {
    fn from(number: usize) -> Self {
        Self::Int(isize::try_from(number).unwrap_or(isize::MAX))
    }
}

impl From<f64> for Val {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<String> for Val {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Range<Val>> for Val {
    fn from(range: Range<Val>) -> Self {
        let entry = |(key, bound): (&str, Option<Self>)| bound.map(|bound| (key.to_owned(), bound));
        Self::object([("start", range.start), ("end", range.end)].into_iter().filter_map(entry).collect())
    }
}

impl FromIterator<Val> for Val {
    fn from_iter<I: IntoIterator<Item = Val>>(items: I) -> Self {
        // Each item is metered before the next is taken: the iterator may be infinite.
        let paid = |item| {
            meter::bytes(VALUE_BYTES);
            item
        };
        Self::list(items.into_iter().map(paid).collect())
    }
}

impl fmt::Display for Val {
    /// Writes the beginning of the value, for errors.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::List(_, items) if items.len() > MAX_SHOWN_BYTES => format!("[… {} items]", items.len()),
            Self::Object(_, map) if map.len() > MAX_SHOWN_BYTES => format!("{{… {} keys}}", map.len()),
            other => other.to_json_text(),
        };
        let short = toolcrib_model::text::truncate_bytes(&text, MAX_SHOWN_BYTES);
        f.write_str(short)?;
        if short.len() < text.len() { f.write_str("…") } else { Ok(()) }
    }
}
