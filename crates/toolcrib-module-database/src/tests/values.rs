//! Values, there and back.

use serde_json::{Value, json};
use toolcrib_model::ErrorKind;

use super::{Place, writing};
use crate::DatabaseConfig;

/// What a table holds after a value was put into a column of a type, and how it is read.
async fn there_and_back(place: &Place, kind: &str, value: &Value) -> Value {
    place.execute("DROP TABLE IF EXISTS v", json!([])).await;
    place.execute(&format!("CREATE TABLE v (x {kind})"), json!([])).await;
    place.execute("INSERT INTO v (x) VALUES (?)", json!([value])).await;
    place.rows("SELECT x FROM v", json!([])).await[0][0].clone()
}

#[tokio::test]
async fn values_come_back_as_they_went_in() {
    let cases: &[(&str, &str, &str, Value)] = &[
        ("integer", "int", "int", json!(null)),
        ("integer", "int", "int", json!(-7)),
        ("integer", "smallint", "smallint", json!(32767)),
        ("integer", "bigint", "bigint", json!(9_007_199_254_740_992_i64)),
        ("text", "bigint", "bigint", json!("9223372036854775807")),
        ("text", "bigint", "bigint", json!("-9223372036854775808")),
        ("real", "double precision", "double", json!(0.1)),
        ("real", "double precision", "double", json!(-1.5e300)),
        ("real", "real", "float", json!(0.5)),
        ("text", "text", "text", json!("")),
        ("text", "text", "text", json!("naïve 🦀 'quoted' \"double\" \\ back\nline")),
        ("blob", "bytea", "blob", json!({"base64": "AAEC/f7/"})),
        ("blob", "bytea", "blob", json!({"base64": ""})),
        ("text", "numeric", "decimal(65,30)", json!("12345678901234567890.123456789012345678901234567890")),
        ("text", "date", "date", json!("2024-02-29")),
        ("text", "date", "date", json!("0001-01-01")),
        ("text", "time", "time", json!("23:59:59")),
        ("text", "timestamp", "datetime(6)", json!("2024-02-29 12:34:56.789012")),
        ("text", "timestamp", "datetime", json!("1969-12-31 23:59:59")),
    ];
    for place in Place::all(&writing()).await {
        for (sqlite, postgres, mysql, value) in cases {
            let kind = place.pick(sqlite, postgres, mysql);
            assert_eq!(there_and_back(&place, kind, value).await, *value, "{} {kind}", place.driver);
        }
    }
}

#[tokio::test]
async fn booleans_and_documents_come_back() {
    for place in Place::all(&writing()).await {
        let stored = there_and_back(&place, "boolean", &json!(true)).await;
        assert_eq!(stored, place.pick(json!(1), json!(true), json!(true)));
        let document = json!({"a": [1, {"b": null}], "c": "é"});
        let kind = place.pick("text", "jsonb", "json");
        let stored = there_and_back(&place, kind, &document).await;
        let read = stored.as_str().map_or(stored.clone(), |text| serde_json::from_str(text).unwrap());
        assert_eq!(read, document, "{}", place.driver);
    }
}

#[tokio::test]
async fn what_json_cannot_hold_is_a_text() {
    for place in Place::all(&DatabaseConfig::default()).await {
        let large = place.rows("SELECT 9007199254740993", json!([])).await;
        assert_eq!(large, json!([["9007199254740993"]]), "{}", place.driver);
        let decimal = place.pick("SELECT '0.10'", "SELECT 0.10", "SELECT 0.10");
        assert_eq!(place.rows(decimal, json!([])).await, json!([["0.10"]]));
    }
}

