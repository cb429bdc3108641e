//! A diary of the service: the holders of each lock over time, and the lock errors.

use std::sync::Arc;
use std::time::Instant;

use redlock_runtime::LeaseHandle;
use tokio::sync::watch;

/// Written by the handlers, read and awaited by the story. Clones are the same diary.
#[derive(Clone, Default)]
pub(crate) struct Diary(Arc<watch::Sender<Pages>>);

#[derive(Default)]
struct Pages {
    visits: Vec<Visit>,
    errors: Vec<(String, String)>,
}

/// One handler's time under its lock.
#[derive(Clone)]
pub(crate) struct Visit {
    pub(crate) request: String,
    pub(crate) resource: String,
    pub(crate) entered: Instant,
    pub(crate) left: Option<Instant>,
}

impl Diary {
    /// The handler of `request` holds `lease` from here until it drops what this returns, whether
    /// it came to its end or was cancelled.
    pub(crate) fn enter(&self, request: &str, lease: &LeaseHandle) -> Inside {
        let visit = Visit {
            request: request.to_owned(),
            resource: lease.resource().to_string(),
            entered: Instant::now(),
            left: None,
        };
        self.0.send_modify(|pages| pages.visits.push(visit));
        Inside {
            diary: self.clone(),
            request: request.to_owned(),
        }
    }

    pub(crate) fn note_error(&self, request: &str, text: &str) {
        let error = (request.to_owned(), text.to_owned());
        self.0.send_modify(|pages| pages.errors.push(error));
    }

    /// The text of the lock error that `request` ended with.
    pub(crate) fn error_of(&self, request: &str) -> Option<String> {
        let pages = self.0.borrow();
        let found = pages.errors.iter().find(|(id, _)| id == request);
        found.map(|(_, text)| text.clone())
    }

    /// When `request` held which lock.
    pub(crate) fn visit_of(&self, request: &str) -> Option<Visit> {
        self.0.borrow().visit_of(request).cloned()
    }

    /// Waits until the handler of `request` runs under its lock.
    pub(crate) async fn until_entered(&self, request: &str) {
        let mut pages = self.0.subscribe();
        // It fails only without a sender, and this diary is one.
        let _ = pages
            .wait_for(|pages| pages.visit_of(request).is_some())
            .await;
    }
}

impl Pages {
    fn visit_of(&self, request: &str) -> Option<&Visit> {
        self.visits.iter().find(|visit| visit.request == request)
    }
}

/// See [`Diary::enter`].
#[must_use = "the handler has left when this is dropped"]
pub(crate) struct Inside {
    diary: Diary,
    request: String,
}

impl Drop for Inside {
    fn drop(&mut self) {
        let now = Instant::now();
        self.diary.0.send_modify(|pages| {
            let mut visits = pages.visits.iter_mut();
            if let Some(visit) = visits.find(|visit| visit.request == self.request) {
                visit.left = Some(now);
            }
        });
    }
}
