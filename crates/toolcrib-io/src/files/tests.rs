//! Tests in real directories.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use super::{Kind, Root, WalkLimits, read_bounded, update};
use crate::Error;

/// A root with a few files, and a file beside it that nobody may reach.
struct Place {
    outer: TempDir,
    root: Root,
}

impl Place {
    fn new() -> Self {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("root");
        fs::create_dir_all(inner.join("dir/sub")).unwrap();
        fs::write(outer.path().join("secret"), "secret").unwrap();
        fs::write(inner.join("a.txt"), "0123456789").unwrap();
        fs::write(inner.join("dir/b.txt"), "bb").unwrap();
        fs::write(inner.join("dir/sub/c.txt"), "c").unwrap();
        let root = Root::open(&inner).unwrap();
        Self { outer, root }
    }

    fn inner(&self) -> std::path::PathBuf {
        self.outer.path().join("root")
    }
}

fn text(root: &Root, path: impl AsRef<Path>) -> Result<String, Error> {
    Ok(String::from_utf8(root.read(path, 0, 1000)?.bytes).unwrap())
}

/// Tries every operation on the path.
fn all_errors(root: &Root, path: &Path) -> Vec<(&'static str, Option<Error>)> {
    vec![
        ("read", root.read(path, 0, 10).err()),
        ("write", root.write(path, b"overwritten").err()),
        ("create", root.create_dir_all(path).err()),
        ("list", root.list(path).err()),
        ("walk", root.walk(path, WalkLimits::default()).err()),
        ("metadata", root.metadata(path).err()),
        ("exists", root.exists(path).err()),
    ]
}

#[test]
fn every_way_out_of_the_root_is_refused_by_every_operation() {
    let place = Place::new();
    let outer = place.outer.path();
    symlink(outer, place.inner().join("up")).unwrap();
    symlink("../secret", place.inner().join("secret")).unwrap();
    symlink("/etc", place.inner().join("dir/etc")).unwrap();
    let absolute = outer.join("secret");
    let climbing = place.inner().join("../secret");
    let beside = outer.join("root-beside");
    let paths = [
        "..",
        "../secret",
        "dir/../../secret",
        "dir/../a.txt",
        "/",
        "/etc/passwd",
        "a\0b",
        "up/secret",
        "secret",
    ];
    let ways =
        paths.iter().map(Path::new).chain([absolute.as_path(), &climbing, &beside, Path::new("dir/etc/x")]);
    for way in ways {
        for (operation, error) in all_errors(&place.root, way) {
            // A last step that is a symlink is there already, for one who wants to create it.
            if operation == "create" && matches!(way.to_str(), Some("secret")) {
                assert!(error.is_some(), "{way:?}");
                continue;
            }
            let error = error.unwrap_or_else(|| panic!("{operation} {way:?} was not refused"));
            assert!(matches!(error, Error::OutsideRoot { .. }), "{operation} {way:?}: {error:?}");
            assert!(error.to_string().contains("is outside of the root: "), "{error}");
        }
    }
    assert_eq!(fs::read_to_string(absolute).unwrap(), "secret");
}

#[test]
fn paths_below_the_root_are_taken_in_every_spelling() {
    let place = Place::new();
    let absolute = place.inner().join("dir/b.txt");
    let canonical = place.root.path().join("dir/b.txt");
    for path in
        [Path::new("dir/b.txt"), Path::new("./dir/./b.txt"), Path::new("dir//b.txt"), &absolute, &canonical]
    {
        assert_eq!(text(&place.root, path).unwrap(), "bb", "{path:?}");
    }
    for path in [Path::new("."), Path::new(""), &place.inner(), place.root.path()] {
        assert_eq!(place.root.list(path).unwrap().entries.len(), 2, "{path:?}");
    }
}

