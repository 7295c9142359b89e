//! What may be reached.

use serde_json::{Value, from_value, json};
use toolcrib_model::{QualifiedName, Tool};

use super::{Access, AccessRules, Mode};
use crate::SettingLocation;

fn access(rules: Value) -> Access {
    let rules: AccessRules = from_value(rules).unwrap();
    Access::at(&SettingLocation::default().key("access"), &rules).unwrap()
}

#[test]
fn only_the_hosts_that_are_named_are_reached() {
    let access = access(json!({"network": [
        "api.example.com", "*.example.org:443", "bücher.example", "127.0.0.1:8080", "[::1]", "Upper.Example."
    ]}));
    for (host, port, allowed) in [
        ("api.example.com", 443, true),
        ("API.Example.COM", 80, true),
        ("api.example.com.", 443, true),
        ("api.example.com..", 443, false),
        ("evil-api.example.com", 443, false),
        ("x.api.example.com", 443, false),
        ("api.example.com.evil.net", 443, false),
        ("api.example.com@evil.net", 443, false),
        ("api.example.com/", 443, false),
        ("example.com", 443, false),
        ("a.example.org", 443, true),
        ("a.b.example.org", 443, true),
        ("a.example.org", 80, false),
        ("example.org", 443, false),
        (".example.org", 443, false),
        ("notexample.org", 443, false),
        ("bücher.example", 443, true),
        ("BÜCHER.example", 443, true),
        ("xn--bcher-kva.example", 443, true),
        ("bucher.example", 443, false),
        ("ａpi.example.com", 443, true),
        ("аpi.example.com", 443, false),
        ("127.0.0.1", 8080, true),
        ("127.1", 8080, true),
        ("0x7f.0.0.1", 8080, true),
        ("[::ffff:127.0.0.1]", 8080, true),
        ("127.0.0.1", 80, false),
        ("127.0.0.2", 8080, false),
        ("::1", 9, true),
        ("[0:0:0:0:0:0:0:1]", 9, true),
        ("[::2]", 9, false),
        ("upper.example", 1, true),
        ("", 443, false),
        ("*", 443, false),
    ] {
        assert_eq!(access.allows_host(host, port), allowed, "{host}:{port}");
    }
}

#[test]
fn only_the_paths_that_are_named_are_read_or_written() {
    let access = access(json!({"filesystem": [
        {"path": "data", "mode": "read"},
        {"path": "./out/*.csv", "mode": "write"},
        {"path": "logs/**/today"},
        {"path": "/srv/shared/", "mode": "write"},
    ]}));
    for (path, read, write) in [
        ("data", true, false),
        ("data/", true, false),
        ("./data//a/b.txt", true, false),
        ("database", false, false),
        ("data.txt", false, false),
        ("Data/a", false, false),
        ("/data/a", false, false),
        ("data/../secret", false, false),
        ("data/..", false, false),
        ("data/a\0", false, false),
        ("out/a.csv", true, true),
        ("out/a.txt", false, false),
        ("out/deep/a.csv", false, false),
        ("out", false, false),
        ("logs/a/b/today", true, false),
        ("logs/today", true, false),
        ("/srv/shared/x", true, true),
        ("/srv/shared-not/x", false, false),
        ("srv/shared/x", false, false),
        ("", false, false),
    ] {
        assert_eq!(access.allows_path(path, Mode::Read), read, "read {path}");
        assert_eq!(access.allows_path(path, Mode::Write), write, "write {path}");
    }
}

#[test]
fn a_rule_may_name_a_file_of_the_workspace_by_its_full_path() {
    let access = access(json!({"filesystem": [{"path": "/srv/data"}, {"path": "out", "mode": "write"}]}));
    let allows = |path: &str, mode| access.allows_path_below("/srv", path, mode);
    assert!(allows("data/a.txt", Mode::Read) && allows("out/a.txt", Mode::Write));
    assert!(!allows("data/a.txt", Mode::Write) && !allows("secret", Mode::Read));
    assert!(!allows(".", Mode::Read) && !allows("data/../secret", Mode::Read));
    assert!(!access.allows_path_below("/other", "data/a.txt", Mode::Read));
}

#[test]
fn only_the_programs_that_are_named_are_started() {
    let access = access(json!({"system": ["git", "/usr/bin/python3"]}));
    for (program, allowed) in [
        ("git", true),
        ("/usr/bin/python3", true),
        ("python3", false),
        ("./git", false),
        ("/tmp/git", false),
        ("git ", false),
        ("Git", false),
        ("", false),
    ] {
        assert_eq!(access.allows_program(program), allowed, "{program:?}");
    }
}

