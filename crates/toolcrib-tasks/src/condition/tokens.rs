//! The tokenizer of conditions.

/// A token, and the position of its first character.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) at: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    Word(String),
    Text(String),
    Number(f64),
    Symbol(&'static str),
}

/// A syntax error, and the position of its character.
#[derive(Debug)]
pub(super) struct SyntaxError {
    pub(super) at: usize,
    pub(super) reason: String,
}

impl SyntaxError {
    pub(super) fn new(at: usize, reason: impl Into<String>) -> Self {
        Self { at, reason: reason.into() }
    }
}

/// The symbols, longer ones before their prefixes.
const SYMBOLS: [&str; 14] = ["==", "!=", "<=", ">=", "<", ">", "$", ".", "[", "]", "(", ")", "%", "="];

pub(super) fn tokens(text: &str) -> Result<Vec<Token>, SyntaxError> {
    let characters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(character) = characters.get(at).copied() {
        let rest = characters.get(at..).unwrap_or_default();
        let (kind, length) = match character {
            ' ' | '\t' | '\n' | '\r' => {
                at += 1;
                continue;
            }
            '\'' | '"' => quoted(rest, at)?,
            '0'..='9' | '-' => number(rest, at)?,
            letter if letter.is_alphabetic() || letter == '_' => {
                let is_part = |next: &&char| next.is_alphanumeric() || matches!(**next, '_' | '-');
                let word: String = rest.iter().take_while(is_part).collect();
                let length = word.chars().count();
                (TokenKind::Word(word), length)
            }
            _ => {
                let starts = |sign: &&&str| sign.chars().eq(rest.iter().take(sign.len()).copied());
                let sign = SYMBOLS.iter().find(starts);
                let sign =
                    sign.ok_or_else(|| SyntaxError::new(at, format!("`{character}` is not valid here")))?;
                (TokenKind::Symbol(sign), sign.len())
            }
        };
        tokens.push(Token { kind, at });
        at += length;
    }
    Ok(tokens)
}

/// Parses a quoted text. A backslash escapes the next character.
fn quoted(rest: &[char], at: usize) -> Result<(TokenKind, usize), SyntaxError> {
    let mut text = String::new();
    let mut characters = rest.iter().enumerate();
    let quote = characters.next().map(|(_, quote)| *quote);
    while let Some((index, character)) = characters.next() {
        match *character {
            '\\' => match characters.next() {
                Some((_, escaped)) => text.push(*escaped),
                None => break,
            },
            end if Some(end) == quote => return Ok((TokenKind::Text(text), index + 1)),
            character => text.push(character),
        }
    }
    Err(SyntaxError::new(at, "this text has no closing quote"))
}

fn number(rest: &[char], at: usize) -> Result<(TokenKind, usize), SyntaxError> {
    let is_part = |character: &&char| matches!(**character, '0'..='9' | '-' | '+' | '.' | 'e' | 'E');
    let digits: String = rest.iter().take_while(is_part).collect();
    match digits.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok((TokenKind::Number(number), digits.len())),
        _ => Err(SyntaxError::new(at, format!("`{digits}` is not a number"))),
    }
}