#[test]
fn a_root_behind_a_symlink_knows_both_of_its_names() {
    let place = Place::new();
    let link = place.outer.path().join("link");
    symlink(place.inner(), &link).unwrap();
    let root = Root::open(&link).unwrap();
    assert_eq!(text(&root, link.join("a.txt")).unwrap(), "0123456789");
    assert_eq!(text(&root, place.inner().canonicalize().unwrap().join("a.txt")).unwrap(), "0123456789");
}

#[test]
fn a_symlink_that_stays_inside_is_followed() {
    let place = Place::new();
    symlink("dir/b.txt", place.inner().join("link")).unwrap();
    symlink("../a.txt", place.inner().join("dir/up")).unwrap();
    assert_eq!(text(&place.root, "link").unwrap(), "bb");
    assert_eq!(text(&place.root, "dir/up").unwrap(), "0123456789");
    assert_eq!(place.root.metadata("link").unwrap().kind, Kind::File);
}

#[test]
fn a_symlink_that_is_swapped_while_it_is_opened_leads_nowhere_else() {
    const ROUNDS: usize = 5000;
    let place = Place::new();
    let (link, next) = (place.inner().join("link"), place.inner().join("next"));
    let outside = place.outer.path().join("secret");
    symlink("a.txt", &link).unwrap();
    let done = AtomicBool::new(false);
    let (mut inside, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for target in [outside.as_path(), Path::new("a.txt")] {
                    symlink(target, &next).unwrap();
                    fs::rename(&next, &link).unwrap();
                }
            }
        });
        // At least so many, and until both sides of the race were seen.
        let mut rounds = 0;
        while rounds < ROUNDS || (inside == 0 || refused == 0) && rounds < 100 * ROUNDS {
            rounds += 1;
            match text(&place.root, "link") {
                Ok(text) => {
                    assert_eq!(text, "0123456789");
                    inside += 1;
                }
                Err(_) => refused += 1,
            }
            if rounds % 10 == 0 {
                let _ = place.root.write("link", b"0123456789");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(inside > 0 && refused > 0, "{inside} {refused}");
    assert_eq!(fs::read_to_string(outside).unwrap(), "secret");
}

#[test]
fn a_root_that_is_moved_away_stays_the_same_directory() {
    let place = Place::new();
    fs::rename(place.inner(), place.outer.path().join("moved")).unwrap();
    symlink("/etc", place.inner()).unwrap();
    assert_eq!(text(&place.root, "a.txt").unwrap(), "0123456789");
}

#[test]
fn a_part_of_a_file_is_read() {
    let place = Place::new();
    for (offset, limit, expected, truncated) in [
        (0, 4, "0123", true),
        (4, 6, "456789", false),
        (4, 5, "45678", true),
        (10, 5, "", false),
        (99, 5, "", false),
    ] {
        let slice = place.root.read("a.txt", offset, limit).unwrap();
        assert_eq!(
            (slice.bytes.as_slice(), slice.truncated),
            (expected.as_bytes(), truncated),
            "{offset} {limit}"
        );
        assert_eq!((slice.offset, slice.file_bytes), (offset, 10));
    }
}

#[test]
fn a_file_is_written_anew_and_directories_are_made() {
    let place = Place::new();
    place.root.create_dir_all("new/deep").unwrap();
    place.root.create_dir_all("new/deep").unwrap();
    place.root.write("new/deep/x", b"first and long").unwrap();
    place.root.write("new/deep/x", b"second").unwrap();
    assert_eq!(fs::read_to_string(place.inner().join("new/deep/x")).unwrap(), "second");
    let error = place.root.write("missing/x", b"").unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error:?}");
    assert!(place.root.create_dir_all("a.txt/x").is_err());
}

#[test]
fn what_is_not_there_is_said_to_be_missing() {
    let place = Place::new();
    symlink("nowhere", place.inner().join("dangling")).unwrap();
    assert!(place.root.exists("dir/b.txt").unwrap());
    for path in ["nothing", "dir/nothing", "dangling"] {
        assert!(!place.root.exists(path).unwrap(), "{path}");
        assert!(matches!(place.root.read(path, 0, 1), Err(Error::NotFound { .. })), "{path}");
    }
    assert!(matches!(Root::open(place.inner().join("nothing")), Err(Error::NotFound { .. })));
    assert!(matches!(Root::open(place.inner().join("a.txt")), Err(Error::WrongKind { .. })));
}