#[test]
fn what_is_absent_limits_nothing_and_what_is_empty_lets_nothing_through() {
    let reach = |access: &Access| {
        (access.allows_host("a.example", 1), access.allows_path("a", Mode::Write), access.allows_program("a"))
    };
    assert_eq!(reach(&Access::unlimited()), (true, true, true));
    assert_eq!(reach(&access(json!({}))), (true, true, true));
    assert_eq!(reach(&access(json!({"network": [], "filesystem": [], "system": []}))), (false, false, false));
    assert_eq!(
        reach(&access(
            json!({"network": ["*"], "filesystem": [{"path": ".", "mode": "write"}], "system": ["*"]})
        )),
        (true, true, true)
    );
    assert!(from_value::<AccessRules>(json!({"network": null})).is_err());
}

#[test]
fn several_rules_together_let_through_what_each_of_them_does() {
    let app = access(json!({"network": ["*.example.com"]}));
    let module = access(json!({"network": ["a.example.com", "b.example.org"], "system": []}));
    let both = app.and(&module);
    assert!(both.allows_host("a.example.com", 443));
    assert!(!both.allows_host("b.example.com", 443));
    assert!(!both.allows_host("b.example.org", 443));
    assert!(!both.allows_program("git"));
}

#[test]
fn a_tool_declares_what_it_reaches() {
    let tool = || Tool::new(QualifiedName::new("a", "b").unwrap());
    assert!(Access::of_tool(&tool()).unwrap().allows_host("x.example", 1));
    let declared = tool().with_metadata("access", json!({"network": ["a.example"]}));
    assert!(!Access::of_tool(&declared).unwrap().allows_host("x.example", 1));
    let broken = tool().with_metadata("access", json!("a.example"));
    assert_eq!(
        Access::of_tool(&broken).unwrap_err().to_string(),
        "metadata.access: invalid type: string \"a.example\", expected struct AccessRules; write `network`, `filesystem` and \
         `system`, each a list"
    );
}

#[test]
fn guards_ask_all_rules_that_were_put_together() {
    let module = access(json!({"network": ["*.example.com"]}));
    let tool = access(json!({"network": ["a.example.com", "b.example.org"], "system": ["git"]}));
    let reach = |access: &Access| {
        let (host, program) = (access.host_guard(), access.program_guard());
        let hosts = ["a.example.com", "b.example.com", "b.example.org"];
        (hosts.map(|name| host(name, 443)), program("git"), program("ls"))
    };
    assert_eq!(reach(&module), ([true, true, false], true, true));
    assert_eq!(reach(&module.clone().and(&tool)), ([true, false, false], true, false));
    assert!(Access::unlimited().is_unlimited() && !module.and(&Access::unlimited()).is_unlimited());
}

#[test]
fn an_entry_that_is_none_says_where_and_what_to_write() {
    let cases = [
        json!({"network": ["a.example", "https://a.example/"]}),
        json!({"network": ["*.*.example"]}),
        json!({"network": ["api-*.example"]}),
        json!({"network": ["*."]}),
        json!({"network": ["*.127.0.0.1"]}),
        json!({"network": ["a.example:0"]}),
        json!({"network": ["a.example:70000"]}),
        json!({"network": ["a.example:*"]}),
        json!({"network": ["::1"]}),
        json!({"network": [""]}),
        json!({"filesystem": [{"path": "../x"}]}),
        json!({"filesystem": [{"path": ""}]}),
        json!({"filesystem": [{"path": "a[", "mode": "read"}]}),
        json!({"system": ["git status"]}),
        json!({"system": ["python*"]}),
    ];
    let errors = cases.map(|rules| {
        let rules: AccessRules = from_value(rules).unwrap();
        Access::at(&SettingLocation::default().key("access"), &rules).unwrap_err().to_string()
    });
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn a_sandbox_learns_the_ports_of_hosts_and_the_folders_of_globs() {
    let rules = |rules: serde_json::Value| from_value::<AccessRules>(rules).unwrap();
    let ports = |network: serde_json::Value| rules(json!({"network": network})).ports();
    assert_eq!(rules(json!({})).ports(), None);
    assert_eq!(ports(json!([])), Some(Vec::new()));
    assert_eq!(ports(json!(["a.org:443", "*.b.org:80", "[::1]:8080"])), Some(vec![443, 80, 8080]));
    assert_eq!(ports(json!(["a.org:443", "b.org"])), None, "a host without a port has all");
    assert_eq!(ports(json!(["::1"])), None);
    let files = rules(json!({"filesystem": [
        {"path": "data"}, {"path": "*.csv"}, {"path": "/srv/a*/b", "mode": "write"}, {"path": "out/{a,b}", "mode": "write"},
    ]}));
    assert_eq!(files.folders(Mode::Read), Some(vec!["data", "."]));
    assert_eq!(files.folders(Mode::Write), Some(vec!["/srv/", "out/"]));
    assert_eq!(rules(json!({"network": []})).folders(Mode::Read), None);
}
