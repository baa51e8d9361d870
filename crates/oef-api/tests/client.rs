//! The client against answers of every kind.

mod responder;

use oef_api::client::{Client, ClientError, Incoming, Reach};
use oef_api::types::{Access, JobBatch, JobSubmit, SubmitQuery};
use responder::{Reply, Responder};

const PROBLEM: &str = r#"{"type":"not_found","status":404,"title":"Not found","detail":"there is no job 7","hint":"`oef jobs --all` lists them"}"#;

fn client(server: &Responder) -> Client {
    let access =
        Access { server: server.address.clone(), token: "t0ken".into(), ca: None, state: None };
    Client::new(access).expect("a client")
}

fn batch(jobs: usize) -> JobBatch {
    let job = JobSubmit { command: vec!["true".into()], ..JobSubmit::default() };
    JobBatch { name: (jobs > 1).then(|| "many".into()), ..JobBatch::of(vec![job; jobs]) }
}

fn event(id: u64, message: &str) -> String {
    let body = format!(
        r#"{{"id":{id},"at":"2026-01-01T00:00:00Z","topic":"job","job":1,"state":"running","message":"{message}"}}"#
    );
    format!("id: {id}\nevent: job\ndata: {body}\n\n")
}

#[test]
fn the_token_and_the_key_go_with_the_request() {
    let server = Responder::start();
    server.json("POST", "/jobs", r#"{"ids":[3],"notes":[]}"#);
    let submitted = client(&server)
        .submit(&batch(1), Some("key-1"), SubmitQuery::default())
        .expect("submitted");
    assert_eq!(submitted.ids, [3]);
    let asked = &server.asked_of("POST", "/jobs")[0];
    assert_eq!(asked.headers["authorization"], "Bearer t0ken");
    assert_eq!(asked.headers["idempotency-key"], "key-1");
    assert_eq!(asked.body, r#"{"command":["true"]}"#);
}

#[test]
fn several_jobs_are_one_batch() {
    let server = Responder::start();
    server.json("POST", "/jobs/batch", r#"{"ids":[3,4],"notes":[]}"#);
    assert_eq!(
        client(&server).submit(&batch(2), None, SubmitQuery::default()).expect("submitted").ids,
        [3, 4]
    );
}

#[test]
fn a_submission_whose_answer_is_lost_is_sent_again_with_its_key() {
    let server = Responder::start();
    server.on("POST", "/jobs", Reply::HangUp).on("POST", "/jobs", Reply::HangUp);
    server.json("POST", "/jobs", r#"{"ids":[3],"notes":[]}"#);
    assert_eq!(
        client(&server)
            .submit(&batch(1), Some("k"), SubmitQuery::default())
            .expect("submitted")
            .ids,
        [3]
    );
    let asked = server.asked_of("POST", "/jobs");
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|a| a.headers["idempotency-key"] == "k"));
}

#[test]
fn without_a_key_nothing_is_sent_twice() {
    let server = Responder::start();
    server.on("POST", "/jobs", Reply::HangUp);
    let error = client(&server).submit(&batch(1), None, SubmitQuery::default()).expect_err("lost");
    assert!(matches!(error, ClientError::Unreachable { reach: Reach::Unknown, .. }), "{error}");
    assert_eq!(server.asked_of("POST", "/jobs").len(), 1);
}

#[test]
fn refusals_carry_the_daemons_words() {
    let server = Responder::start();
    server.on("GET", "/jobs/7", Reply::Json(404, PROBLEM.into()));
    let error = client(&server).job(7).expect_err("refused");
    assert_eq!(error.to_string(), "there is no job 7");
    assert!(error.hint().expect("a hint").contains("oef jobs"));
    assert_eq!(error.problem().expect("a problem").kind, "not_found");
}

#[test]
fn what_is_no_daemon_is_told_apart() {
    let server = Responder::start();
    server.on("GET", "/info", Reply::Text(200, "<html>hello".into()));
    server.on("GET", "/cluster", Reply::Text(502, "bad gateway".into()));
    server.on("GET", "/settings", Reply::Text(302, String::new()));
    server.on("GET", "/fairness", Reply::Text(401, String::new()));
    let client = client(&server);
    let error = client.info().expect_err("no daemon");
    assert!(
        matches!(&error, ClientError::Protocol { detail, .. } if detail.contains("<html>")),
        "{error}"
    );
    let error = client.cluster().expect_err("no daemon");
    assert!(error.to_string().contains("502"), "{error}");
    assert!(matches!(client.settings(), Err(ClientError::Protocol { .. })));
    let error = client.fairness().expect_err("no token");
    assert!(error.hint().expect("a hint").contains("OEF_TOKEN"), "{error}");
}

#[test]
fn nobody_there() {
    let access =
        Access { server: "http://127.0.0.1:1".into(), token: "t".into(), ca: None, state: None };
    let error = Client::new(access).expect("a client").info().expect_err("nobody");
    assert!(matches!(error, ClientError::Unreachable { reach: Reach::Nobody, .. }), "{error:?}");
    assert!(error.hint().expect("a hint").contains("oef up"));
    let access =
        Access { server: "http://not an address".into(), token: "t".into(), ca: None, state: None };
    assert!(matches!(
        Client::new(access).expect("a client").info(),
        Err(ClientError::Protocol { .. })
    ));
}

#[test]
fn certificates_that_are_none_are_told() {
    for ca in ["/nowhere/ca.pem", "-----BEGIN NOTHING-----"] {
        let access = Access {
            server: "https://h".into(),
            token: "t".into(),
            ca: Some(ca.into()),
            state: None,
        };
        assert!(matches!(Client::new(access), Err(ClientError::Protocol { .. })), "{ca}");
    }
}

#[test]
fn a_broken_stream_goes_on_where_it_was() {
    let server = Responder::start();
    let first = format!(": hello\n\n{}{}id: 9\nda", event(7, "a"), event(8, "b"));
    server.on("GET", "/events", Reply::Stream(first));
    server.on(
        "GET",
        "/events",
        Reply::Stream(format!("id: 20\nevent: reset\ndata: {{}}\n\n{}", event(21, "c"))),
    );
    server.on("GET", "/events", Reply::OpenStream(event(22, "d")));
    let events = client(&server).events(None).expect("a stream");
    let seen: Vec<String> = events
        .take(5)
        .map(|incoming| match incoming.expect("an event") {
            Incoming::Event(event) => format!("{} {}", event.id, event.message),
            Incoming::Reset => "reset".into(),
        })
        .collect();
    assert_eq!(seen, ["7 a", "8 b", "reset", "21 c", "22 d"]);
    let marks: Vec<Option<String>> = (server.asked_of("GET", "/events").iter())
        .map(|asked| asked.headers.get("last-event-id").cloned())
        .collect();
    assert_eq!(marks, [None, Some("8".into()), Some("21".into())]);
}

/// Without the number of an event nobody can say what was missed in between.
#[test]
fn a_stream_that_breaks_before_its_first_event_is_a_reset() {
    let server = Responder::start();
    server.on("GET", "/events", Reply::Stream(": hello\n\n".into()));
    server.on("GET", "/events", Reply::OpenStream(event(22, "d")));
    let mut events = client(&server).events(None).expect("a stream");
    assert!(matches!(events.next(), Some(Ok(Incoming::Reset))));
    assert!(matches!(events.next(), Some(Ok(Incoming::Event(event))) if event.id == 22));
}

#[test]
fn a_stream_ends_with_the_error() {
    let server = Responder::start();
    server.on("GET", "/events", Reply::Stream("data: no event\n\n".into()));
    let mut events = client(&server).events(Some(4)).expect("a stream");
    assert!(matches!(events.next(), Some(Err(ClientError::Protocol { .. }))));
    assert!(events.next().is_none());
    assert_eq!(server.asked()[0].headers["last-event-id"], "4");
}
