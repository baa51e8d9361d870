//! A tiny HTTP server with prepared answers, which remembers what it was asked.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What is answered.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A status and a JSON text.
    Json(u16, String),
    /// A status and some text that is no JSON.
    Text(u16, String),
    /// The request is read, and the connection closed without a word.
    HangUp,
    /// Server-sent events, as they are, and then the connection is closed.
    Stream(String),
    /// The same, but the connection stays open.
    OpenStream(String),
}

/// What was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Method and path with its query: `GET /api/v1/info`.
    pub line: String,
    /// Headers in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: String,
}

#[derive(Default)]
struct Script {
    /// For each request line its answers in turn; the last one stays.
    replies: BTreeMap<String, Vec<Reply>>,
    asked: Vec<Asked>,
}

/// A server on a free port of this machine.
pub struct Responder {
    pub address: String,
    script: Arc<Mutex<Script>>,
}

impl Responder {
    pub fn start() -> Responder {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let script = Arc::new(Mutex::new(Script::default()));
        let shared = Arc::clone(&script);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let script = Arc::clone(&shared);
                thread::spawn(move || serve(stream, &script));
            }
        });
        Responder { address, script }
    }

    /// Answers this request so, the next time it comes; the last answer stays.
    pub fn on(&self, method: &str, path: &str, reply: Reply) -> &Responder {
        let line = format!("{method} /api/v1{path}");
        self.script.lock().expect("a script").replies.entry(line).or_default().push(reply);
        self
    }

    /// The same with a JSON text and status 200.
    pub fn json(&self, method: &str, path: &str, body: impl Into<String>) -> &Responder {
        self.on(method, path, Reply::Json(200, body.into()))
    }

    /// All that was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.script.lock().expect("a script").asked.clone()
    }

    /// What was asked by this method and path, without their query.
    pub fn asked_of(&self, method: &str, path: &str) -> Vec<Asked> {
        let line = format!("{method} /api/v1{path}");
        let is_it = |asked: &Asked| asked.line.split('?').next() == Some(&line);
        self.asked().into_iter().filter(is_it).collect()
    }
}

fn serve(mut stream: TcpStream, script: &Mutex<Script>) {
    let Ok(copy) = stream.try_clone() else { return };
    let mut reader = BufReader::new(copy);
    while let Some(asked) = read(&mut reader) {
        let reply = {
            let mut script = script.lock().expect("a script");
            script.asked.push(asked.clone());
            let bare = asked.line.split('?').next().unwrap_or_default().to_string();
            let line = if script.replies.contains_key(&asked.line) { asked.line } else { bare };
            match script.replies.get_mut(&line) {
                Some(list) if list.len() > 1 => list.remove(0),
                Some(list) => list[0].clone(),
                None => Reply::Text(404, format!("nothing prepared for {line}")),
            }
        };
        let is_over = answer(&mut stream, reply);
        if is_over {
            return;
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Asked> {
    let mut first = String::new();
    if reader.read_line(&mut first).ok()? == 0 {
        return None;
    }
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_string());
    }
    let length = headers.get("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut words = first.split(' ');
    let line = format!("{} {}", words.next()?, words.next()?);
    Some(Asked { line, headers, body: String::from_utf8_lossy(&body).into_owned() })
}

fn answer(stream: &mut TcpStream, reply: Reply) -> bool {
    let whole = |status: u16, kind: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status} x\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let (text, is_over) = match &reply {
        Reply::Json(204, _) => ("HTTP/1.1 204 x\r\n\r\n".into(), false),
        Reply::Json(status, body) => (whole(*status, "application/json", body), false),
        Reply::Text(status, body) => (whole(*status, "text/plain", body), false),
        Reply::HangUp => (String::new(), true),
        Reply::Stream(events) | Reply::OpenStream(events) => (format!("{head}{events}"), true),
    };
    let sent = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
    if sent.is_ok() && matches!(reply, Reply::OpenStream(_)) {
        // Until the other side goes away.
        let _ = stream.read(&mut [0]);
    }
    is_over || sent.is_err()
}
