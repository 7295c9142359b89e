//! What a child sees of our environment.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::super::environment::environment;
use super::super::proxy_environment::PROXY_ENVIRONMENT;
use super::super::{Command, DEPTH_VARIABLE, INHERITED_ENVIRONMENT, MARK_VARIABLE, RunLimits, run};

fn ours(name: &str) -> Option<OsString> {
    let value = match name {
        "PATH" => "/bin",
        "OPENAI_API_KEY" => "sk-secret",
        "http_proxy" => "http://user:password@proxy:3128",
        "https_proxy" => "http://proxy:3128",
        _ => return None,
    };
    Some(value.into())
}

#[test]
fn a_secret_is_not_inherited_and_a_given_variable_wins() {
    let given =
        BTreeMap::from([("PATH".to_owned(), "/given".to_owned()), ("EXTRA".to_owned(), "1".to_owned())]);
    let seen = environment(ours, &given);
    assert!(!seen.contains_key("OPENAI_API_KEY"));
    assert_eq!(seen["PATH"], "/given");
    assert_eq!(seen["EXTRA"], "1");
}

#[test]
fn a_proxy_with_a_password_is_not_inherited() {
    let seen = environment(ours, &BTreeMap::new());
    assert!(!seen.contains_key("http_proxy"));
    assert_eq!(seen["https_proxy"], "http://proxy:3128");
}

#[tokio::test]
async fn a_child_sees_the_allow_list_and_what_it_was_given() {
    let command = Command::new(["env"]).with_env("GIVEN", "a b");
    let output = run(&command, None, &RunLimits::default()).await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().any(|line| line == "GIVEN=a b"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("PATH=")), "{text}");
    // Cargo alone sets a dozen others for each test.
    for (name, _) in text.lines().filter_map(|line| line.split_once('=')) {
        let known = INHERITED_ENVIRONMENT.contains(&name)
            || PROXY_ENVIRONMENT.contains(&name)
            || [DEPTH_VARIABLE, MARK_VARIABLE, "GIVEN"].contains(&name);
        assert!(known, "{name} was inherited");
    }
}

#[tokio::test]
async fn a_child_knows_its_depth_whatever_its_command_says() {
    let command = Command::new(["sh", "-c", "echo $TOOLCRIB_DEPTH"]).with_env(DEPTH_VARIABLE, "0");
    let output = run(&command, None, &RunLimits::default()).await.unwrap();
    let depth: usize = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    assert_eq!(depth, super::super::depth() + 1);
}

#[test]
fn the_debug_form_of_a_command_hides_the_values_of_its_variables() {
    let text = format!("{:?}", Command::new(["x"]).with_env("TOKEN", "hush"));
    assert!(text.contains("TOKEN") && !text.contains("hush"), "{text}");
}

#[test]
fn a_child_looks_for_programs_in_no_relative_directory() {
    let path_of = |ours: &'static str| {
        let ours = move |name: &str| (name == "PATH").then(|| OsString::from(ours));
        environment(ours, &BTreeMap::new()).remove("PATH")
    };
    assert_eq!(path_of(".:/usr/bin:bin::/bin"), Some("/usr/bin:/bin".into()));
    assert_eq!(path_of(".:bin"), None);
}
