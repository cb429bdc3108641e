//! Clients, each with one request, and the times at which something happened to it.

use std::error::Error;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use redlock_runtime::LeaseHandle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tower::ServiceExt as _;

use crate::service::ForOperators;

/// One request's time under its lock, written by the handler. Clones are the same visit.
#[derive(Clone, Default)]
pub(crate) struct Visit(watch::Sender<Times>);

#[derive(Clone, Default)]
pub(crate) struct Times {
    pub(crate) resource: String,
    pub(crate) entered: Option<Instant>,
    pub(crate) left: Option<Instant>,
}

impl Visit {
    /// Notes that the handler holds the lock until it drops the result: at its end, or if it is cancelled.
    pub(crate) fn enter(&self, lease: &LeaseHandle) -> Inside {
        self.0.send_modify(|times| {
            times.resource = lease.resource().to_string();
            times.entered = Some(Instant::now());
        });
        Inside(self.clone())
    }
}

pub(crate) struct Inside(Visit);

impl Drop for Inside {
    fn drop(&mut self) {
        let visit = &self.0;
        visit
            .0
            .send_modify(|times| times.left = Some(Instant::now()));
    }
}

/// A request that runs.
pub(crate) struct Sent {
    id: String,
    at: Instant,
    visit: Visit,
    answer: JoinHandle<Result<Answer, axum::Error>>,
}

pub(crate) struct Answer {
    at: Instant,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    pub(crate) for_operators: Option<String>,
}

/// A request with its end.
pub(crate) struct Exchange {
    pub(crate) id: String,
    pub(crate) sent: Instant,
    pub(crate) ended: Instant,
    pub(crate) times: Times,
    /// `None` if the client gave up.
    pub(crate) answer: Option<Answer>,
}

/// Gives the router a request, as a server does with one of its connections.
pub(crate) fn send(router: &Router, id: String, path: &str) -> Result<Sent, axum::http::Error> {
    let visit = Visit::default();
    let request = Request::post(path).extension(visit.clone());
    let response = router.clone().oneshot(request.body(Body::empty())?);
    let at = Instant::now();
    let answer = tokio::spawn(async {
        let Ok(response) = response.await;
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await?;
        let text = parts.extensions.get::<ForOperators>();
        Ok(Answer {
            at: Instant::now(),
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8_lossy(&body).into_owned(),
            for_operators: text.map(|text| text.0.clone()),
        })
    });
    Ok(Sent {
        id,
        at,
        visit,
        answer,
    })
}

impl Sent {
    /// Waits until the handler runs under its lock.
    pub(crate) async fn entered(self) -> Self {
        let mut times = self.visit.0.subscribe();
        // It fails only without a sender, and this request has one.
        let _ = times.wait_for(|times| times.entered.is_some()).await;
        self
    }

    /// Waits for the answer until the client loses its patience. Then the request is dropped, as a server drops one
    /// whose connection is closed.
    pub(crate) async fn reply(mut self, patience: Duration) -> Result<Exchange, Box<dyn Error>> {
        let answer = match timeout(patience, &mut self.answer).await {
            Ok(answer) => Some(answer??),
            Err(_) => None,
        };
        if answer.is_none() {
            self.answer.abort();
        }
        let ended = answer
            .as_ref()
            .map_or_else(Instant::now, |answer| answer.at);
        let times = self.visit.0.borrow().clone();
        Ok(Exchange {
            id: self.id,
            sent: self.at,
            ended,
            times,
            answer,
        })
    }
}
