//! Files of tokens.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::oauth::{Authorization, TokenStore};

struct Kept {
    world: World,
    directory: TempDir,
}

impl Kept {
    /// A login whose tokens are in a folder.
    async fn new() -> Self {
        let kept =
            Self { world: World::start(Rules::default()).await, directory: tempfile::tempdir().unwrap() };
        kept.authorization().login(&*Browser::new()).await.unwrap();
        kept
    }

    fn auth(&self) -> ClientSettings {
        ClientSettings::new().with_store(TokenStore::folder(self.folder(), None))
    }

    fn authorization(&self) -> Authorization {
        source(&self.world, self.auth()).authorization().unwrap().unwrap()
    }

    fn folder(&self) -> PathBuf {
        self.directory.path().join("state").join("oauth")
    }

    fn file(&self) -> PathBuf {
        let files = fs::read_dir(self.folder()).unwrap().map(|file| file.unwrap().path());
        let of_tokens = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "json");
        let (mut files, others): (Vec<_>, Vec<_>) = files.partition(of_tokens);
        assert_eq!((files.len(), others.len()), (1, 2), "the key, its lock, and nothing else: {others:?}");
        files.remove(0)
    }

    /// The tokens, as earlier versions wrote them.
    fn plain(&self) -> serde_json::Value {
        json!({
            "version": 1,
            "namespace": "test",
            "resource": self.world.url(),
            "issuer": self.world.issuer(),
            "token_endpoint": format!("{}/token", self.world.issuer()),
            "client": {
                "id": "registered-client",
                "proof": "none",
                "origin": "registered",
                "redirect_uri": "http://127.0.0.1:1/callback",
            },
            "tokens": {"access": "access-token-0", "refresh": "refresh-token-0"},
        })
    }
}

#[cfg(unix)]
#[tokio::test]
async fn tokens_are_for_nobody_else_to_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let kept = Kept::new().await;
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&kept.folder()), mode(&kept.file())), (0o700, 0o600));
    let set = |path: &PathBuf, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for (path, others, right) in [(kept.file(), 0o640, 0o600), (kept.folder(), 0o750, 0o700)] {
        set(&path, others);
        let reason = reason(&kept.world, kept.auth()).await;
        let problem = format!("others can reach it (mode {others:o}); run `chmod {right:o} ");
        assert!(reason.contains(&problem), "{reason}");
        set(&path, right);
    }
    assert_eq!(kept.world.hits("initialize"), 0, "no request without the token");
}

#[tokio::test]
async fn what_is_no_file_of_tokens_is_said_and_not_repeated() {
    let kept = Kept::new().await;
    let file = kept.file();
    for text in ["{", "null", r#"{"secret": "hidden"}"#, "hidden"] {
        fs::write(&file, text).unwrap();
        let reason = reason(&kept.world, kept.auth()).await;
        assert!(reason.contains("it is not a file of tokens; `--logout` removes it"), "{reason}");
        assert!(!reason.contains("hidden"), "{reason}");
    }
    assert!(kept.authorization().logout().await.unwrap());
    assert!(reason(&kept.world, kept.auth()).await.contains("needs login"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_is_not_followed() {
    let kept = Kept::new().await;
    let (file, elsewhere) = (kept.file(), kept.directory.path().join("elsewhere"));
    fs::rename(&file, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    let reason = reason(&kept.world, kept.auth()).await;
    assert!(reason.contains("it is not a file"), "{reason}");
}

#[tokio::test]
async fn a_plain_file_of_an_earlier_version_is_used_and_encrypted() {
    let kept = Kept::new().await;
    let file = kept.file();
    fs::write(&file, kept.plain().to_string()).unwrap();
    let (loader, engine) = connect(&kept.world, kept.auth());
    assert_eq!(toolcrib_port::ToolLoader::load(&loader).await.rejected, []);
    assert!(call(&engine, "read").await.is_ok());
    engine.close().await;
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("AES-256-GCM") && !text.contains("access-token-0"), "{text}");
    assert_eq!(kept.world.hits("/token"), 1, "only the first login");
}

#[tokio::test]
async fn tokens_are_sent_to_no_other_server_namespace_issuer_or_client() {
    let kept = Kept::new().await;
    let file = kept.file();
    let record = kept.plain();
    for (pointer, other) in [
        ("/resource", json!("https://evil.example/mcp")),
        ("/namespace", json!("other")),
        ("/client/origin", json!("configured")),
        ("/version", json!(2)),
    ] {
        let mut changed = record.clone();
        *changed.pointer_mut(pointer).unwrap() = other;
        fs::write(&file, changed.to_string()).unwrap();
        assert!(reason(&kept.world, kept.auth()).await.contains("needs login"), "{pointer}");
    }
    fs::write(&file, record.to_string()).unwrap();
    let mut other = kept.auth();
    other.issuer = Some("https://a.example".into());
    assert!(reason(&kept.world, other).await.contains("needs login"));
    let other = kept.auth().with_client("another", None);
    assert!(reason(&kept.world, other).await.contains("needs login"));
}

#[test]
fn nothing_that_is_printed_has_a_secret() {
    let mut auth =
        ClientSettings::new().with_client("me", Some(toolcrib_model::Secret::new("hidden-secret")));
    auth.private_key = Some(toolcrib_model::Secret::new("hidden-key"));
    let redirect =
        Redirect::from_url(&"http://127.0.0.1/?code=hidden-code&state=hidden-state".parse().unwrap());
    let text = format!("{auth:?} {redirect:?}");
    assert!(!text.contains("hidden"), "{text}");
}
