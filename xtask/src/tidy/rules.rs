//! The tables of the rules: the layers of crates, the owners of third-party crates, the length of files.
//!
//! Arrows point down: a crate may use the crates of strictly lower layers, none of its own. Where a row says
//! `only`, it may use no others of the workspace; where it says `never`, no dependency of that name,
//! third-party or not. A new crate gets a row here, and a reader learns from it where it belongs.

/// Where the workspace keeps the crates that have a layer.
pub(super) const CRATES_FOLDER: &str = "crates/";

/// The folders whose Rust files are checked.
pub(super) const SOURCE_FOLDERS: &[&str] = &["crates", "xtask", "tests", "examples"];

/// The longest that a source file may be. Well before that, look for the second concept inside.
pub(super) const MAX_LINES: usize = 500;

/// The files that may contain `unsafe` code, with the reason beside each block.
pub(super) const UNSAFE_FILES: &[&str] = &["crates/toolcrib-io/src/files/mapped.rs"];

/// The most source files at the root of a crate. More are grouped in folders.
pub(super) const MAX_ROOT_FILES: usize = 15;

/// Folders whose source files together, without tests, stay below a number of lines.
pub(super) const SMALL_FOLDERS: &[(&str, usize)] =
    &[("crates/toolcrib-port/", 880), ("crates/toolcrib-runtime/", 1_500)];

/// The crate that is for tests only: nothing that ships may use it.
pub(super) const TESTKIT: &str = "toolcrib-testkit";

/// The package of the integration tests, which may use [`TESTKIT`] in its library too.
pub(super) const TESTS_FOLDER: &str = "tests";

/// The crates that depend on all others: tests of the crates below them do not use them.
pub(super) const TOPS: &[&str] = &["toolcrib", "toolcrib-app", "toolcrib-runtime", "toolcrib-cli"];

/// A crate's row in the table.
#[derive(Clone, Copy)]
pub(super) struct CrateRule {
    pub(super) name: &'static str,
    pub(super) layer: u8,
    /// When there, the only crates of the workspace that this one may use.
    pub(super) only: Option<&'static [&'static str]>,
    /// Packages that it may not use, although their layer or owner would allow it.
    pub(super) never: &'static [&'static str],
}

impl CrateRule {
    pub(super) const fn new(name: &'static str, layer: u8) -> Self {
        Self { name, layer, only: None, never: &[] }
    }

    pub(super) const fn only(mut self, crates: &'static [&'static str]) -> Self {
        self.only = Some(crates);
        self
    }

    pub(super) const fn never(mut self, packages: &'static [&'static str]) -> Self {
        self.never = packages;
        self
    }
}

