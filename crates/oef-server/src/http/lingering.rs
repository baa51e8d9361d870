//! Bodies that nobody read are read to their end all the same. A connection whose request was answered before its body had
//! come would be closed under the client that still writes: it would see a broken pipe and never the answer.

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http_body::{Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_stream::StreamExt as _;

/// Whoever takes longer is cut off.
const WITHIN: Duration = Duration::from_secs(5);

/// Lets the rest of a body come, up to the size of the largest that is taken.
pub(super) async fn linger(
    State(app): State<super::App>,
    request: Request,
    next: Next,
) -> Response {
    let limit = app.inner.limits.batch_bytes.max(app.inner.limits.body_bytes);
    next.run(request.map(|body| Body::new(Lingering { body, left: limit }))).await
}

struct Lingering {
    body: Body,
    /// Bytes that may still come.
    left: usize,
}

impl HttpBody for Lingering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.left = self.left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        let too_large = self.body.size_hint().lower() > self.left as u64;
        if self.body.is_end_stream() || too_large {
            return;
        }
        let (body, left) = (std::mem::take(&mut self.body), self.left);
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(timeout(WITHIN, drain(body.into_data_stream(), left)));
        }
    }
}

async fn drain(mut body: BodyDataStream, mut left: usize) {
    while let Some(Ok(bytes)) = body.next().await {
        match left.checked_sub(bytes.len()) {
            Some(less) => left = less,
            None => return,
        }
    }
}
