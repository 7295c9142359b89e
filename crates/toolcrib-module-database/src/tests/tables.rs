//! What is told of tables, and of statements.

use serde_json::json;

use toolcrib_model::ErrorKind;

use super::{Place, writing};
use crate::config::Driver;

#[tokio::test]
async fn tables_are_listed_and_described_alike() {
    for place in Place::all(&writing()).await {
        place.execute("CREATE TABLE teams (a INTEGER, b INTEGER, PRIMARY KEY (a, b))", json!([])).await;
        place
            .execute(
                "CREATE TABLE people (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL DEFAULT 'x', team_a INTEGER, team_b INTEGER, \
                 CONSTRAINT of_team FOREIGN KEY (team_a, team_b) REFERENCES teams (a, b))",
                json!([]),
            )
            .await;
        place.execute("CREATE UNIQUE INDEX by_name ON people (name, team_a)", json!([])).await;
        place.execute("CREATE VIEW names AS SELECT name FROM people", json!([])).await;
        let listed = place.ok("list_tables", json!({})).await;
        let tables: Vec<_> = listed["tables"]
            .as_array()
            .unwrap()
            .iter()
            .map(|table| (table["name"].clone(), table["kind"].clone()))
            .collect();
        let expected = [("names", "view"), ("people", "table"), ("teams", "table")];
        assert_eq!(tables, expected.map(|(name, kind)| (json!(name), json!(kind))), "{}", place.driver);
        assert_eq!(
            place.ok("list_tables", json!({"name_contains": "EAM"})).await["tables"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
        let described = place.ok("describe_table", json!({"table": "people"})).await;
        let columns: Vec<_> = described["columns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| {
                (
                    column["name"].as_str().unwrap().to_owned(),
                    column["nullable"].as_bool().unwrap(),
                    column["primary_key"].as_bool().unwrap(),
                )
            })
            .collect();
        let expected =
            [("id", false, true), ("name", false, false), ("team_a", true, false), ("team_b", true, false)];
        assert_eq!(
            columns,
            expected.map(|(name, nullable, key)| (name.to_owned(), nullable, key)),
            "{}",
            place.driver
        );
        assert!(described["columns"][1]["default"].as_str().unwrap().starts_with("'x'"));
        let indexes = described["indexes"].as_array().unwrap();
        let by_name = indexes.iter().find(|index| index["name"] == "by_name").unwrap();
        assert_eq!(*by_name, json!({"name": "by_name", "unique": true, "columns": ["name", "team_a"]}));
        assert!(
            indexes.iter().any(|index| index["columns"] == json!(["id"]) && index["unique"] == true),
            "{indexes:?}"
        );
        let reference = json!([{"columns": ["team_a", "team_b"], "references": "teams", "referenced_columns": ["a", "b"]}]);
        assert_eq!(described["foreign_keys"], reference, "{}", place.driver);
    }
}

#[tokio::test]
async fn a_statement_is_explained_and_not_run() {
    for place in Place::all(&writing()).await {
        place.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)", json!([])).await;
        place.execute("INSERT INTO t VALUES (1)", json!([])).await;
        let plan = place
            .ok("explain", json!({"sql": place.sql("SELECT * FROM t WHERE id = ?"), "params": [1]}))
            .await;
        assert!(plan["row_count"].as_u64().unwrap() > 0, "{}", place.driver);
        if place.driver == Driver::Mysql {
            let error = place.error("explain", json!({"sql": "DELETE FROM t"})).await;
            assert_eq!(error.kind, ErrorKind::Denied);
        } else {
            place.ok("explain", json!({"sql": "DELETE FROM t"})).await;
        }
        assert_eq!(place.rows("SELECT count(*) FROM t", json!([])).await, json!([[1]]), "{}", place.driver);
    }
}

#[tokio::test]
async fn tables_of_other_schemas_are_named_with_them() {
    let Some(place) = Place::postgres(&writing()).await else { return };
    place.execute("CREATE SCHEMA other", json!([])).await;
    place.execute("CREATE TABLE other.things (id int PRIMARY KEY)", json!([])).await;
    let listed = place.ok("list_tables", json!({"schema": "other"})).await;
    assert_eq!(listed["tables"], json!([{"schema": "other", "name": "things", "kind": "table"}]));
    assert_eq!(
        place.ok("describe_table", json!({"table": "other.things"})).await["columns"][0]["name"],
        "id"
    );
    let rows = json!([{"id": 1}, {"id": 2}]);
    place.ok("upsert", json!({"table": "other.things", "rows": rows, "conflict_columns": ["id"]})).await;
    assert_eq!(place.rows("SELECT id FROM other.things ORDER BY 1", json!([])).await, json!([[1], [2]]));
}