/// The layers, from the ground up.
pub(super) const CRATES: &[CrateRule] = &[
    CrateRule::new("toolcrib-model", 0).never(&["async-trait", "futures", "tokio"]),
    CrateRule::new("toolcrib-document", 1),
    CrateRule::new("toolcrib-html", 1).only(&["toolcrib-model"]).never(&["tokio"]),
    CrateRule::new("toolcrib-io", 1),
    CrateRule::new("toolcrib-policy", 1).only(&["toolcrib-model"]).never(&["async-trait", "tokio"]),
    CrateRule::new("toolcrib-schema", 1).only(&["toolcrib-model"]).never(&["tokio"]),
    CrateRule::new("toolcrib-macros", 2).only(&[]),
    CrateRule::new("toolcrib-oauth", 2).only(&[
        "toolcrib-document",
        "toolcrib-io",
        "toolcrib-model",
        "toolcrib-policy",
    ]),
    CrateRule::new("toolcrib-port", 2).only(&["toolcrib-model", "toolcrib-policy", "toolcrib-schema"]),
    CrateRule::new("toolcrib-registry", 3),
    CrateRule::new("toolcrib-sdk", 3).only(&[
        "toolcrib-document",
        "toolcrib-macros",
        "toolcrib-model",
        "toolcrib-policy",
        "toolcrib-port",
    ]),
    CrateRule::new("toolcrib-prompt", 4).never(&["tokio"]),
    CrateRule::new("toolcrib-results", 4)
        .only(&[
            "toolcrib-document",
            "toolcrib-html",
            "toolcrib-model",
            "toolcrib-policy",
            "toolcrib-port",
            "toolcrib-schema",
            "toolcrib-sdk",
        ])
        .never(&["sqlx"]),
    CrateRule::new("toolcrib-script", 4).only(&["toolcrib-io", "toolcrib-model", "toolcrib-port"]),
    CrateRule::new("toolcrib-search", 4),
    CrateRule::new("toolcrib-agent", 5).only(&[
        "toolcrib-document",
        "toolcrib-io",
        "toolcrib-model",
        "toolcrib-port",
        "toolcrib-prompt",
        "toolcrib-schema",
        "toolcrib-sdk",
    ]),
    CrateRule::new("toolcrib-exec", 5)
        .only(&[
            "toolcrib-document",
            "toolcrib-model",
            "toolcrib-policy",
            "toolcrib-port",
            "toolcrib-registry",
            "toolcrib-results",
            "toolcrib-schema",
        ])
        .never(&["sqlx"]),
    CrateRule::new("toolcrib-meta", 5).only(&[
        "toolcrib-model",
        "toolcrib-policy",
        "toolcrib-port",
        "toolcrib-prompt",
        "toolcrib-registry",
        "toolcrib-schema",
        "toolcrib-sdk",
        "toolcrib-search",
    ]),
    CrateRule::new("toolcrib-tasks", 5),
    CrateRule::new("toolcrib-datagen", 6),
    CrateRule::new("toolcrib-hooks", 6).only(&[
        "toolcrib-document",
        "toolcrib-exec",
        "toolcrib-io",
        "toolcrib-model",
        "toolcrib-policy",
        "toolcrib-port",
        "toolcrib-results",
    ]),
    CrateRule::new("toolcrib-loader-file", 6),
    CrateRule::new("toolcrib-loader-mcp", 6),
    CrateRule::new("toolcrib-loader-rest", 6),
    CrateRule::new("toolcrib-module-database", 6).only(&[
        "toolcrib-document",
        "toolcrib-io",
        "toolcrib-model",
        "toolcrib-policy",
        "toolcrib-sdk",
    ]),
    CrateRule::new("toolcrib-modules", 6).never(&["sqlx"]),
    CrateRule::new("toolcrib-app", 7),
    CrateRule::new("toolcrib-runtime", 8),
    CrateRule::new("toolcrib-server", 9),
    CrateRule::new("toolcrib", 10),
    CrateRule::new("toolcrib-cli", 10),
];

/// A third-party crate, or a feature of it, and the crates that may use it.
#[derive(Clone, Copy)]
pub(super) struct Owner {
    pub(super) package: &'static str,
    /// When there, the package is free for all, and only this feature is owned.
    pub(super) feature: Option<&'static str>,
    pub(super) crates: &'static [&'static str],
}

impl Owner {
    pub(super) const fn of(package: &'static str, crates: &'static [&'static str]) -> Self {
        Self { package, feature: None, crates }
    }

    pub(super) const fn of_feature(
        package: &'static str,
        feature: &'static str,
        crates: &'static [&'static str],
    ) -> Self {
        Self { package, feature: Some(feature), crates }
    }
}

