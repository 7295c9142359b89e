//! The check that a text is one allowed statement, by its tokens.
//!
//! It does not prevent queries from writing: the database does, by a read-only transaction or connection. It refuses
//! attempts to evade that (leaving the transaction, opening another file) with messages that a model understands. It is
//! the only guard where a driver runs all statements of a text, as the driver of SQLite does. It refuses a text that it
//! cannot tokenize exactly.

use toolcrib_model::{ErrorKind, ToolError};

use super::config::Driver;
use super::errors::invalid;

/// The maximum length of a statement, in bytes.
pub(crate) const MAX_SQL_BYTES: usize = 256 << 10;

/// The purpose of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Reads.
    Query,
    /// Shows the query plan of a statement.
    Explain,
    /// Changes data or tables.
    Execute,
    /// Changes data, as one of several statements of a transaction.
    Batch,
}

/// Checks that a text is one statement that its purpose allows. Returns the statement without the final semicolon.
pub(super) fn check(driver: Driver, purpose: Purpose, sql: &str) -> Result<&str, ToolError> {
    if sql.len() > MAX_SQL_BYTES {
        return Err(invalid(format!("the statement has {} bytes, of at most {MAX_SQL_BYTES}", sql.len()))
            .with_hint("pass long values as parameters"));
    }
    if sql.contains('\0') {
        return Err(invalid("the statement has a character NUL in it").with_hint("pass it as a parameter"));
    }
    let summary = StatementSummary::of(driver, sql)?;
    let Some(word) = &summary.first else {
        return Err(invalid("there is no statement in the text"));
    };
    // The body of a routine contains statements. The servers accept no text of several statements, so they check it.
    let is_routine = driver != Driver::Sqlite && word == "CREATE";
    if summary.is_several && !is_routine {
        return Err(invalid("the text has several statements").with_hint(
            "send one statement per call, or several that belong together to `database.batch_execute`",
        ));
    }
    let allowed = allowed(driver, purpose);
    if !allowed.contains(&word.as_str()) {
        return Err(refused(driver, purpose, word, allowed));
    }
    if summary.writes_file {
        return Err(ToolError::new(
            ErrorKind::Denied,
            "`INTO OUTFILE` and `INTO DUMPFILE` write files of the server",
        )
        .with_hint("leave it out: rows come as the result"));
    }
    Ok(if is_routine { sql } else { sql.get(..summary.end).unwrap_or(sql) })
}

/// Returns true if a statement reads or changes rows, by its first word: the kinds that PostgreSQL can prepare.
pub(super) fn is_preparable(sql: &str) -> bool {
    const WORDS: &[&str] = &["SELECT", "VALUES", "TABLE", "WITH", "INSERT", "UPDATE", "DELETE", "MERGE"];
    let first = StatementSummary::of(Driver::Postgres, sql).ok().and_then(|summary| summary.first);
    first.is_some_and(|word| WORDS.contains(&word.as_str()))
}