#[tokio::test]
async fn postgres_has_no_type_that_cannot_be_read_or_passed() {
    let Some(place) = Place::postgres(&writing()).await else { return };
    place.execute("CREATE TYPE mood AS ENUM ('sad', 'happy, \"very\"')", json!([])).await;
    place.execute("CREATE TYPE pair AS (a int, b text)", json!([])).await;
    place.execute("CREATE DOMAIN small AS int CHECK (value < 10)", json!([])).await;
    let uuid = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
    let cases = [
        ("int[]", json!([1, null, 3]), json!([1, null, 3])),
        ("int[][]", json!([[1, 2], [3, 4]]), json!([[1, 2], [3, 4]])),
        (
            "text[]",
            json!(["a,b", "NULL", "", "\"q\"", "back\\slash", null, "{}"]),
            json!(["a,b", "NULL", "", "\"q\"", "back\\slash", null, "{}"]),
        ),
        ("text[]", json!([]), json!([])),
        ("bytea[]", json!([{"base64": "AAE="}, null]), json!([{"base64": "AAE="}, null])),
        ("numeric[]", json!(["1.50", 2]), json!(["1.50", "2"])),
        ("bool[]", json!([true, false]), json!([true, false])),
        ("mood", json!("happy, \"very\""), json!("happy, \"very\"")),
        ("mood[]", json!(["sad"]), json!(["sad"])),
        ("pair", json!("(1,\"x y\")"), json!("(1,\"x y\")")),
        ("small", json!(7), json!(7)),
        ("uuid", json!(uuid), json!(uuid)),
        ("inet", json!("10.0.0.0/8"), json!("10.0.0.0/8")),
        ("point", json!("(1,2)"), json!("(1,2)")),
        ("int4range", json!("[1,5)"), json!("[1,5)")),
        ("interval", json!("P1Y2M3DT4H"), json!("P1Y2M3DT4H")),
        ("timestamptz", json!("2024-02-29 12:00:00+02"), json!("2024-02-29 10:00:00+00")),
        ("date", json!("infinity"), json!("infinity")),
        ("date", json!("0044-03-15 BC"), json!("0044-03-15 BC")),
        ("numeric", json!("NaN"), json!("NaN")),
        ("float8", json!("-Infinity"), json!("-Infinity")),
        ("char(5)", json!("abc"), json!("abc  ")),
        ("varbit", json!("10110"), json!("10110")),
        ("\"char\"", json!("x"), json!("x")),
        ("xml", json!("<a>b</a>"), json!("<a>b</a>")),
        ("tsvector", json!("'fat' 'rat'"), json!("'fat' 'rat'")),
        ("money", json!("12.34"), json!("$12.34")),
        (
            "json",
            json!("{\"n\": 123456789012345678901234567890}"),
            json!("{\"n\": 123456789012345678901234567890}"),
        ),
    ];
    for (kind, given, expected) in cases {
        assert_eq!(there_and_back(&place, kind, &given).await, expected, "{kind}");
    }
    let page =
        place.ok("query", json!({"sql": "SELECT 'sad'::mood AS m, ARRAY[1] AS a, '(1,x)'::pair AS p"})).await;
    insta::assert_json_snapshot!(page["columns"], @r#"
    [
      {
        "name": "m",
        "type": "mood"
      },
      {
        "name": "a",
        "type": "int4[]"
      },
      {
        "name": "p",
        "type": "pair"
      }
    ]
    "#);
}

#[tokio::test]
async fn mysql_has_no_type_that_cannot_be_read_or_passed() {
    let Some(place) = Place::mysql(&writing()).await else { return };
    let cases = [
        ("bigint unsigned", json!("18446744073709551615"), json!("18446744073709551615")),
        ("tinyint unsigned", json!(255), json!(255)),
        ("mediumint", json!(-8_388_608), json!(-8_388_608)),
        ("bit(10)", json!(513), json!(513)),
        ("year", json!(2024), json!(2024)),
        ("time(6)", json!("-838:59:58.000001"), json!("-838:59:58.000001")),
        ("timestamp NULL", json!("2024-02-29 12:00:00"), json!("2024-02-29 12:00:00")),
        ("enum('a','b')", json!("b"), json!("b")),
        ("set('a','b','c')", json!("a,c"), json!("a,c")),
        ("varbinary(10)", json!({"base64": "AAH/"}), json!({"base64": "AAH/"})),
        ("float", json!(0.1), json!(0.1)),
    ];
    for (kind, given, expected) in cases {
        assert_eq!(there_and_back(&place, kind, &given).await, expected, "{kind}");
    }
}

#[tokio::test]
async fn a_wrong_number_of_parameters_is_told() {
    for place in Place::all(&DatabaseConfig::default()).await {
        let sql = place.sql("SELECT ? , ?").replace("$1", "$1::int").replace("$2", "$2::int");
        let error = place.error("query", json!({"sql": sql, "params": [1]})).await;
        assert_eq!(error.kind, ErrorKind::InvalidArgs);
        assert_eq!(
            error.message, "the statement has 2 parameters, and `params` has 1 values",
            "{}",
            place.driver
        );
    }
}

#[tokio::test]
async fn what_is_no_base64_is_told() {
    for place in Place::all(&writing()).await {
        place
            .execute(&format!("CREATE TABLE b (x {})", place.pick("blob", "bytea", "blob")), json!([]))
            .await;
        let sql = place.sql("INSERT INTO b VALUES (?)");
        let error = place.error("execute", json!({"sql": sql, "params": [{"base64": "*"}]})).await;
        assert_eq!(error.kind, ErrorKind::InvalidArgs, "{}", place.driver);
    }
}