/// The owners. Dev-dependencies, the testkit and the integration tests are free to use what they need.
pub(super) const OWNERS: &[Owner] = &[
    // Archives of releases.
    Owner::of("flate2", &["xtask"]),
    Owner::of("public-api", &["xtask"]),
    // The allocator of the program.
    Owner::of("mimalloc", &["toolcrib-cli"]),
    // Documents of simulated tools; behind a feature, since it needs many packages.
    Owner::of("tantivy", &["toolcrib-datagen"]),
    Owner::of("tar", &["xtask"]),
    Owner::of("zip", &["toolcrib-cli", "xtask"]),
    // Libraries have an error type of their own.
    Owner::of("anyhow", &["toolcrib-cli", "toolcrib-distill", "toolcrib-evaluation", "xtask"]),
    Owner::of(
        "cap-std",
        &["toolcrib-document", "toolcrib-io", "toolcrib-macros", "toolcrib-policy", "toolcrib-schema"],
    ),
    Owner::of("lettre", &["toolcrib-tasks"]),
    // Restrictions of child processes.
    Owner::of("close_fds", &["toolcrib-io"]),
    Owner::of("landlock", &["toolcrib-io"]),
    Owner::of("libc", &["toolcrib-io"]),
    Owner::of("seccompiler", &["toolcrib-io"]),
    Owner::of("fastembed", &["toolcrib-search"]),
    Owner::of("hnsw_rs", &["toolcrib-search"]),
    // Only the server listens; everything else asks through `toolcrib-io`.
    Owner::of("axum", &["toolcrib-server"]),
    Owner::of("hyper", &["toolcrib-server"]),
    Owner::of("hyper-util", &["toolcrib-server"]),
    Owner::of("maud", &["toolcrib-cli", "toolcrib-server"]),
    // Pages of the web are read by one module, which makes no tree of what somebody else has written.
    Owner::of("html2text", &["toolcrib-html"]),
    Owner::of("html5ever", &["toolcrib-html"]),
    // Programs of models, within the bounds of a value of ours.
    Owner::of("jaq-core", &["toolcrib-results"]),
    Owner::of("jaq-std", &["toolcrib-results"]),
    Owner::of("jsonschema", &["toolcrib-schema"]),
    // A provider of secrets.
    Owner::of("keyring", &["toolcrib-app"]),
    // The command line alone talks to a person.
    Owner::of("clap_complete", &["toolcrib-cli"]),
    Owner::of("clap_mangen", &["toolcrib-cli"]),
    Owner::of("reedline", &["toolcrib-cli"]),
    Owner::of("yaml-edit", &["toolcrib-cli"]),
    // Behind fastembed, whose runtime it loads; the teacher of the built-in embedder runs in it too.
    Owner::of("ort", &["toolcrib-distill", "toolcrib-search"]),
    Owner::of(
        "process-wrap",
        &["toolcrib-document", "toolcrib-io", "toolcrib-macros", "toolcrib-policy", "toolcrib-schema"],
    ),
    Owner::of("pulp", &["toolcrib-search"]),
    // Requests to models go through a client that `toolcrib-io` has built.
    Owner::of("reqwest", &["toolcrib-agent", "toolcrib-io"]),
    // Signs who we are at an authorization server, and checks what one has signed; TLS has brought it along.
    // Push messages are encrypted and signed with it too.
    Owner::of("ring", &["toolcrib-oauth", "toolcrib-tasks"]),
    // Runs models without ONNX Runtime; their texts are cut into tokens as fastembed does it.
    Owner::of("rten", &["toolcrib-search"]),
    Owner::of("tokenizers", &["toolcrib-search"]),
    // Scripts of models, in worker processes.
    Owner::of("rquickjs", &["toolcrib-script"]),
    Owner::of("rmcp", &["toolcrib-loader-mcp", "toolcrib-server"]),
    // Only its types, which rmcp's interfaces have.
    Owner::of("sse-stream", &["toolcrib-loader-mcp"]),
    // The command line waits for the keyboard, and discards what was typed before a question.
    Owner::of(
        "notify",
        &["toolcrib-document", "toolcrib-io", "toolcrib-macros", "toolcrib-policy", "toolcrib-schema"],
    ),
    Owner::of("rustix", &["toolcrib-cli", "toolcrib-io"]),
    Owner::of("saphyr-parser", &["toolcrib-document"]),
    // YAML is read by `toolcrib-document`, within bounds.
    Owner::of("serde_yaml", &[]),
    Owner::of("sqlx", &["toolcrib-datagen", "toolcrib-module-database", "toolcrib-tasks"]),
    // Tables of megabytes, which the program should hold once.
    Owner::of("tiktoken-rs", &["toolcrib-prompt"]),
    Owner::of_feature("tokio", "process", &["toolcrib-io", "xtask"]),
    // It contains `process`.
    Owner::of_feature("tokio", "full", &[]),
];
