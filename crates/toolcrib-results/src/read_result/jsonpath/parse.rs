//! The parser of queries.

use regex::Regex;
use serde_json::Value;

use super::filter::compile_pattern;
use super::{
    Comparison, Condition, MAX_NESTING, MAX_QUERY_BYTES, Operand, Path, Query, Segment, Selector, SyntaxError,
};

/// The greatest number that all JSON parsers represent exactly, and the greatest index.
const MAX_INTEGER: i64 = (1 << 53) - 1;

/// Parses a query.
pub(super) fn parse(text: &str) -> Result<Query, SyntaxError> {
    if text.len() > MAX_QUERY_BYTES {
        let message = format!("the query is longer than {MAX_QUERY_BYTES} bytes");
        return Err(SyntaxError { at: MAX_QUERY_BYTES, message });
    }
    let mut parser = Parser { text, at: 0, nesting: 0, is_lenient: false };
    parser.blank();
    let mut segments = Vec::new();
    // `name` and `.name` for `$.name`.
    if !parser.eat("$") && !matches!(parser.peek(), Some('.' | '[')) {
        let name = parser.name()?;
        segments.push(Segment { descends: false, selectors: vec![Selector::Name(name)] });
    }
    segments.extend(parser.segments()?);
    parser.blank();
    if parser.rest().is_empty() {
        Ok(Query { segments })
    } else {
        Err(parser.error("expected `.`, `..`, `[` or the end"))
    }
}

