//! The people whose approval a call needs.

use serde_json::{Value, json};

use super::{call, policy};
use crate::{
    AnswerRefusal, Approval, ApprovalRule, Approvals, OPERATOR, PendingApproval, People, Policy, Principal,
    Remember, SettingLocation, Verdict,
};

fn ruled(rules: Value) -> Policy {
    let rules: Vec<ApprovalRule> = serde_json::from_value(rules).unwrap();
    let people = People::default()
        .with_served_sessions("serve/", "serve/local/")
        .with_person("alice", ["alice-laptop".to_owned(), "7a1f".to_owned()])
        .with_person("owner", [OPERATOR.to_owned()]);
    let location = SettingLocation::default().key("approvals").key("rules");
    policy(json!({})).with_approval_rules(&rules, people, &location).unwrap()
}

fn asked(policy: &Policy, session: &str, user: Option<&str>) -> PendingApproval {
    match policy.authorize(call("pay", "send", &json!({"x": 1})), Principal::new(session)) {
        Verdict::Ask(pending) => pending.with_user(user.map(Into::into)),
        other => panic!("{other:?}"),
    }
}

fn by(pending: &PendingApproval, people: &[&str]) -> Approval {
    people.iter().fold(pending.question().approve(), |approval, person| approval.by(*person))
}

#[test]
fn a_call_runs_only_with_the_approval_of_as_many_different_people_as_it_needs() {
    let policy = ruled(json!([{"module": "pay", "approvers": 2}]));
    let table: [(&[&str], bool); 7] = [
        (&[], false),
        (&["bob"], false),
        (&["bob", "bob"], false),
        (&["alice", "alice-laptop", "7a1f"], false),
        (&["operator", "owner"], false),
        (&["alice-laptop", "bob"], true),
        (&["operator", "bob", "alice"], true),
    ];
    for (people, runs) in table {
        let pending = asked(&policy, "serve/ci/1", None);
        let approval = by(&pending, people);
        assert_eq!(pending.requirement().shortfall(&approval).is_none(), runs, "{people:?}");
        assert_eq!(pending.approve(&approval, &Approvals::new()).is_ok(), runs, "{people:?}");
    }
}

#[test]
fn nobody_approves_their_own_call_with_four_eyes() {
    let policy = ruled(json!([{"module": "pay", "four_eyes": true}]));
    let table = [
        ("serve/alice-laptop/1", None, "alice", false),
        ("serve/alice-laptop/1", None, "alice-laptop", false),
        ("serve/desk/1", Some("7a1f"), "alice", false),
        ("serve/desk/1", Some("7a1f"), "desk", false),
        ("serve/desk/1", Some("7a1f"), OPERATOR, true),
        ("serve/desk/1", Some("7a1f"), "bob", true),
        // Calls at this machine are the operator's, who is the person `owner`.
        ("serve/local/1", None, OPERATOR, false),
        ("serve/local/1", Some("bob"), "bob", false),
        ("serve/local/1", None, "owner", false),
        ("chat", None, OPERATOR, false),
        ("chat", None, "alice", true),
    ];
    for (session, user, person, runs) in table {
        let pending = asked(&policy, session, user);
        let refusal = (!runs).then_some(AnswerRefusal::Requester);
        assert_eq!(pending.requirement().refusal(person, &[].into()), refusal, "{session} {person}");
        let approval = by(&pending, &[person]);
        assert_eq!(pending.approve(&approval, &Approvals::new()).is_ok(), runs, "{session} {person}");
        let pending = asked(&policy, session, user);
        assert!(pending.question().requirement.shortfall(&pending.question().approve()).is_some(), "unnamed");
    }
}

#[test]
fn the_strictest_of_all_rules_that_match_holds() {
    let policy = ruled(json!([
        {"module": "pay", "approvers": 2, "ask": ["mail"]},
        {"risk": "medium", "four_eyes": true, "ask": ["chat", "mail"]},
        {"module": "pay", "actions": ["refund*"], "approvers": 8},
        {"risk": "high", "approvers": 7},
    ]));
    let requirement = asked(&policy, "serve/ci/1", None).requirement();
    assert_eq!((requirement.approvers, requirement.four_eyes), (2, true));
    assert_eq!(requirement.channels, ["mail", "chat"]);
    let plain = asked(&ruled(json!([{"module": "mail", "approvers": 2}])), "s", None).requirement();
    assert!(plain.is_plain() && plain.channels.is_empty());
}

#[test]
fn an_approval_by_several_people_is_not_remembered() {
    let plain = ruled(json!([]));
    let strict = ruled(json!([{"module": "pay", "approvers": 2}]));
    let approvals = Approvals::new();
    let pending = asked(&strict, "s", None);
    let approval = by(&pending, &["alice", "bob"]).remember(Remember::Tool);
    pending.approve(&approval, &approvals).unwrap();
    assert!(approvals.recall(asked(&plain, "s", None)).is_err());
    // One that was remembered before the rule does not count either.
    let pending = asked(&plain, "s", None);
    let approval = pending.question().approve().remember(Remember::Tool);
    pending.approve(&approval, &approvals).unwrap();
    assert!(approvals.recall(asked(&plain, "s", None)).is_ok());
    assert!(approvals.recall(asked(&strict, "s", None)).is_err());
}

#[test]
fn a_rule_that_cannot_apply_is_an_error_with_its_place() {
    let refused = |rule: Value| {
        let rules: Vec<ApprovalRule> = serde_json::from_value(json!([rule])).unwrap();
        let location = SettingLocation::default().key("approvals").key("rules");
        policy(json!({})).with_approval_rules(&rules, People::default(), &location).unwrap_err().to_string()
    };
    insta::assert_snapshot!(refused(json!({"approvers": 2})), @r#"approvals.rules[0] names neither `module` nor `actions` nor `risk`; `module: "*"` matches everything"#);
    insta::assert_snapshot!(refused(json!({"module": "pay", "approvers": 9})), @"approvals.rules[0].approvers: expected at most 8 approvers, found 9");
    assert!(serde_json::from_value::<ApprovalRule>(json!({"module": "pay", "approvers": 0})).is_err());
}