#[test]
fn only_files_are_read_and_written_and_only_directories_listed() {
    let place = Place::new();
    let made = std::process::Command::new("mkfifo").arg(place.inner().join("fifo")).status().unwrap();
    assert!(made.success());
    for path in ["dir", ".", "fifo"] {
        let error = place.root.read(path, 0, 10).unwrap_err();
        assert!(matches!(error, Error::WrongKind { expected: "file", .. }), "{path}: {error:?}");
        assert!(place.root.write(path, b"x").is_err(), "{path}");
    }
    for path in ["a.txt", "fifo"] {
        let error = place.root.list(path).unwrap_err();
        assert!(matches!(error, Error::WrongKind { expected: "directory", .. }), "{path}: {error:?}");
    }
}

#[test]
fn a_listing_names_kinds_and_sizes_in_order() {
    let place = Place::new();
    symlink("a.txt", place.inner().join("link")).unwrap();
    let listing = place.root.list(".").unwrap();
    let entries: Vec<_> = listing.entries.iter().map(|entry| (entry.name.as_str(), entry.kind)).collect();
    assert_eq!(entries, [("a.txt", Kind::File), ("dir", Kind::Directory), ("link", Kind::Symlink)]);
    assert_eq!(listing.entries[0].bytes, 10);
    assert!(!listing.truncated);
}

#[test]
fn a_walk_reports_symlinks_and_does_not_follow_them() {
    let place = Place::new();
    symlink("..", place.inner().join("dir/loop")).unwrap();
    symlink(place.outer.path(), place.inner().join("out")).unwrap();
    let paths = |walk: &super::Walk| -> Vec<String> {
        walk.entries.iter().map(|entry| entry.path.display().to_string()).collect()
    };
    let walk = place.root.walk(".", WalkLimits::default()).unwrap();
    assert_eq!(paths(&walk), ["a.txt", "dir", "dir/b.txt", "dir/loop", "dir/sub", "dir/sub/c.txt", "out"]);
    assert!(!walk.truncated && walk.unreadable.is_empty());
    let walk = place.root.walk("dir/sub", WalkLimits::default()).unwrap();
    assert_eq!(paths(&walk), ["dir/sub/c.txt"]);
}

#[test]
fn a_walk_stops_at_its_limits_and_says_so() {
    let place = Place::new();
    let walk = |entries, depth| {
        let walk = place.root.walk(".", WalkLimits { entries, depth }).unwrap();
        (walk.entries.len(), walk.truncated)
    };
    assert_eq!(walk(100, 100), (5, false));
    assert_eq!(walk(5, 3), (5, false));
    assert_eq!(walk(4, 3), (4, true));
    assert_eq!(walk(100, 2), (4, true));
    assert_eq!(walk(100, 1), (2, true));
}

#[test]
fn a_configuration_file_is_read_up_to_its_limit() {
    let place = Place::new();
    let path = place.inner().join("a.txt");
    assert_eq!(read_bounded(&path, 10).unwrap(), b"0123456789");
    let error = read_bounded(&path, 9).unwrap_err();
    assert!(
        error.to_string().ends_with("is larger than 9 bytes, the most that is read of such a file"),
        "{error}"
    );
    assert!(matches!(read_bounded("/dev/zero", 1000), Err(Error::WrongKind { .. })));
    assert!(matches!(read_bounded(place.inner().join("none"), 9), Err(Error::NotFound { .. })));
    assert!(matches!(read_bounded(place.inner(), 9), Err(Error::WrongKind { .. })));
}

/// How long a test waits for the system to tell of a change.
const WATCH_PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

