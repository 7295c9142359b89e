//! Tokens in a table that processes share.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_io::table::{MemoryTable, SharedTable as _};

use super::super::credentials_key::CredentialsKey;
use super::super::{TokenKey, TokenStore};

fn store(table: &Arc<MemoryTable>, key: Option<u8>) -> TokenStore {
    let key = key.map(|digit| TokenKey::parse(&format!("{digit:02x}").repeat(32)).unwrap());
    TokenStore::in_table(Arc::clone(table) as _, key)
}

fn owner(user: &str) -> CredentialsKey {
    CredentialsKey::new("crm", &"https://crm.example/mcp".parse().unwrap(), Some(user))
}

async fn load(store: &TokenStore, user: &str) -> Result<Option<Value>, String> {
    store.load(&owner(user)).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn processes_with_the_same_key_read_tokens_that_the_table_has_encrypted() {
    let table = Arc::new(MemoryTable::default());
    let (one, two) = (store(&table, Some(1)), store(&table, Some(1)));
    let record = json!({"access": "token-of-alice"});
    one.save(&owner("alice"), &record).await.unwrap();
    let row = table.get(owner("alice").as_str()).await.unwrap().unwrap();
    assert!(!row.to_string().contains("token-of-alice"), "{row}");
    assert_eq!(load(&two, "alice").await, Ok(Some(record)));
    assert_eq!(load(&two, "bob").await, Ok(None));
    assert!(two.forget(&owner("alice")).await.unwrap());
    assert!(!two.forget(&owner("alice")).await.unwrap());
    assert_eq!(load(&one, "alice").await, Ok(None));
}

#[tokio::test]
async fn a_row_of_another_user_another_key_and_none_are_errors() {
    let table = Arc::new(MemoryTable::default());
    let one = store(&table, Some(1));
    one.save(&owner("alice"), &json!({"access": "a"})).await.unwrap();
    let row = table.get(owner("alice").as_str()).await.unwrap().unwrap();
    table.put(owner("bob").as_str(), row).await.unwrap();
    assert!(load(&one, "bob").await.unwrap_err().contains("is that of another user or server"));
    let error = load(&store(&table, Some(2)), "alice").await.unwrap_err();
    assert!(error.contains("they are encrypted with another key"), "{error}");
    let keyless = store(&table, None);
    assert_eq!(load(&keyless, "carol").await, Ok(None), "servers without a login need no key");
    for error in [
        load(&keyless, "alice").await.unwrap_err(),
        keyless.save(&owner("alice"), &json!({})).await.unwrap_err().to_string(),
    ] {
        assert!(error.contains("set `TOOLCRIB_TOKEN_KEY` to the same key for all replicas"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_process_at_a_time_renews_a_token() {
    let table = Arc::new(MemoryTable::default());
    let (one, two) = (store(&table, Some(1)), store(&table, Some(1)));
    let held = one.lock_for_renewal(&owner("alice")).await.unwrap();
    two.lock_for_renewal(&owner("bob")).await.unwrap();
    let error = two.lock_for_renewal(&owner("alice")).await.err().unwrap().to_string();
    assert!(error.contains("another process holds its lock"), "{error}");
    drop(held);
    two.lock_for_renewal(&owner("alice")).await.unwrap();
}
