//! Logging a browser in.

use super::Test;
use super::common::{OWNER, Reply, Request, Server};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    ("login: a code counts once", a_code_counts_once),
    ("login: a token opens a session that ends", a_token_opens_a_session_that_ends),
    ("login: a session is no more than its token", a_session_is_no_more_than_its_token),
    ("login: only the page itself may change something", only_the_page_itself),
    ("login: a lock against guessing", a_lock_against_guessing),
];

fn enter(server: &Server, what: &Value) -> Reply {
    Request::new("POST", "/session")
        .header("Sec-Fetch-Site", "same-origin")
        .json(what)
        .send(server.address)
}

/// The cookie of an answer, as a browser sends it back.
fn cookie(reply: &Reply) -> String {
    let set = reply.header("set-cookie").expect("a cookie");
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
    set.split(';').next().expect("a pair").to_string()
}

fn get(server: &Server, path: &str, cookie: &str) -> Reply {
    Request::new("GET", path).header("Cookie", cookie).send(server.address)
}

fn a_code_counts_once() {
    let server = Server::start();
    let made = server.admin("POST", "/login-codes", None);
    assert_eq!(made.status, 201, "{made:?}");
    let code = made.json()["code"].clone();
    let entered = enter(&server, &json!({"code": code}));
    assert_eq!((entered.status, entered.json()["role"].as_str()), (200, Some("admin")));
    assert_eq!(get(&server, "/api/v1/info", &cookie(&entered)).status, 200);
    let again = enter(&server, &json!({"code": code}));
    assert_eq!((again.status, again.kind().as_str()), (401, "unauthorized"));
    assert!(again.header("set-cookie").is_none());
}

fn a_token_opens_a_session_that_ends() {
    let server = Server::start();
    assert_eq!(enter(&server, &json!({"token": "wrong"})).status, 401);
    let nobody = get(&server, "/session", "oef_session_1=x");
    assert_eq!((nobody.status, &nobody.json()["logged_in"]), (200, &json!(false)));
    let entered = enter(&server, &json!({"token": OWNER}));
    let cookie = cookie(&entered);
    assert_eq!(get(&server, "/session", &cookie).json()["logged_in"], true);
    let left = Request::new("POST", "/session/end")
        .header("Cookie", &cookie)
        .header("Sec-Fetch-Site", "same-origin")
        .json(&json!({}))
        .send(server.address);
    assert_eq!(left.status, 200);
    assert!(left.header("set-cookie").expect("it goes").contains("Max-Age=0"));
    assert_eq!(get(&server, "/api/v1/info", &cookie).status, 401, "the session is void");
}

fn a_session_is_no_more_than_its_token() {
    let server = Server::start();
    for name in ["own", "other"] {
        assert_eq!(server.admin("POST", "/tenants", Some(json!({"name": name}))).status, 201);
    }
    let made = server.admin("POST", "/tokens", Some(json!({"role": "tenant", "tenant": "own"})));
    let made = made.json();
    let cookie = cookie(&enter(&server, &json!({"token": made["secret"]})));
    assert_eq!(get(&server, "/api/v1/tenants/own", &cookie).status, 200);
    assert_eq!(get(&server, "/api/v1/tenants/other", &cookie).status, 404);
    assert_eq!(get(&server, "/api/v1/tokens", &cookie).status, 403);
    let path = format!("/tokens/{}", made["token"]["id"]);
    assert_eq!(server.admin("DELETE", &path, None).status, 204);
    assert_eq!(get(&server, "/api/v1/tenants/own", &cookie).status, 401, "void with its token");
    assert_eq!(get(&server, "/session", &cookie).json()["logged_in"], false);
}

fn only_the_page_itself() {
    let server = Server::start();
    let cookie = cookie(&enter(&server, &json!({"token": OWNER})));
    let create = |headers: &[(&str, &str)], name: &str| {
        let request = Request::new("POST", "/api/v1/tenants").header("Cookie", &cookie);
        let request = headers.iter().fold(request, |request, (k, v)| request.header(k, v));
        request.json(&json!({"name": name})).send(server.address)
    };
    for headers in [
        &[("Sec-Fetch-Site", "cross-site")][..],
        &[("Sec-Fetch-Site", "same-site")],
        &[("Origin", "http://evil.example")],
        &[],
    ] {
        let reply = create(headers, "evil");
        assert_eq!((reply.status, reply.kind().as_str()), (403, "forbidden"), "{headers:?}");
    }
    assert_eq!(create(&[("Sec-Fetch-Site", "same-origin")], "a").status, 201);
    let own = format!("http://{}", server.address);
    assert_eq!(create(&[("Origin", &own)], "b").status, 201);
}

fn a_lock_against_guessing() {
    let server = Server::start();
    let last = (0..60).map(|_| enter(&server, &json!({"token": "guess"}))).last().expect("one");
    assert_eq!((last.status, last.kind().as_str()), (429, "too_many_requests"));
    assert!(last.header("retry-after").is_some());
    assert_eq!(server.admin("GET", "/info", None).status, 200, "nobody else is kept out");
    let code = server.admin("POST", "/login-codes", None).json()["code"].clone();
    for valid in [json!({"token": OWNER}), json!({"code": code})] {
        let entered = enter(&server, &valid);
        assert_eq!(entered.status, 200, "nor is who does not guess: {entered:?}");
    }
    assert_eq!(enter(&server, &json!({"code": "guess"})).status, 429);
    // Who may get in does not do so without end, either: each login is written to the disk.
    let last = (0..60).map(|_| enter(&server, &json!({"token": OWNER}))).last().expect("one");
    assert_eq!(last.status, 429);
    let other = server.token("viewer", None);
    assert_eq!(enter(&server, &json!({"token": other})).status, 200, "others still do");
}
