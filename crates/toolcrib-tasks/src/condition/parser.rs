//! The parser of conditions.

use serde_json::{Number, Value};

use super::evaluation::{Comparison, Expression, Operand, Path, PathStep, Test};
use super::tokens::{SyntaxError, Token, TokenKind, tokens};
use super::{MAX_CONDITION_CHARS, MAX_CONDITION_DEPTH};

pub(super) fn parse(text: &str) -> Result<Expression, SyntaxError> {
    let chars = text.chars().count();
    if chars > MAX_CONDITION_CHARS {
        let reason = format!("it has {chars} characters; the limit is {MAX_CONDITION_CHARS}");
        return Err(SyntaxError::new(MAX_CONDITION_CHARS, reason));
    }
    let tokens = tokens(text)?;
    let mut parser = Parser { rest: &tokens, end: chars, depth: 0 };
    let expression = parser.condition()?;
    match parser.rest.first() {
        None => Ok(expression),
        Some(token) => Err(SyntaxError::new(token.at, "expected `and`, `or` or the end")),
    }
}

/// Parses a text that consists of one path.
pub(super) fn parse_path(text: &str) -> Result<Path, SyntaxError> {
    let tokens = tokens(text)?;
    let mut parser = Parser { rest: &tokens, end: text.chars().count(), depth: 0 };
    match (parser.path()?, parser.rest.first()) {
        (Some(path), None) => Ok(path),
        (Some(_), Some(token)) => Err(SyntaxError::new(token.at, "expected `.`, `[` or the end")),
        (None, _) => Err(SyntaxError::new(0, "expected a path, which begins with `$`")),
    }
}

struct Parser<'a> {
    rest: &'a [Token],
    /// The position of the end of the text.
    end: usize,
    depth: usize,
}

impl Parser<'_> {
    fn condition(&mut self) -> Result<Expression, SyntaxError> {
        let mut all = vec![self.term()?];
        while self.word("or") {
            all.push(self.term()?);
        }
        Ok(Expression::Any(all))
    }

    fn term(&mut self) -> Result<Expression, SyntaxError> {
        let mut all = vec![self.factor()?];
        while self.word("and") {
            all.push(self.factor()?);
        }
        Ok(Expression::All(all))
    }

    fn factor(&mut self) -> Result<Expression, SyntaxError> {
        self.depth += 1;
        if self.depth > MAX_CONDITION_DEPTH {
            return Err(self.expected(&format!("no more than {MAX_CONDITION_DEPTH} levels")));
        }
        let factor = if self.word("not") {
            Expression::Not(Box::new(self.factor()?))
        } else if self.symbol("(") {
            let inner = self.condition()?;
            if !self.symbol(")") {
                return Err(self.expected("`)`"));
            }
            inner
        } else {
            let path = self.path()?.ok_or_else(|| self.expected("a path, which begins with `$`"))?;
            Expression::Test(path, self.test()?)
        };
        self.depth -= 1;
        Ok(factor)
    }

    fn test(&mut self) -> Result<Test, SyntaxError> {
        let comparisons = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("<", Comparison::Less),
            (">", Comparison::More),
        ];
        for (sign, comparison) in comparisons {
            if self.symbol(sign) {
                let at = self.at();
                let operand = self.operand()?;
                let has_order = !matches!(operand, Operand::Value(Value::Bool(_) | Value::Null));
                if !has_order && !matches!(comparison, Comparison::Equal | Comparison::NotEqual) {
                    return Err(SyntaxError::new(at, "only numbers and texts can be ordered"));
                }
                return Ok(Test::Compare(comparison, operand));
            }
        }
        if self.word("contains") {
            return Ok(Test::Contains(self.operand()?));
        }
        if self.word("exists") {
            return Ok(Test::Exists);
        }
        if !self.word("changed") {
            return Err(self.expected(
                "`==`, `!=`, `<`, `<=`, `>`, `>=`, `contains`, `exists`, `changed` or `changed by more than`",
            ));
        }
        if !self.word("by") {
            return Ok(Test::Changed);
        }
        if !(self.word("more") && self.word("than")) {
            return Err(self.expected("`by more than`"));
        }
        let at = self.at();
        match self.next() {
            Some(TokenKind::Number(number)) if number >= 0.0 => Ok(if self.symbol("%") {
                Test::ChangedByShare(number / 100.0)
            } else {
                Test::ChangedBy(number)
            }),
            _ => Err(SyntaxError::new(at, "expected a number that is not negative")),
        }
    }

    fn operand(&mut self) -> Result<Operand, SyntaxError> {
        if let Some(path) = self.path()? {
            return Ok(Operand::Path(path));
        }
        let at = self.at();
        let value = match self.next() {
            Some(TokenKind::Text(text)) => Value::String(text),
            Some(TokenKind::Number(number)) => Number::from_f64(number).map_or(Value::Null, Value::Number),
            Some(TokenKind::Word(word)) => match word.as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                "null" => Value::Null,
                _ => {
                    return Err(SyntaxError::new(
                        at,
                        format!("`{word}` is not a value; put texts in quotes"),
                    ));
                }
            },
            _ => {
                return Err(SyntaxError::new(
                    at,
                    "expected a path, a text in quotes, a number, `true`, `false` or `null`",
                ));
            }
        };
        Ok(Operand::Value(value))
    }

    /// Parses a path, if the next token starts one.
    fn path(&mut self) -> Result<Option<Path>, SyntaxError> {
        if !self.symbol("$") {
            return Ok(None);
        }
        let mut steps = Vec::new();
        loop {
            if self.symbol(".") {
                let at = self.at();
                match self.next() {
                    Some(TokenKind::Word(name)) => steps.push(PathStep::Key(name)),
                    _ => return Err(SyntaxError::new(at, "expected a name; others are written as `['…']`")),
                }
            } else if self.symbol("[") {
                let at = self.at();
                match self.next() {
                    Some(TokenKind::Text(name)) => steps.push(PathStep::Key(name)),
                    Some(TokenKind::Number(number)) => {
                        let index = format!("{number}").parse();
                        steps.push(PathStep::Index(
                            index.map_err(|_| SyntaxError::new(at, "expected a whole number from 0 on"))?,
                        ));
                    }
                    _ => return Err(SyntaxError::new(at, "expected a number, or a name in quotes")),
                }
                if !self.symbol("]") {
                    return Err(self.expected("`]`"));
                }
            } else {
                return Ok(Some(Path(steps)));
            }
        }
    }

    fn next(&mut self) -> Option<TokenKind> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first.kind.clone())
    }

    fn take(&mut self, wanted: impl Fn(&TokenKind) -> bool) -> bool {
        let is_next = self.rest.first().is_some_and(|token| wanted(&token.kind));
        if is_next {
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        is_next
    }

    fn word(&mut self, wanted: &str) -> bool {
        self.take(|kind| matches!(kind, TokenKind::Word(word) if word.eq_ignore_ascii_case(wanted)))
    }

    fn symbol(&mut self, wanted: &str) -> bool {
        self.take(|kind| matches!(kind, TokenKind::Symbol(symbol) if *symbol == wanted))
    }

    fn at(&self) -> usize {
        self.rest.first().map_or(self.end, |token| token.at)
    }

    fn expected(&self, what: &str) -> SyntaxError {
        SyntaxError::new(self.at(), format!("expected {what}"))
    }
}
