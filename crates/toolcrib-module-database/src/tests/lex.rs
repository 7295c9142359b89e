//! The look at a statement.

use crate::config::Driver;
use crate::statement_check::{Purpose, check};

#[test]
fn the_first_word_decides_wherever_it_stands() {
    for (driver, purpose, sql, is_taken) in [
        (Driver::Sqlite, Purpose::Query, "  \n-- a\n/* b */ select 1", true),
        (Driver::Sqlite, Purpose::Query, "\u{feff}SELECT 1", true),
        (Driver::Sqlite, Purpose::Query, "(SELECT 1)", false),
        (Driver::Postgres, Purpose::Query, "((SELECT 1) UNION (SELECT 2))", true),
        (Driver::Postgres, Purpose::Query, "/* /* nested */ */ SELECT 1", true),
        (Driver::Postgres, Purpose::Query, "/* /* */ DROP TABLE t */ SELECT 1", true),
        (Driver::Sqlite, Purpose::Query, "/* /* */ DROP TABLE t", false),
        (Driver::Mysql, Purpose::Query, "# a\nSELECT 1", true),
        (Driver::Mysql, Purpose::Query, "--\tx\nSELECT 1", true),
        (Driver::Mysql, Purpose::Query, "SHOW TABLES", true),
        (Driver::Postgres, Purpose::Query, "SELECTED", false),
        (Driver::Postgres, Purpose::Query, "((", false),
        (Driver::Postgres, Purpose::Query, ";", false),
        (Driver::Postgres, Purpose::Query, "", false),
        (Driver::Postgres, Purpose::Query, "SELECT 1\0", false),
    ] {
        assert_eq!(check(driver, purpose, sql).is_ok(), is_taken, "{driver} {sql:?}");
    }
}

#[test]
fn a_text_of_several_statements_is_seen_through_strings_names_and_comments() {
    for (driver, sql, is_one) in [
        (Driver::Sqlite, "SELECT 1;", true),
        (Driver::Sqlite, "SELECT 1; ;; -- x", true),
        (Driver::Sqlite, "SELECT 1; SELECT 2", false),
        (Driver::Sqlite, "SELECT ';', \";\", `;`, [;], x';'", true),
        (Driver::Sqlite, "SELECT '\\'; SELECT 2 --'", false),
        (Driver::Sqlite, "SELECT [a'b]; SELECT 2 --'", false),
        (Driver::Sqlite, "SELECT 1 -- '\n; SELECT 2 --'", false),
        (Driver::Sqlite, "SELECT $a('); SELECT 2; --'", false),
        (Driver::Sqlite, "SELECT @a::b('); SELECT 2; --'", false),
        (Driver::Mysql, "SELECT '\\'; SELECT 2 --'", true),
        (Driver::Mysql, "SELECT 1 --2; SELECT 2", false),
        (Driver::Postgres, "SELECT $$ ; $$, $a$ ; $$ ; $a$, $1", true),
        (Driver::Postgres, "SELECT $1; SELECT 2", false),
        (Driver::Postgres, "SELECT a$b$; SELECT 2 -- $b$", false),
    ] {
        assert_eq!(check(driver, Purpose::Query, sql).is_ok(), is_one, "{driver} {sql}");
    }
}

#[test]
fn no_text_is_looked_at_beyond_its_end() {
    // Each begins something that has no end.
    for sql in [
        "SELECT '",
        "SELECT \"",
        "SELECT /*",
        "SELECT [",
        "SELECT $a$",
        "SELECT $",
        "SELECT \\",
        "SELECT '\\",
        "SELECT -",
        "SELECT é",
        "/",
        "-",
        "@",
    ] {
        for driver in [Driver::Sqlite, Driver::Postgres, Driver::Mysql] {
            for end in 0..=sql.len() {
                if let Some(part) = sql.get(..end) {
                    let _looked = check(driver, Purpose::Query, part);
                }
            }
        }
    }
}

#[test]
fn what_ends_a_statement_is_left_out() {
    assert_eq!(check(Driver::Sqlite, Purpose::Query, "SELECT 1 ; -- x").unwrap(), "SELECT 1 ");
}
