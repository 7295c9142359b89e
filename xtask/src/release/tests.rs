//! Tests of the files of a release.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::archive::{Entry, tar_gz, zip};
use super::manifests::filled;
use super::target::{Target, needed_glibc};
use super::wheel::url_safe_base64;
use super::{Options, sha256, write_checksums};

fn target(triple: &str) -> Target {
    Target { triple: triple.to_owned() }
}

#[test]
fn a_release_is_only_prepared() {
    let parse =
        |words: &[&str]| Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    let error = parse(&["--target", "x"]).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("publishes nothing"), "{error}");
    assert!(parse(&["--dry-run", "--binary"]).is_err());
    assert!(parse(&["--dry-run", "--publish"]).is_err());
    assert!(parse(&["--dry-run", "--allow-dirty", "--base-url", "https://a.example/"]).is_ok());
}

#[test]
fn the_same_files_make_the_same_archive() {
    let entries =
        || [Entry::program("toolcrib", b"program".as_slice()), Entry::new("man/toolcrib.1", "page")];
    assert_eq!(tar_gz(&entries(), "t").unwrap(), tar_gz(&entries(), "t").unwrap());
    assert_eq!(zip(&entries(), "").unwrap(), zip(&entries(), "").unwrap());
    let archive = tar_gz(&entries(), "t").unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(archive.as_slice()));
    let modes: Vec<(String, u32)> = archive
        .entries()
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.path().unwrap().display().to_string(), entry.header().mode().unwrap())
        })
        .collect();
    assert_eq!(modes, [("t/toolcrib".to_owned(), 0o755), ("t/man/toolcrib.1".to_owned(), 0o644)]);
}

#[test]
fn a_program_says_which_c_library_it_needs() {
    assert_eq!(needed_glibc(b"..GLIBC_2.17\0GLIBC_2.34\0GLIBC_2.9\0"), Some(34));
    assert_eq!(needed_glibc(b"static"), None);
}

#[test]
fn each_platform_has_its_tags() {
    let gnu = target("x86_64-unknown-linux-gnu");
    assert_eq!(gnu.wheel_tag(Some(34)).unwrap(), "manylinux_2_34_x86_64");
    assert!(gnu.wheel_tag(None).is_err());
    assert_eq!(gnu.npm_platform().unwrap(), ("linux", "x64", Some("glibc")));
    assert_eq!(gnu.debian_architecture(), Some("amd64"));
    let musl = target("aarch64-unknown-linux-musl");
    assert_eq!(musl.wheel_tag(None).unwrap(), "manylinux_2_17_aarch64.musllinux_1_1_aarch64");
    assert_eq!(musl.npm_platform().unwrap(), ("linux", "arm64", None));
    let windows = target("x86_64-pc-windows-msvc");
    assert_eq!((windows.program(), windows.debian_architecture()), ("toolcrib.exe", None));
    assert_eq!(windows.wheel_tag(None).unwrap(), "win_amd64");
    assert!(target("riscv64gc-unknown-linux-gnu").npm_platform().is_err());
}

#[test]
fn the_hashes_of_a_wheel_are_written_as_pip_reads_them() {
    assert_eq!(url_safe_base64(b""), "");
    assert_eq!(url_safe_base64(&[0xfb, 0xff]), "-_8");
    assert_eq!(url_safe_base64(b"hello"), "aGVsbG8");
}

#[test]
fn a_manifest_names_only_archives_that_exist() {
    let template =
        "version @VERSION@\n@IF:a@\nurl @BASE_URL@/a @SHA256:a@\n@END@\n@IF:b@\nurl @SHA256:b@\n@END@\nend\n";
    let checksums = BTreeMap::from([("a".to_owned(), "12".to_owned())]);
    let text = filled(template, "1.0.0", "https://a.example", &checksums).unwrap();
    assert_eq!(text, "version 1.0.0\nurl https://a.example/a 12\nend\n");
    assert!(filled("sha @SHA256:b@\n", "1.0.0", "", &checksums).is_err());
}

#[test]
fn checksums_are_of_each_file_and_sorted() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("b", "two"), ("a", "one")] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    write_checksums(folder.path()).unwrap();
    let text = fs::read_to_string(folder.path().join("SHA256SUMS")).unwrap();
    assert_eq!(text, format!("{}  a\n{}  b\n", sha256(b"one"), sha256(b"two")));
}

#[test]
fn binstall_looks_for_the_archives_that_are_made() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/toolcrib-cli/Cargo.toml");
    let manifest: toml::Table = fs::read_to_string(path).unwrap().parse().unwrap();
    let settings = &manifest["package"]["metadata"]["binstall"];
    for (settings, triple) in [
        (settings, "x86_64-unknown-linux-musl"),
        (&settings["overrides"]["x86_64-pc-windows-msvc"], "x86_64-pc-windows-msvc"),
    ] {
        let url = settings["pkg-url"].as_str().unwrap();
        let url = url.replace("{ version }", "1.0.0").replace("{ target }", triple);
        assert_eq!(url.rsplit('/').next().unwrap(), target(triple).archive("1.0.0"));
    }
}
