//! Restrictions, as settings and rules leave them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::container::{Container, ContainerEngine, ContainerRun};
use super::{
    Backend, NetworkWord, ProcessLimit, Sandbox, SandboxAccess, SandboxNetwork, SandboxPlace,
    SandboxSettings, SignalScope, UnlimitedWord, container_syscalls, seatbelt,
};

/// Appends a text to a snapshot.
fn write_text(shown: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = shown.write_fmt(text);
}

/// Returns a sandbox that reads one folder below `root` and writes another.
fn sandbox(root: &Path) -> Sandbox {
    Sandbox {
        backend: Backend::Kernel,
        home: root.join("home"),
        read: vec![root.join("shared")],
        write: vec![root.join("work")],
        network: SandboxNetwork::Word(NetworkWord::All),
        signals: SignalScope::Inside,
        max_processes: ProcessLimit::default(),
        can_change_modes: true,
    }
}

#[test]
fn access_narrows_a_sandbox_and_never_widens_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for name in ["shared/a", "work/out", "work/data", "other"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    let narrowed = |read: &[&str], write: &[&str]| {
        let access = SandboxAccess::new(None, Some(read.to_vec()), Some(write.to_vec()));
        let sandbox = sandbox(&root).narrowed(&access, &root.join("work"));
        let shown = |paths: &[PathBuf]| -> Vec<String> {
            paths.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect()
        };
        (shown(&sandbox.read), shown(&sandbox.write))
    };
    let texts = |texts: &[&str]| -> Vec<String> { texts.iter().map(ToString::to_string).collect() };
    assert_eq!(narrowed(&["data"], &["out"]), (texts(&["work/data"]), texts(&["work/out"])));
    assert_eq!(narrowed(&["../other", "absent"], &["../other"]), (texts(&[]), texts(&[])));
    assert_eq!(narrowed(&[], &["../shared"]), (texts(&["shared"]), texts(&[])), "it is not written");
    let all = root.to_str().unwrap();
    assert_eq!(narrowed(&[], &[all]), (texts(&["shared"]), texts(&["work"])), "a rule may be wider");
    assert_eq!(narrowed(&[all], &[]), (texts(&["shared", "work"]), texts(&[])));
}

#[test]
fn ports_that_two_rules_name_are_those_of_both() {
    let root = Path::new("/");
    let ports = |ports: &[u16]| SandboxAccess::new(Some(ports.to_vec()), None, None);
    let one = sandbox(root).narrowed(&ports(&[443, 80]), root);
    assert_eq!(one.network.ports(), Some(vec![443, 80]));
    assert_eq!(one.narrowed(&ports(&[80, 22]), root).network.ports(), Some(vec![80]));
    assert_eq!(sandbox(root).narrowed(&SandboxAccess::default(), root), sandbox(root));
}

/// Returns the sandboxes of the three profiles, by their names.
fn profiles() -> [(&'static str, Sandbox); 3] {
    let base = Sandbox { read: vec!["/srv/models".into()], ..sandbox(Path::new("/app")) };
    let none = SandboxNetwork::none;
    [
        (
            "read-only",
            Sandbox {
                read: vec!["/srv/models".into(), "/app/work".into()],
                write: Vec::new(),
                network: none(),
                can_change_modes: false,
                ..base.clone()
            },
        ),
        ("offline", Sandbox { network: none(), ..base.clone() }),
        ("workspace", base),
    ]
}

/// Returns the words of a container that runs `npx` in the workspace.
fn container_words(sandbox: &Sandbox, engine: ContainerEngine, user: u32) -> String {
    let container = Container { engine, image: "docker.io/library/node:22-slim".into(), max_memory_mb: 2048 };
    let variables = [("API_KEY", "secret"), ("HOME", "/app/home"), ("LD_PRELOAD", "x.so"), ("TZ", "UTC")];
    let run = ContainerRun {
        sandbox,
        container: &container,
        name: "toolcrib-1",
        user: (user, user),
        max_user_processes: Some(30_000),
        program: Path::new("npx"),
        arguments: &["-y", "server-filesystem", "."].map(String::from),
        cwd: Some(Path::new("/app/work")),
        filter: Path::new("/app/filter.json"),
        variables: &variables.map(|(name, value)| (name.to_owned(), value.into())).into(),
    };
    let words = match run.arguments() {
        Ok(words) => words,
        // The snapshot shows it.
        Err(error) => return error.to_string(),
    };
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ").replace(" --", "\n--")
}

#[test]
fn a_container_has_the_files_and_the_network_of_its_profile_and_no_secret_in_its_command_line() {
    let mut shown = String::new();
    for (name, sandbox) in profiles() {
        let words = container_words(&sandbox, ContainerEngine::Docker, 1000);
        assert!(!words.contains("secret"), "{words}");
        write_text(&mut shown, format_args!("# {name}\ndocker {words}\n\n"));
    }
    let podman =
        Sandbox { max_processes: ProcessLimit::Word(UnlimitedWord::Unlimited), ..sandbox(Path::new("/app")) };
    let words = container_words(&podman, ContainerEngine::Podman, 1000);
    write_text(&mut shown, format_args!("# podman\npodman {words}\n"));
    insta::assert_snapshot!(shown);
    assert!(!container_words(&podman, ContainerEngine::Podman, 0).contains("keep-id"));
}

#[test]
fn the_filter_of_containers_is_json_that_allows_only_families_of_sockets_that_have_namespaces() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("filter.json");
    fs::write(&file, "outdated").unwrap();
    for name in ["one", "two"] {
        container_syscalls::write(&file, name).unwrap();
        assert!(!folder.path().join(name).exists(), "it is renamed");
    }
    let filter: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let refuses = |family: u64| {
        let rules = filter["syscalls"].as_array().unwrap().iter().filter(|rule| rule["names"][0] == "socket");
        let mut conditions = rules.map(|rule| &rule["args"][0]);
        conditions.any(|condition| match condition["op"].as_str().unwrap() {
            "SCMP_CMP_EQ" => condition["value"] == family,
            "SCMP_CMP_GT" => family > condition["value"].as_u64().unwrap(),
            other => panic!("{other}"),
        })
    };
    let allowed: Vec<u64> = (0..100).filter(|family| !refuses(*family)).collect();
    assert_eq!(allowed, [1, 2, 10, 16]);
}