/// Parses a standalone condition.
pub(super) fn parse_filter(text: &str) -> Result<Condition, SyntaxError> {
    if text.len() > MAX_QUERY_BYTES {
        let message = format!("the condition is longer than {MAX_QUERY_BYTES} bytes");
        return Err(SyntaxError { at: MAX_QUERY_BYTES, message });
    }
    let mut parser = Parser { text, at: 0, nesting: 0, is_lenient: true };
    parser.blank();
    parser.eat("?");
    let condition = parser.any()?;
    parser.blank();
    if parser.rest().is_empty() {
        Ok(condition)
    } else {
        Err(parser.error("expected `&&`, `||`, a comparison or the end"))
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    nesting: usize,
    /// True for a standalone condition, where names are fields of the value.
    is_lenient: bool,
}

type Parsed<T> = Result<T, SyntaxError>;

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn eat(&mut self, token: &str) -> bool {
        let is_there = self.rest().starts_with(token);
        self.at += if is_there { token.len() } else { 0 };
        is_there
    }

    fn expect(&mut self, token: &str) -> Parsed<()> {
        self.blank();
        if self.eat(token) { Ok(()) } else { Err(self.error(format!("expected `{token}`"))) }
    }

    fn blank(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn error(&self, message: impl Into<String>) -> SyntaxError {
        SyntaxError { at: self.at, message: message.into() }
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(self.error(format!("filters and parentheses nest deeper than {MAX_NESTING} levels")));
        }
        let parsed = inner(self);
        self.nesting -= 1;
        parsed
    }

    fn segments(&mut self) -> Parsed<Vec<Segment>> {
        let mut segments = Vec::new();
        loop {
            let start = self.at;
            self.blank();
            let descends = self.eat("..");
            let selectors = if self.eat("[") {
                self.selectors()?
            } else if descends || self.eat(".") {
                vec![if self.eat("*") { Selector::All } else { Selector::Name(self.name()?) }]
            } else {
                self.at = start;
                return Ok(segments);
            };
            segments.push(Segment { descends, selectors });
        }
    }

    /// Parses a name after a dot.
    fn name(&mut self) -> Parsed<String> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-') || !c.is_ascii();
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let name = rest.get(..end).unwrap_or_default();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return Err(
                self.error("expected a name; other names are written as ['my name'], positions as [0]")
            );
        }
        self.at += end;
        Ok(name.to_owned())
    }

    fn selectors(&mut self) -> Parsed<Vec<Selector>> {
        let mut selectors = Vec::new();
        loop {
            self.blank();
            selectors.push(self.selector()?);
            self.blank();
            if self.eat("]") {
                return Ok(selectors);
            }
            if !self.eat(",") {
                return Err(self.error("expected `,` or `]`"));
            }
        }
    }

    fn selector(&mut self) -> Parsed<Selector> {
        match self.peek() {
            Some('\'' | '"') => Ok(Selector::Name(self.string()?)),
            Some('*') => {
                self.next();
                Ok(Selector::All)
            }
            Some('?') => {
                self.next();
                Ok(Selector::Filter(self.nested(Self::any)?))
            }
            Some('-' | ':' | '0'..='9') => self.index_or_slice(),
            _ => Err(self
                .error("expected a name in quotes, a position, a slice such as 0:10, `*` or a filter `?`")),
        }
    }

    fn index_or_slice(&mut self) -> Parsed<Selector> {
        let start = self.integer()?;
        self.blank();
        if !self.eat(":") {
            return start.map(Selector::Index).ok_or_else(|| self.error("expected a number"));
        }
        self.blank();
        let end = self.integer()?;
        self.blank();
        let step = if self.eat(":") {
            self.blank();
            self.integer()?
        } else {
            None
        };
        Ok(Selector::Slice { start, end, step: step.unwrap_or(1) })
    }

    fn integer(&mut self) -> Parsed<Option<i64>> {
        let rest = self.rest();
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let digits = digits.get(..end).unwrap_or_default();
        if digits.is_empty() {
            return if rest.starts_with('-') { Err(self.error("expected a number")) } else { Ok(None) };
        }
        let text = rest.get(..rest.len().min(end + usize::from(rest.starts_with('-')))).unwrap_or_default();
        let is_padded = digits.len() > 1 && digits.starts_with('0') || text == "-0";
        match text.parse::<i64>() {
            Ok(number) if !is_padded && number.abs() <= MAX_INTEGER => {
                self.at += text.len();
                Ok(Some(number))
            }
            _ => Err(self.error("expected a number without leading zeros, of at most 2^53 - 1")),
        }
    }

    fn string(&mut self) -> Parsed<String> {
        let quote = self.next().unwrap_or('"');
        let mut out = String::new();
        loop {
            match self.next() {
                Some(c) if c == quote => return Ok(out),
                Some('\\') => out.push(self.escape(quote)?),
                Some(c) if c < ' ' => {
                    return Err(self.error("a control character in a text has to be escaped"));
                }
                Some(c) => out.push(c),
                None => return Err(self.error(format!("the text has no closing {quote}"))),
            }
        }
    }

    fn escape(&mut self, quote: char) -> Parsed<char> {
        Ok(match self.next() {
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some(c @ ('/' | '\\')) => c,
            Some(c) if c == quote => c,
            Some('u') => {
                let first = self.unit()?;
                let units = match first {
                    0xd800..0xdc00 if self.eat("\\u") => [first, self.unit()?].to_vec(),
                    _ => vec![first],
                };
                let mut decoded = char::decode_utf16(units);
                match (decoded.next(), decoded.next()) {
                    (Some(Ok(c)), None) => c,
                    _ => return Err(self.error("half of a surrogate pair")),
                }
            }
            _ => return Err(self.error("no such escape; write \\\\ for a backslash")),
        })
    }

    fn unit(&mut self) -> Parsed<u16> {
        let digits =
            self.rest().get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        self.at += if unit.is_some() { 4 } else { 0 };
        unit.ok_or_else(|| self.error("expected four hexadecimal digits"))
    }

    fn any(&mut self) -> Parsed<Condition> {
        self.joined("||", "or", Self::all).map(|parts| one_or(parts, Condition::Any))
    }

    fn all(&mut self) -> Parsed<Condition> {
        self.joined("&&", "and", Self::basic).map(|parts| one_or(parts, Condition::All))
    }

    fn joined(
        &mut self,
        by: &str,
        word: &str,
        part: fn(&mut Self) -> Parsed<Condition>,
    ) -> Parsed<Vec<Condition>> {
        let mut parts = Vec::new();
        loop {
            self.blank();
            parts.push(part(self)?);
            self.blank();
            if !self.eat(by) && !self.eat_word(word) {
                return Ok(parts);
            }
        }
    }

    /// Consumes a word that is an operator in a standalone condition.
    fn eat_word(&mut self, word: &str) -> bool {
        let head =
            self.rest().get(..word.len()).filter(|head| self.is_lenient && head.eq_ignore_ascii_case(word));
        let after = self.rest().get(word.len()..).unwrap_or_default();
        let is_there = head.is_some() && after.starts_with([' ', '(', '\t', '\n']);
        self.at += if is_there { word.len() } else { 0 };
        is_there
    }

    fn basic(&mut self) -> Parsed<Condition> {
        if self.eat("!") || self.eat_word("not") {
            self.blank();
            if matches!(self.peek(), Some('!')) {
                return Err(self.error("expected a test or parentheses after `!`"));
            }
            let inner = self.nested(Self::basic)?;
            return match inner {
                Condition::Compare(..) => Err(self.error("put the operand of `!` into parentheses")),
                inner => Ok(Condition::Not(Box::new(inner))),
            };
        }
        if self.eat("(") {
            let inner = self.nested(Self::any)?;
            self.expect(")")?;
            // Any condition in parentheses may follow `!`.
            return Ok(Condition::All(vec![inner]));
        }
        let side = self.side()?;
        self.blank();
        if self.is_lenient && (self.eat("=~") || self.eat("~")) {
            self.blank();
            let text = self.operand(side)?;
            return self.pattern(false).map(|pattern| Condition::Searches(text, pattern));
        }
        let Some(comparison) = self.comparison() else {
            return match side {
                Side::Path(path) => Ok(Condition::Exists(path)),
                Side::Test(test) => Ok(test),
                Side::Operand(_) => Err(self.error("expected a comparison such as `== 1`")),
            };
        };
        let left = self.operand(side)?;
        self.blank();
        let right = self.side()?;
        let right = self.operand(right)?;
        Ok(Condition::Compare(left, comparison, right))
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let table = [
            ("==", Comparison::Equal),
            ("!=", Comparison::Unequal),
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let comparison =
            table.into_iter().find(|(token, _)| self.eat(token)).map(|(_, comparison)| comparison);
        comparison.or_else(|| (self.is_lenient && self.eat("=")).then_some(Comparison::Equal))
    }

    /// Returns the operand of a comparison.
    fn operand(&self, side: Side) -> Parsed<Operand> {
        match side {
            Side::Operand(operand) => Ok(operand),
            Side::Path(path) if path.segments.iter().all(Segment::is_single) => Ok(Operand::Path(path)),
            Side::Path(_) => Err(self.error("only a path that selects one value can be compared")),
            Side::Test(_) => Err(self.error("`match` and `search` are tests and cannot be compared")),
        }
    }

    fn side(&mut self) -> Parsed<Side> {
        match self.peek() {
            Some('@' | '$') => Ok(Side::Path(self.path()?)),
            Some('\'' | '"') => Ok(Side::Operand(Operand::Literal(self.string()?.into()))),
            Some('-' | '0'..='9') => Ok(Side::Operand(Operand::Literal(self.number()?))),
            Some('.') if self.is_lenient => {
                Ok(Side::Path(Path { is_absolute: false, segments: self.segments()? }))
            }
            Some(first) if self.is_lenient && is_name_start(first) && !self.is_word() => {
                let mut segments =
                    vec![Segment { descends: false, selectors: vec![Selector::Name(self.name()?)] }];
                segments.extend(self.segments()?);
                Ok(Side::Path(Path { is_absolute: false, segments }))
            }
            Some('a'..='z') => self.word(),
            _ => {
                Err(self.error("expected `@`, `$`, a text, a number, `true`, `false`, `null` or a function"))
            }
        }
    }

    /// Returns true if a word follows that is not a name: a literal, or a function with its parentheses.
    fn is_word(&self) -> bool {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        matches!(word, "true" | "false" | "null") || after.starts_with('(')
    }

    fn path(&mut self) -> Parsed<Path> {
        let is_absolute = self.peek() == Some('$');
        if !is_absolute && self.peek() != Some('@') {
            return Err(self.error("expected a path that begins with `@` or `$`"));
        }
        self.next();
        Ok(Path { is_absolute, segments: self.segments()? })
    }

    fn number(&mut self) -> Parsed<Value> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let text = rest.get(..rest.find(|c| !is_part(c)).unwrap_or(rest.len())).unwrap_or_default();
        // Numbers have the same syntax as in JSON.
        let number = serde_json::from_str(text).map_err(|_| self.error("expected a number"))?;
        self.at += text.len();
        Ok(number)
    }

    /// Parses `true`, `false`, `null` or a function.
    fn word(&mut self) -> Parsed<Side> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        let literal = match word {
            "true" => Some(true.into()),
            "false" => Some(false.into()),
            "null" => Some(Value::Null),
            "length" | "count" | "value" | "match" | "search" => None,
            _ => return Err(self.error("the functions are length, count, value, match and search")),
        };
        self.at += end;
        if let Some(literal) = literal {
            return Ok(Side::Operand(Operand::Literal(literal)));
        }
        if !self.eat("(") {
            return Err(self.error(format!("expected `(` after `{word}`")));
        }
        self.blank();
        let function = self.nested(|parser| parser.arguments(word))?;
        self.expect(")")?;
        Ok(function)
    }

    fn pattern(&mut self, is_whole: bool) -> Parsed<Regex> {
        if !matches!(self.peek(), Some('\'' | '"')) {
            return Err(self.error("expected a pattern in quotes"));
        }
        let pattern = self.string()?;
        compile_pattern(&pattern, is_whole).map_err(|reason| self.error(reason))
    }

    fn arguments(&mut self, function: &str) -> Parsed<Side> {
        Ok(match function {
            "count" => Side::Operand(Operand::Count(self.path()?)),
            "value" => Side::Operand(Operand::Path(self.path()?)),
            "length" => {
                let side = self.side()?;
                Side::Operand(Operand::Length(Box::new(self.operand(side)?)))
            }
            _ => {
                let side = self.side()?;
                let text = self.operand(side)?;
                self.expect(",")?;
                self.blank();
                let is_whole = function == "match";
                let pattern = self.pattern(is_whole)?;
                let test = if is_whole { Condition::Matches } else { Condition::Searches };
                Side::Test(test(text, pattern))
            }
        })
    }
}

/// One side of a comparison, or a condition.
enum Side {
    Path(Path),
    Operand(Operand),
    Test(Condition),
}

fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}

fn one_or(mut parts: Vec<Condition>, many: fn(Vec<Condition>) -> Condition) -> Condition {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            many(parts)
        }
        None => many(parts),
    }
}
