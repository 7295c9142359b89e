//! The page that browsers come back to after a login by a link.

use toolcrib_app::LoginOwner;

use super::*;

fn form(body: &str, more: &str) -> Vec<u8> {
    let text = String::from_utf8(request("POST", "/oauth/callback", more, body)).unwrap();
    text.replace("content-type: application/json", "content-type: application/x-www-form-urlencoded")
        .into_bytes()
}

#[tokio::test]
async fn an_answer_is_taken_once_for_its_user_and_only_after_that_person_has_agreed() {
    let served = Served::start().await;
    let links = served.server.shared.runtime().app().extensions.login_links.clone();
    assert!(links.is_served());
    let owner = LoginOwner { namespace: "crm".into(), user: "alice".into() };
    let (waiting, of_owner) = (links.clone(), owner.clone());
    let login =
        tokio::spawn(async move { waiting.answer(of_owner, "state-1".into(), std::future::pending()).await });
    timeout(PATIENCE, async {
        while links.owner("state-1").is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    let again = links.answer(owner, "state-2".into(), std::future::pending()).await;
    assert_eq!(again.unwrap_err(), "a login of this user waits already; follow its link");

    for unknown in ["", "?code=c&state=state-2", "?code=c", "?code=c&state=state-1&state=state-1"] {
        let answer = served.answer(&request("GET", &format!("/oauth/callback{unknown}"), "", "")).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{unknown}: {answer}");
    }
    // It comes from the page of the authorization server.
    let foreign = "sec-fetch-site: cross-site\r\n";
    let answer = "code=code-1&state=state-1&iss=https%3A%2F%2Flogin.example";
    let page = served.answer(&request("GET", &format!("/oauth/callback?{answer}"), foreign, "")).await;
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("frame-ancestors 'none'"), "{page}");
    assert!(page.contains("<strong>alice</strong> to <strong>crm</strong>"), "{page}");
    assert!(!login.is_finished(), "nobody has agreed");
    let refused = served.answer(&form(answer, "origin: https://evil.example\r\n")).await;
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    let refused = served.answer(&request("POST", "/oauth/callback", "", answer)).await;
    assert!(refused.starts_with("HTTP/1.1 415"), "{refused}");
    assert!(!login.is_finished());

    let page = served.answer(&form(answer, "")).await;
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("is being completed"), "{page}");
    let redirect = timeout(PATIENCE, login).await.unwrap().unwrap().unwrap();
    assert_eq!(redirect.code.unwrap().expose(), "code-1");
    assert_eq!(redirect.issuer.as_deref(), Some("https://login.example"));
    let again = served.answer(&form(answer, "")).await;
    assert!(again.starts_with("HTTP/1.1 404"), "{again}");
    served.end().await;
}