#[test]
fn a_folder_that_a_mount_cannot_name_is_an_error() {
    let container = Container { engine: ContainerEngine::Docker, image: "node".into(), max_memory_mb: 2048 };
    let sandbox = Sandbox { write: vec!["/app/a,readonly=false".into()], ..sandbox(Path::new("/app")) };
    let run = ContainerRun {
        sandbox: &sandbox,
        container: &container,
        name: "toolcrib-1",
        user: (1, 1),
        max_user_processes: None,
        program: Path::new("node"),
        arguments: &[],
        cwd: None,
        filter: Path::new("/app/filter.json"),
        variables: &BTreeMap::new(),
    };
    let error = run.arguments().unwrap_err().to_string();
    assert!(error.contains("/app/a,readonly=false cannot be mounted"), "{error}");
}

#[test]
fn settings_that_do_not_fit_their_backend_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let place = SandboxPlace {
        name: "a",
        folder: folder.path(),
        workspace: folder.path(),
        protected: &[],
        access: &[],
    };
    let mut shown = String::new();
    for settings in [
        json!({"profile": "offline", "image": "node"}),
        json!({"profile": "offline", "max_memory_mb": 100}),
        json!({"profile": "offline", "backend": "docker"}),
        json!({"profile": "offline", "backend": "docker", "image": "--privileged"}),
        json!({"profile": "offline", "backend": "podman", "image": "node", "signals": "any"}),
        json!({"profile": "workspace", "backend": "podman", "image": "node", "network": [443]}),
    ] {
        let settings: SandboxSettings = serde_json::from_value(settings).unwrap();
        write_text(&mut shown, format_args!("{}\n", settings.open(&place).unwrap_err()));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn a_seatbelt_profile_names_the_files_and_the_network_of_its_profile() {
    let mut shown = String::new();
    for (name, sandbox) in profiles() {
        let profile = seatbelt::profile(&sandbox, &["/app/kit".into()]).unwrap();
        let words = seatbelt::words(&sandbox, "PROFILE".into(), Path::new("/usr/bin/env"), &["-i".into()]);
        let words: Vec<_> = words.into_iter().map(|word| word.into_string().unwrap()).collect();
        write_text(&mut shown, format_args!("# {name}\n{profile}# {}\n\n", words.join(" ")));
    }
    let ports = sandbox(Path::new("/app"))
        .narrowed(&SandboxAccess::new(Some(vec![443]), None, None), Path::new("/app"));
    let ports = Sandbox { signals: SignalScope::Any, ..ports };
    write_text(&mut shown, format_args!("# a port\n{}", seatbelt::profile(&ports, &[]).unwrap()));
    insta::assert_snapshot!(shown);
}

#[test]
fn a_path_cannot_add_rules_to_a_seatbelt_profile() {
    let sandbox = |path: &str| Sandbox { write: vec![path.into()], ..sandbox(Path::new("/app")) };
    let profile = seatbelt::profile(&sandbox("/app/\") (allow default) (\\"), &[]).unwrap();
    assert!(profile.contains(r#"(subpath "/app/\") (allow default) (\\")"#), "{profile}");
    assert!(seatbelt::profile(&sandbox("/app/a\nb"), &[]).is_err());
}