#[tokio::test]
async fn a_folder_that_is_watched_stands_for_its_source_files_and_those_of_folders_that_come_later() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("module");
    std::fs::create_dir_all(folder.join("node_modules")).unwrap();
    let mut watch = super::Watch::new([folder.clone()]).unwrap();
    let told =
        async |watch: &mut super::Watch| tokio::time::timeout(WATCH_PATIENCE, watch.changed()).await.unwrap();
    // Neither data nor what tools put there is source code.
    for other in ["data.json", "module.pyc", "node_modules/a.js"] {
        std::fs::write(folder.join(other), "not watched").unwrap();
    }
    let later = folder.join("tools/later");
    std::fs::create_dir_all(&later).unwrap();
    std::fs::write(folder.join("tool.py"), "watched").unwrap();
    assert_eq!(told(&mut watch).await, Some(vec![folder.clone()]));
    std::fs::write(later.join("tool.PY"), "watched").unwrap();
    assert_eq!(told(&mut watch).await, Some(vec![folder.clone()]));
}

#[tokio::test]
async fn a_saved_file_is_told_however_it_is_saved_and_no_other_is() {
    let folder = tempfile::tempdir().unwrap();
    let (watched, other) = (folder.path().join("tools.yaml"), folder.path().join("other.yaml"));
    std::fs::write(&watched, "one").unwrap();
    let mut watch = super::Watch::new([watched.clone()]).unwrap();
    let told =
        async |watch: &mut super::Watch| tokio::time::timeout(WATCH_PATIENCE, watch.changed()).await.unwrap();

    std::fs::write(&other, "not watched").unwrap();
    std::fs::write(&watched, "written in place").unwrap();
    assert_eq!(told(&mut watch).await, Some(vec![watched.clone()]));

    let beside = folder.path().join(".tools.yaml.new");
    std::fs::write(&beside, "moved over it").unwrap();
    std::fs::rename(&beside, &watched).unwrap();
    assert_eq!(told(&mut watch).await, Some(vec![watched.clone()]));

    let absent = super::Watch::new([folder.path().join("no/such/folder/tools.yaml")]);
    assert!(absent.is_err_and(|error| error.to_string().starts_with("cannot watch ")));
}

#[test]
fn a_guard_lets_only_what_it_admits_be_reached_and_sees_through_symlinks() {
    let place = Place::new();
    symlink("../a.txt", place.inner().join("dir/link")).unwrap();
    symlink("dir", place.inner().join("alias")).unwrap();
    symlink("../gone", place.inner().join("dir/dangling")).unwrap();
    let root = place.root.clone().with_guard(|path, purpose| match purpose {
        super::Purpose::Read => path.starts_with("dir"),
        super::Purpose::Write => path.starts_with("dir/sub"),
    });
    assert_eq!(text(&root, "dir/b.txt").unwrap(), "bb");
    assert_eq!(text(&root, place.inner().join("dir/b.txt")).unwrap(), "bb");
    assert!(root.list("dir").is_ok() && root.metadata("dir/sub").is_ok());
    root.write("dir/sub/new", b"new").unwrap();
    root.create_dir_all("dir/sub/deep/er").unwrap();
    assert!(!root.exists("dir/none").unwrap());
    for path in ["a.txt", ".", "dir/link", "alias/b.txt"] {
        for (operation, error) in all_errors(&root, Path::new(path)) {
            assert!(matches!(error, Some(Error::PathNotAllowed { .. })), "{operation} {path}: {error:?}");
        }
    }
    for error in [root.write("dir/b.txt", b"x").err(), root.create_dir_all("dir/x").err()] {
        assert!(matches!(error, Some(Error::PathNotAllowed { operation: "write", .. })), "{error:?}");
    }
    let without_sub = place.root.clone().with_guard(|path, _| !path.starts_with("dir/sub"));
    let walk = without_sub.walk(".", WalkLimits::default()).unwrap();
    assert!(walk.entries.iter().all(|entry| entry.path.parent() != Some(Path::new("dir/sub"))), "{walk:?}");
    assert_eq!(walk.unreadable, [Path::new("dir/sub")]);
    let everything = place.root.clone().with_guard(|path, _| !path.starts_with("gone"));
    assert!(everything.write("dir/dangling", b"x").is_err());
    assert!(!place.inner().join("gone").exists());
}

