//! What the guard refuses, and where.

use std::sync::atomic::{AtomicUsize, Ordering};

use http::Method;
use url::Url;

use super::super::resolver::NameService;
use super::super::{AddressClass, HttpClient, HttpPolicy, Request};
use super::{Server, client};
use crate::Error;

fn guarded() -> HttpClient {
    HttpClient::new(HttpPolicy::default()).unwrap()
}

#[tokio::test]
async fn a_loopback_address_is_refused_in_every_spelling_before_anything_is_sent() {
    let server = Server::start("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let client = guarded();
    for host in
        ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:127.0.0.1]", "[::1]", "0"]
    {
        let url = Url::parse(&format!("http://{host}:{}/", server.port)).unwrap();
        let error = client.send(Request::new(Method::GET, url)).await.unwrap_err();
        assert!(matches!(error, Error::AddressRefused { .. }), "{host}: {error:?}");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_name_that_leads_to_loopback_is_refused_when_it_is_resolved() {
    let server = Server::start("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let url = Url::parse(&format!("http://localhost:{}/", server.port)).unwrap();
    let error = guarded().send(Request::new(Method::GET, url.clone())).await.unwrap_err();
    assert!(
        matches!(&error, Error::AddressRefused { host, class: AddressClass::Loopback, .. } if host == "localhost"),
        "{error:?}"
    );
    // The client inside has the same guard.
    assert!(guarded().reqwest_client().get(url.clone()).send().await.is_err());
    assert!(server.requests().is_empty());

    let allowed = client(|_| {}).send(Request::new(Method::GET, url)).await.unwrap();
    assert_eq!(allowed.status, 200);
}

#[tokio::test]
async fn a_name_is_refused_that_leads_inside_by_any_of_its_addresses_and_is_looked_up_once() {
    static LOOKS: AtomicUsize = AtomicUsize::new(0);
    let server = Server::start("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let names = NameService::Stub(|name| {
        LOOKS.fetch_add(1, Ordering::SeqCst);
        let addresses = match name {
            "plain.example" => "127.0.0.1",
            "mapped.example" => "::ffff:127.0.0.1",
            "both.example" => "192.0.3.1 127.0.0.1",
            "metadata.example" => "169.254.169.254",
            "unique.example" => "fc00::1",
            _ => "0.0.0.0",
        };
        addresses.split(' ').map(|address| address.parse().unwrap()).collect()
    });
    let client = HttpClient::with_names(HttpPolicy::default(), names).unwrap();
    let hosts = ["plain", "mapped", "both", "metadata", "unique", "none"];
    for host in hosts {
        let url = Url::parse(&format!("http://{host}.example:{}/", server.port)).unwrap();
        let error = client.send(Request::new(Method::GET, url)).await.unwrap_err();
        assert!(matches!(error, Error::AddressRefused { .. }), "{host}: {error:?}");
    }
    // A second look, as a name that changes its mind hopes for, there is none: what was checked is what is dialled.
    assert_eq!((LOOKS.load(Ordering::SeqCst), server.requests().len()), (hosts.len(), 0));
    let policy = HttpPolicy { allow_private: true, ..HttpPolicy::default() };
    let client = HttpClient::with_names(policy, names).unwrap();
    let url = Url::parse(&format!("http://plain.example:{}/", server.port)).unwrap();
    assert_eq!(client.send(Request::new(Method::GET, url)).await.unwrap().status, 200);
    assert_eq!((LOOKS.load(Ordering::SeqCst), server.requests().len()), (hosts.len() + 1, 1));
}

#[test]
fn the_refusal_says_what_the_address_is_and_what_to_do() {
    let url = Url::parse("http://169.254.169.254/latest/meta-data?key=1").unwrap();
    assert_eq!(
        guarded().check_url(&url).unwrap_err().to_string(),
        "refused to connect to `169.254.169.254`: 169.254.169.254 is a link-local address; private addresses must be \
         allowed by the configuration"
    );
    client(|_| {}).check_url(&url).unwrap();
}

#[tokio::test]
async fn only_the_hosts_and_ports_that_are_admitted_are_asked() {
    let server = Server::start("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let port = server.port;
    let client = client(|_| {}).with_guard(move |host, at| host == "127.0.0.1" && at == port);
    assert_eq!(client.send(server.get("/")).await.unwrap().status, 200);
    // The URL parser has brought it into the usual form.
    let url = Url::parse(&format!("http://0x7f.1:{port}/")).unwrap();
    assert_eq!(client.send(Request::new(Method::GET, url)).await.unwrap().status, 200);
    for url in
        [format!("http://localhost:{port}/"), "http://127.0.0.1/".into(), "https://example.com/".into()]
    {
        let error = client.send(Request::new(Method::GET, Url::parse(&url).unwrap())).await.unwrap_err();
        assert!(matches!(error, Error::HostNotAllowed { .. }), "{url}: {error:?}");
    }
    assert_eq!(
        client
            .check_url(&Url::parse("https://user:secret@example.com/?key=1").unwrap())
            .unwrap_err()
            .to_string(),
        "may not connect to `example.com` at port 443: the configuration does not allow it under `access.network`"
    );
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn only_http_and_https_are_requested() {
    for url in ["file:///etc/passwd", "ftp://example.com/", "unix:/run/docker.sock", "data:text/plain,x"] {
        let error = client(|_| {}).check_url(&Url::parse(url).unwrap()).unwrap_err();
        assert!(matches!(error, Error::InvalidUrl { .. }), "{url}: {error:?}");
    }
}

#[test]
fn a_proxy_of_the_environment_is_not_used() {
    let printed =
        request_with(&["http_proxy", "HTTP_PROXY", "all_proxy"].map(|name| (name, "http://127.0.0.1:1")));
    assert!(printed.contains("HTTP Ok(200)"), "{printed}");
}

#[test]
fn without_root_certificates_http_works_and_https_says_what_is_missing() {
    let printed = request_with(&[("SSL_CERT_FILE", "/no/such/file"), ("SSL_CERT_DIR", "/no/such/directory")]);
    assert!(printed.contains("HTTP Ok(200)"), "{printed}");
    // Platforms with a certificate store of their own do not look at these variables.
    if cfg!(target_os = "linux") {
        assert!(
            printed.contains("HTTPS cannot request https://example.com/: no root certificates"),
            "{printed}"
        );
    }
}

/// Runs the test below in a process of its own, since the environment is that of the whole process.
fn request_with(environment: &[(&str, &str)]) -> String {
    let name = "http::tests::guard::the_request_of_the_other_tests";
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env("TOOLCRIB_TEST_REQUEST", "1")
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Not a test of its own unless the others run it.
#[tokio::test]
async fn the_request_of_the_other_tests() {
    if std::env::var_os("TOOLCRIB_TEST_REQUEST").is_none() {
        return;
    }
    let server = Server::start("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let client = client(|_| {});
    let answered = client.send(server.get("/")).await.map(|response| response.status.as_u16());
    println!("HTTP {answered:?}");
    match client.check_url(&Url::parse("https://example.com/").unwrap()) {
        Ok(()) => println!("HTTPS ok"),
        Err(error) => println!("HTTPS {error}"),
    }
}
