//! What happens, as it happens: server-sent events that can be taken up again where they broke off.

use super::App;
use super::auth::{self, Asks};
use super::failure::Failure;
use super::queries::EventsQuery;
use super::streams::{Full, Permit};
use crate::caller::Caller;
use crate::daemon::{Delivery, Subscription};
use crate::problem::{Kind, More};
use crate::socket::People;
use axum::http::{HeaderMap, Method};
use axum::response::sse::{Event as Frame, KeepAlive, Sse};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// A comment comes at least so often, so that both sides notice a dead line.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Who asks is looked at again before news are told, and so often where there are none.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// Frames that wait for a slow reader; beyond them the daemon's own backlog counts.
const WAITING_MAX: usize = 64;
/// After a broken line clients come back after so long.
const COME_BACK: Duration = Duration::from_secs(2);

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(stream))
}

/// Streams events as they happen
///
/// Server-sent events: `id` is the event's number, `event` its topic, `data` an Event as JSON. A client that
/// comes back with the last number in `Last-Event-ID` (or `after`) misses nothing. Where events in between
/// are no longer remembered, an event `reset` comes first: what is known should be read again. Comments come
/// every 15 seconds. A tenant hears only of what it may see.
#[utoipa::path(get, path = "/events", tag = "events", operation_id = "streamEvents",
    params(EventsQuery,
        ("Last-Event-ID" = Option<u64>, Header, description = "The number of the last event that was read; goes before `after`")),
    responses((status = 200, description = "The stream, without end", body = String, content_type = "text/event-stream")))]
async fn stream(
    Asks(app, caller, query): Asks<EventsQuery>,
    headers: HeaderMap,
) -> Result<Sse<KeepAliveStream>, Failure> {
    let after = last_event_id(&headers)?.or(query.after);
    let permit = app.inner.streams.open(caller.token, caller.is_operator()).map_err(full)?;
    let subscription = app.daemon().subscribe(&caller, after)?;
    let (frames, stream) = mpsc::channel(WAITING_MAX);
    // Who is known by the local socket showed nothing.
    let is_shown = |now: Caller| now == caller;
    let shown = auth::caller(&Method::GET, &headers, &app).is_ok_and(is_shown).then_some(headers);
    tokio::spawn(forward(app, Right { caller, shown }, subscription, frames, permit));
    let beat = KeepAlive::new().interval(HEARTBEAT).text("still here");
    Ok(Sse::new(ReceiverStream::new(stream)).keep_alive(beat))
}

type KeepAliveStream =
    axum::response::sse::KeepAliveStream<ReceiverStream<Result<Frame, Infallible>>>;

fn full(full: Full) -> Failure {
    let (why, setting) = match full {
        Full::All(max) => (format!("{max} event streams are open already"), "event_streams"),
        Full::Own(max) => {
            (format!("{max} event streams of this caller are open already"), "streams_per_token")
        }
    };
    let hint = format!("close one, or raise `limits.{setting}` in the daemon's settings");
    Failure(Kind::TooManyRequests.problem(why).hint(hint))
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Failure> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let text = value.to_str().unwrap_or("").trim();
    // A browser that has seen no event yet sends nothing in it.
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        let problem = Kind::BadRequest
            .problem(format!("Last-Event-ID is `{text}`, not the number of an event"));
        Failure(problem.field("Last-Event-ID"))
    })
}

/// Who listens, and what they showed to be known.
struct Right {
    caller: Caller,
    shown: Option<HeaderMap>,
}

impl Right {
    /// Whether they are still who they were: a token or a login may be void, and a user of another tenant, or of none.
    async fn counts(&self, app: &App) -> bool {
        let now = match (&self.shown, People::user_of(self.caller.token)) {
            (Some(shown), _) => auth::caller(&Method::GET, shown, app).ok(),
            (None, Some(peer)) => auth::person(peer, app).await.map(|(caller, _)| caller),
            (None, None) => None,
        };
        now.as_ref() == Some(&self.caller)
    }
}

/// Carries events to one client until it goes, it has no right to more, or the daemon stops.
async fn forward(
    app: App,
    right: Right,
    mut events: Subscription,
    frames: mpsc::Sender<Result<Frame, Infallible>>,
    permit: Permit,
) {
    app.count_streams();
    let mut closing = app.inner.closing.subscribe();
    let mut look = tokio::time::interval(LOOK_AGAIN);
    let mut next = Some(Frame::default().comment("oef").retry(COME_BACK));
    loop {
        if let Some(frame) = next.take() {
            // Who reads nothing gives way as well.
            let sent = tokio::select! {
                sent = frames.send(Ok(frame)) => sent.is_ok(),
                () = permit.told() => false,
            };
            if !sent {
                break;
            }
        }
        let mut is_due = !events.has_more();
        tokio::select! {
            delivery = events.next() => match delivery {
                Some(delivery) => next = frame(delivery),
                None => break,
            },
            _ = look.tick() => is_due = true,
            _ = closing.wait_for(|closing| *closing) => break,
            () = frames.closed() => break,
            // Its client comes back later, when others may have left.
            () = permit.told() => break,
        }
        if is_due && !right.counts(&app).await {
            break;
        }
    }
    drop(permit);
    app.count_streams();
}

fn frame(delivery: Delivery) -> Option<Frame> {
    match delivery {
        Delivery::Event(event) => {
            let topic = serde_json::to_value(event.topic).ok()?;
            let named = Frame::default().id(event.id.to_string()).event(topic.as_str()?);
            named.json_data(event).ok()
        }
        Delivery::Reset { upto } => {
            let data = format!("{{\"upto\":{upto}}}");
            Some(Frame::default().id(upto.to_string()).event("reset").data(data))
        }
    }
}

impl App {
    fn count_streams(&self) {
        self.inner.exporter.streams(self.inner.streams.count());
    }
}