#[test]
fn a_root_is_made_where_there_is_none_and_its_files_are_removed() {
    let place = Place::new();
    let folder = place.inner().join("new/deeper");
    let root = Root::create(&folder).unwrap();
    Root::create(&folder).unwrap();
    root.write("a", b"x").unwrap();
    symlink(place.outer.path().join("secret"), folder.join("link")).unwrap();
    root.remove("a").unwrap();
    root.remove("link").unwrap();
    assert!(root.list(".").unwrap().entries.is_empty());
    assert!(place.outer.path().join("secret").exists());
    assert!(matches!(root.remove("a"), Err(Error::NotFound { .. })));
    assert!(matches!(root.remove("../b"), Err(Error::OutsideRoot { .. })));
    assert!(Root::create(place.inner().join("a.txt")).is_err());
}

#[test]
fn changes_of_one_file_come_one_after_the_other_and_a_failed_one_leaves_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/count");
    let count =
        |bytes: Option<&[u8]>| bytes.map_or(0, |bytes| String::from_utf8_lossy(bytes).parse().unwrap());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let add = |bytes: Option<&[u8]>| {
                        let next: u32 = count(bytes) + 1;
                        Ok::<_, Error>((Some(next.to_string().into_bytes()), next))
                    };
                    update(&file, 100, add).unwrap();
                }
            });
        }
    });
    assert_eq!(update(&file, 100, |bytes| Ok::<_, Error>((None, count(bytes)))).unwrap(), 100);
    let refused =
        update(&file, 100, |_| Err::<(Option<Vec<u8>>, ()), _>(Error::NotFound { path: "x".into() }));
    assert!(matches!(refused, Err(Error::NotFound { .. })));
    assert!(matches!(update(&file, 1, |_| Ok::<_, Error>((None, ()))), Err(Error::TooLarge { .. })));
    assert_eq!(fs::read_to_string(&file).unwrap(), "100");
}

#[test]
fn a_change_does_not_wait_for_ever_for_a_lock() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let held = fs::File::create(folder.path().join("file.lock")).unwrap();
    held.lock().unwrap();
    let error = super::locked_update::lock(&file, Duration::from_millis(20)).unwrap_err();
    assert!(error.to_string().contains("another process has held the lock for 20ms"), "{error}");
    held.unlock().unwrap();
    super::locked_update::lock(&file, Duration::ZERO).unwrap();
}

#[test]
fn a_file_that_is_no_regular_file_is_refused_and_not_waited_for() {
    let place = Place::new();
    let fifo = place.inner().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let socket = place.inner().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for path in [fifo, socket, "/dev/null".into()] {
        let error = read_bounded(&path, 9).unwrap_err();
        assert_eq!(error.to_string(), format!("`{}` is not a regular file", path.display()));
    }
}

#[test]
fn what_is_changed_in_turns_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let path = place.inner().join("new/deep/notes.json");
    let change = |_: Option<&[u8]>| Ok::<_, Error>((Some(b"notes".to_vec()), ()));
    update(&path, 100, change).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for (path, wanted) in [
        (path.clone(), 0o600),
        (place.inner().join("new/deep/notes.json.lock"), 0o600),
        (place.inner().join("new/deep"), 0o700),
        (place.inner().join("new"), 0o700),
    ] {
        assert_eq!(mode(&path), wanted, "{}", path.display());
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    super::make_private(&path).unwrap();
    assert_eq!(mode(&path), 0o600);
    super::make_private(place.inner().join("none")).unwrap();
}
