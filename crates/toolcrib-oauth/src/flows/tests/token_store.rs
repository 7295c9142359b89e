//! Encrypted files of tokens.

use std::fs;
use std::path::PathBuf;
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::credentials_key::CredentialsKey;
use super::super::{TokenKey, TokenStore};

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("oauth")
    }

    fn store(&self, key: Option<&str>) -> TokenStore {
        TokenStore::folder(self.path(), key.map(|key| TokenKey::parse(key).unwrap()))
    }

    fn file(&self, user: &str) -> PathBuf {
        self.path().join(owner(user).as_str()).with_extension("json")
    }

    fn text(&self, user: &str) -> String {
        fs::read_to_string(self.file(user)).unwrap()
    }
}

fn owner(user: &str) -> CredentialsKey {
    CredentialsKey::new("crm", &"https://crm.example/mcp".parse().unwrap(), Some(user))
}

async fn load(store: &TokenStore, user: &str) -> Result<Option<Value>, String> {
    store.load(&owner(user)).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn no_file_contains_a_token_and_the_next_process_reads_it() {
    let folder = Folder::new();
    let record = json!({"access": "token-of-alice"});
    for key in [None, Some(KEY)] {
        folder.store(key).save(&owner("alice"), &record).await.unwrap();
        assert!(!folder.text("alice").contains("token-of-alice"));
        assert_eq!(load(&folder.store(key), "alice").await, Ok(Some(record.clone())));
        assert_eq!(load(&folder.store(key), "bob").await, Ok(None));
    }
}

#[tokio::test]
async fn the_file_of_one_user_is_not_read_in_the_place_of_another() {
    let folder = Folder::new();
    let store = folder.store(None);
    for user in ["alice", "bob"] {
        store.save(&owner(user), &json!({"access": user})).await.unwrap();
    }
    fs::copy(folder.file("alice"), folder.file("bob")).unwrap();
    let error = load(&store, "bob").await.unwrap_err();
    assert!(error.contains("the file has been changed, or is that of another user or server"), "{error}");
    assert_eq!(load(&store, "alice").await, Ok(Some(json!({"access": "alice"}))));
}

#[tokio::test]
async fn a_changed_file_is_not_read() {
    let folder = Folder::new();
    let store = folder.store(None);
    store.save(&owner("alice"), &json!({"access": "a"})).await.unwrap();
    let encrypted: Value = serde_json::from_str(&folder.text("alice")).unwrap();
    let bytes = |part: &str| encrypted[part].as_str().unwrap().to_owned();
    for (part, value) in [("nonce", bytes("text")), ("text", bytes("nonce")), ("text", "=".to_owned())] {
        let mut changed = encrypted.clone();
        changed[part] = value.into();
        fs::write(folder.file("alice"), changed.to_string()).unwrap();
        let error = load(&store, "alice").await.unwrap_err();
        assert!(error.contains("the file has been changed"), "{part}: {error}");
    }
}

#[tokio::test]
async fn another_key_and_a_missing_one_are_errors_that_say_what_to_do() {
    let folder = Folder::new();
    folder.store(Some(KEY)).save(&owner("alice"), &json!({"access": "a"})).await.unwrap();
    let error = load(&folder.store(Some(&"ff".repeat(32))), "alice").await.unwrap_err();
    assert!(
        error
            .contains("they are encrypted with another key; set `TOOLCRIB_TOKEN_KEY` to that key, or remove"),
        "{error}"
    );
    let error = load(&folder.store(None), "alice").await.unwrap_err();
    assert!(
        error.contains("they are encrypted, and the key is missing; set `TOOLCRIB_TOKEN_KEY`"),
        "{error}"
    );
    assert!(folder.store(None).forget(&owner("alice")).await.unwrap());
    assert_eq!(load(&folder.store(None), "alice").await, Ok(None));
}

#[tokio::test]
async fn the_key_in_the_folder_can_move_to_the_variable() {
    let folder = Folder::new();
    folder.store(None).save(&owner("alice"), &json!({"access": "a"})).await.unwrap();
    let file = folder.path().join("token.key");
    let key = fs::read_to_string(&file).unwrap();
    fs::remove_file(file).unwrap();
    assert_eq!(load(&folder.store(Some(&key)), "alice").await, Ok(Some(json!({"access": "a"}))));
}

#[tokio::test]
async fn a_plain_file_is_read_once_and_encrypted() {
    let folder = Folder::new();
    let (store, record) = (folder.store(None), json!({"access": "token-of-alice"}));
    store.save(&owner("bob"), &json!({})).await.unwrap();
    fs::write(folder.file("alice"), record.to_string()).unwrap();
    #[cfg(unix)]
    fs::set_permissions(folder.file("alice"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(load(&store, "alice").await, Ok(Some(record.clone())));
    assert!(!folder.text("alice").contains("token-of-alice"));
    assert_eq!(load(&store, "alice").await, Ok(Some(record)));
}

#[tokio::test]
async fn a_plain_file_is_left_to_the_process_that_renews_its_token() {
    let folder = Folder::new();
    let (store, record) = (folder.store(None), json!({"access": "old"}));
    store.save(&owner("alice"), &json!({})).await.unwrap();
    fs::write(folder.file("alice"), record.to_string()).unwrap();
    let lock = folder.store(None).lock_for_renewal(&owner("alice")).await.unwrap();
    assert_eq!(load(&store, "alice").await, Ok(Some(record.clone())));
    assert!(folder.text("alice").contains("old"));
    drop(lock);
    assert_eq!(load(&store, "alice").await, Ok(Some(record)));
    assert!(!folder.text("alice").contains("old"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_key_that_others_can_read_is_not_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let store = folder.store(None);
    store.save(&owner("alice"), &json!({})).await.unwrap();
    let file = folder.path().join("token.key");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let error = load(&store, "alice").await.unwrap_err();
    assert!(error.contains("others can reach it (mode 644); run `chmod 600 "), "{error}");
}

#[tokio::test]
async fn processes_that_begin_at_once_share_one_key() {
    let folder = Folder::new();
    thread::scope(|scope| {
        for number in 0..8 {
            let store = folder.store(None);
            scope.spawn(move || {
                let saved =
                    async { store.save(&owner(&number.to_string()), &json!({"access": number})).await };
                tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(saved).unwrap();
            });
        }
    });
    for number in 0..8 {
        assert_eq!(load(&folder.store(None), &number.to_string()).await, Ok(Some(json!({"access": number}))));
    }
}

#[test]
fn a_key_is_32_bytes_in_base64_or_hexadecimal_digits() {
    for text in [
        KEY,
        &KEY.to_uppercase(),
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\n",
        &format!("{}8", "_".repeat(42)),
    ] {
        assert!(TokenKey::parse(text).is_ok(), "{text}");
    }
    for (text, found) in [
        ("", "found another text"),
        ("a password!", "found another text"),
        ("AAEC", "found 3 bytes"),
        (&KEY[4..], "found 45 bytes"),
    ] {
        let error = TokenKey::parse(text).unwrap_err();
        assert!(
            error.starts_with("expected a key of 32 bytes, in Base64 or as hexadecimal digits"),
            "{error}"
        );
        assert!(error.contains(found) && error.ends_with("`openssl rand -base64 32` makes one"), "{error}");
    }
}