fn allowed(driver: Driver, purpose: Purpose) -> &'static [&'static str] {
    match (purpose, driver) {
        // MySQL does not explain a change in a read-only transaction.
        (Purpose::Query, Driver::Sqlite) | (Purpose::Explain, Driver::Mysql) => &["SELECT", "WITH", "VALUES"],
        (Purpose::Query, Driver::Postgres) => &["SELECT", "WITH", "VALUES", "TABLE", "SHOW"],
        (Purpose::Query, Driver::Mysql) => &["SELECT", "WITH", "VALUES", "TABLE", "SHOW", "DESCRIBE", "DESC"],
        (Purpose::Explain, Driver::Sqlite) => {
            &["SELECT", "WITH", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE"]
        }
        (Purpose::Explain, Driver::Postgres) => {
            &["SELECT", "WITH", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE", "MERGE"]
        }
        (Purpose::Execute | Purpose::Batch, Driver::Sqlite) => &[
            "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH", "CREATE", "ALTER", "DROP", "ANALYZE", "REINDEX",
        ],
        (Purpose::Execute | Purpose::Batch, Driver::Postgres) => &[
            "INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "SELECT", "CREATE", "ALTER", "DROP", "TRUNCATE",
            "COMMENT", "GRANT", "REVOKE", "REFRESH", "ANALYZE", "REINDEX", "CALL", "DO",
        ],
        (Purpose::Execute, Driver::Mysql) => &[
            "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH", "CREATE", "ALTER", "DROP", "TRUNCATE", "RENAME",
            "ANALYZE", "OPTIMIZE", "GRANT", "REVOKE", "CALL", "DO",
        ],
        // All others implicitly commit the statements before them.
        (Purpose::Batch, Driver::Mysql) => &["INSERT", "REPLACE", "UPDATE", "DELETE", "WITH"],
    }
}

fn refused(driver: Driver, purpose: Purpose, word: &str, allowed: &[&str]) -> ToolError {
    let tool = match purpose {
        Purpose::Query => "query",
        Purpose::Explain => "explain",
        Purpose::Execute => "execute",
        Purpose::Batch => "batch_execute",
    };
    let hint = match word {
        "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" | "ABORT" => {
            "each call is a separate transaction; send statements that belong together to `database.batch_execute`".into()
        }
        "ATTACH" | "DETACH" => "open the other file with `database.connect`, under another name".into(),
        "PRAGMA" => {
            "`database.describe_table` and `database.list_tables` tell what is there; so does `SELECT * FROM pragma_table_info('t')`".into()
        }
        "EXPLAIN" => "`database.explain` takes the statement without that word".into(),
        _ if purpose == Purpose::Query && self::allowed(driver, Purpose::Execute).contains(&word) => {
            "`database.execute` is for statements that change something".into()
        }
        _ if purpose != Purpose::Query && self::allowed(driver, Purpose::Query).contains(&word) => {
            "`database.query` is for statements that read".into()
        }
        _ => format!("it takes statements that begin with {}", allowed.join(", ")),
    };
    let kind = if word.is_empty() { ErrorKind::InvalidArgs } else { ErrorKind::Denied };
    let word = if word.is_empty() { "that begins with no word" } else { word };
    ToolError::new(kind, format!("`database.{tool}` does not take a statement {word}")).with_hint(hint)
}

/// The properties of a statement that its tokens reveal.
#[derive(Debug, Default)]
struct StatementSummary {
    /// The first word in capitals; empty if the statement begins with another token.
    first: Option<String>,
    /// True if something follows the end of the first statement.
    is_several: bool,
    /// The position of the end of the statement.
    end: usize,
    writes_file: bool,
}

impl StatementSummary {
    fn of(driver: Driver, sql: &str) -> Result<Self, ToolError> {
        let mut summary = Self { end: sql.len(), ..Self::default() };
        let mut lexer = Lexer { driver, bytes: sql.as_bytes(), at: 0 };
        // The first words, to recognize a trigger, whose body contains semicolons.
        let mut words: Vec<String> = Vec::new();
        let mut is_trigger = false;
        let mut previous = [Token::Other, Token::Other];
        let mut has_ended = false;
        while let Some((token, start)) = lexer.next()? {
            if has_ended {
                summary.is_several |= token != Token::Semicolon;
                continue;
            }
            let word = if token == Token::Word { lexer.word(start) } else { String::new() };
            match token {
                Token::Semicolon if is_trigger && previous != [Token::Semicolon, Token::End] => {}
                Token::Semicolon => {
                    summary.end = start;
                    has_ended = true;
                }
                // `(SELECT …) UNION (SELECT …)`
                Token::Open if driver != Driver::Sqlite => {}
                _ if summary.first.is_none() => summary.first = Some(word.clone()),
                _ => {}
            }
            if driver == Driver::Sqlite && words.len() < 3 && token == Token::Word {
                words.push(word.clone());
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                is_trigger = matches!(
                    words.as_slice(),
                    ["CREATE", "TRIGGER", ..] | ["CREATE", "TEMP" | "TEMPORARY", "TRIGGER"]
                );
            }
            summary.writes_file |= driver == Driver::Mysql && matches!(word.as_str(), "OUTFILE" | "DUMPFILE");
            let token = if token == Token::Word && word == "END" { Token::End } else { token };
            previous = [previous[1], token];
        }
        if !has_ended && summary.first.is_none() && lexer.bytes.contains(&b'(') {
            summary.first = Some(String::new());
        }
        Ok(summary)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Word,
    /// The word `END`.
    End,
    Semicolon,
    Open,
    Other,
}

struct Lexer<'a> {
    driver: Driver,
    bytes: &'a [u8],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn word(&self, start: usize) -> String {
        String::from_utf8_lossy(self.bytes.get(start..self.at).unwrap_or_default()).to_ascii_uppercase()
    }

    /// Returns the next token and its position.
    fn next(&mut self) -> Result<Option<(Token, usize)>, ToolError> {
        loop {
            let start = self.at;
            if start >= self.bytes.len() {
                return Ok(None);
            }
            let (byte, then) = (self.peek(0), self.peek(1));
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' => self.at += 1,
                // SQLite takes the byte order mark for white space.
                0xef if self.bytes.get(start..start + 3) == Some(b"\xef\xbb\xbf") => self.at += 3,
                b'-' if then == b'-' && self.begins_comment() => self.skip_line(),
                b'#' if self.driver == Driver::Mysql => self.skip_line(),
                b'/' if then == b'*' => self.skip_comment()?,
                b'\'' | b'"' | b'`' => {
                    self.skip_quoted(byte);
                    return Ok(Some((Token::Other, start)));
                }
                b'[' if self.driver == Driver::Sqlite => {
                    let rest = self.bytes.get(start..).unwrap_or_default();
                    self.at += rest.iter().position(|byte| *byte == b']').map_or(rest.len(), |at| at + 1);
                    return Ok(Some((Token::Other, start)));
                }
                b'$' if self.driver == Driver::Postgres => {
                    self.skip_dollar();
                    return Ok(Some((Token::Other, start)));
                }
                b'$' | b'@' | b'#' | b':' if self.driver == Driver::Sqlite => {
                    self.skip_variable()?;
                    return Ok(Some((Token::Other, start)));
                }
                byte if is_word(byte) => {
                    // A name may contain a dollar sign, but not begin with one.
                    while self.at < self.bytes.len() && (is_word(self.peek(0)) || self.peek(0) == b'$') {
                        self.at += 1;
                    }
                    return Ok(Some((Token::Word, start)));
                }
                byte => {
                    self.at += 1;
                    let token = match byte {
                        b';' => Token::Semicolon,
                        b'(' => Token::Open,
                        _ => Token::Other,
                    };
                    return Ok(Some((token, start)));
                }
            }
        }
    }

    /// Returns true if `--` begins a comment. MySQL requires white space after it.
    fn begins_comment(&self) -> bool {
        self.driver != Driver::Mysql || matches!(self.peek(2), 0 | b' ' | b'\t' | b'\n' | b'\r')
    }

    fn skip_line(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
    }

    fn skip_comment(&mut self) -> Result<(), ToolError> {
        if self.driver == Driver::Mysql
            && (self.peek(2) == b'!' || self.peek(2) == b'M' && self.peek(3) == b'!')
        {
            return Err(ToolError::new(
                ErrorKind::Denied,
                "executable comments, such as `/*! … */`, are not accepted",
            )
            .with_hint("write their content outside of a comment"));
        }
        self.at += 2;
        let mut depth = 1;
        while self.at < self.bytes.len() && depth > 0 {
            match (self.peek(0), self.peek(1)) {
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                }
                // Only PostgreSQL nests comments.
                (b'/', b'*') if self.driver == Driver::Postgres => {
                    depth += 1;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.bytes.len());
        Ok(())
    }

    /// Skips a quoted text. A doubled quote does not end it, nor does a quote after a backslash in MySQL.
    fn skip_quoted(&mut self, quote: u8) {
        self.at += 1;
        while self.at < self.bytes.len() {
            let byte = self.peek(0);
            self.at += 1;
            if byte == b'\\' && self.driver == Driver::Mysql && quote != b'`' {
                self.at += 1;
            } else if byte == quote {
                if self.peek(0) != quote {
                    return;
                }
                self.at += 1;
            }
        }
        self.at = self.at.min(self.bytes.len());
    }

    /// Skips `$1`, or a text between two `$tag$`.
    fn skip_dollar(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let tag = rest.iter().skip(1).position(|byte| !is_word(*byte)).map_or(rest.len(), |at| at + 1);
        match (rest.get(tag), rest.get(1)) {
            (Some(b'$'), second) if !second.is_some_and(u8::is_ascii_digit) => {
                let quote = rest.get(..=tag).unwrap_or_default();
                let body = rest.get(tag + 1..).unwrap_or_default();
                let end = body.windows(quote.len()).position(|window| window == quote);
                self.at += end.map_or(rest.len(), |end| tag + 1 + end + quote.len());
            }
            _ => self.at += tag.max(1),
        }
    }

    /// Skips `:name`, `@name` or `$name`. A name that continues in brackets may contain any character, including a
    /// semicolon, and is refused.
    fn skip_variable(&mut self) -> Result<(), ToolError> {
        self.at += 1;
        while self.at < self.bytes.len()
            && (is_word(self.peek(0)) || self.peek(0) == b'$' || self.peek(0) == b':')
        {
            self.at += 1;
        }
        if self.peek(0) == b'(' {
            return Err(
                invalid("the name of a parameter continues in brackets").with_hint("write parameters as `?`")
            );
        }
        Ok(())
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
