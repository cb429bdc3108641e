//! Serves few callers where they run.
//!
//! The library's thread serves every connection. If its callers come one at a time, and all from one
//! tokio runtime, the connection is lent to that runtime: its answers are then read by the thread that
//! waits for them. The library's thread takes it back at once if anybody else sends an operation, if
//! there are many, or if that runtime ends, and within a tick if nothing was heard.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep};

use super::{ConnectionEnd, Serve};
use crate::env::caught::caught;
use crate::node::NodeError;
use crate::redis::connection::errors::lost;
use crate::redis::connection::movable::Movable;

/// How often the library's thread looks at a connection that is lent.
const TICK: Duration = Duration::from_millis(50);

/// Where a connection is served.
pub(super) struct Place {
    /// The socket, if it can be lent.
    socket: Option<Movable>,
    /// The library's runtime.
    home: Handle,
    loan: Option<Loan>,
    /// The number of loans so far.
    loans: u64,
}

struct Loan {
    number: u64,
    /// The task in the other runtime.
    guest: Option<Waker>,
}

impl Place {
    pub(super) fn new(socket: Option<Movable>) -> Self {
        Self {
            socket,
            home: Handle::current(),
            loan: None,
            loans: 0,
        }
    }
}

/// A connection that is being served, by whichever runtime.
pub(in crate::redis::server) struct Serving {
    shared: Arc<Shared>,
    tick: Pin<Box<Sleep>>,
    heard: Instant,
}

struct Shared {
    serve: Mutex<Serve>,
    /// The task on the library's thread, and how the connection ended elsewhere.
    driver: Mutex<(Option<Waker>, Option<ConnectionEnd>)>,
}

impl Shared {
    fn wake_driver(&self) {
        let waker = self.driver.lock().0.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Serving {
    pub(in crate::redis::server) fn new(serve: Serve) -> Self {
        Self {
            heard: serve.heard,
            tick: Box::pin(tokio::time::sleep(TICK)),
            shared: Arc::new(Shared {
                serve: Mutex::new(serve),
                driver: Mutex::default(),
            }),
        }
    }

    /// Ends the connection from outside.
    pub(in crate::redis::server) fn end(&mut self, error: NodeError) -> ConnectionEnd {
        let mut serve = self.shared.serve.lock();
        serve.take_back();
        serve.end(error)
    }

    /// True if the connection is to be served here from now on.
    fn is_due(&mut self, serve: &Serve, context: &mut Context<'_>) -> bool {
        while self.tick.as_mut().poll(context).is_ready() {
            if std::mem::replace(&mut self.heard, serve.heard) == serve.heard {
                return true;
            }
            self.tick.as_mut().reset(Instant::now() + TICK);
        }
        false
    }
}

impl Future for Serving {
    type Output = ConnectionEnd;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<ConnectionEnd> {
        let this = &mut *self;
        let shared = Arc::clone(&this.shared);
        {
            let mut driver = shared.driver.lock();
            if let Some(end) = driver.1.take() {
                return Poll::Ready(end);
            }
            driver.0 = Some(context.waker().clone());
        }
        let mut serve = shared.serve.lock();
        if serve.place.loan.is_some() {
            if !serve.inbox.is_recalled() && !this.is_due(&serve, context) {
                return Poll::Pending;
            }
            serve.take_back();
        }
        let end = Pin::new(&mut *serve).poll(context);
        if end.is_pending()
            && let Some(runtime) = serve.inbox.wish()
        {
            serve.lend(&runtime, &shared, context.waker());
            this.heard = serve.heard;
            this.tick.as_mut().reset(Instant::now() + TICK);
            // Its first poll arms the tick.
            let _ = this.is_due(&serve, context);
        }
        end
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.shared.serve.lock().abandon();
    }
}

impl Serve {
    /// Lends the connection to `runtime`.
    fn lend(&mut self, runtime: &Handle, shared: &Arc<Shared>, driver: &Waker) {
        let Some(socket) = self.place.socket.clone() else {
            return;
        };
        // A runtime that watches no sockets panics here.
        let moved = caught("a runtime without I/O", || socket.move_to(runtime));
        if !matches!(moved, Some(Ok(()))) {
            return;
        }
        self.place.loans += 1;
        let number = self.place.loans;
        self.place.loan = Some(Loan {
            number,
            guest: None,
        });
        self.inbox.lent(runtime.id(), driver);
        runtime.spawn(Guest {
            shared: Arc::clone(shared),
            number,
        });
    }

    /// The library's runtime watches the socket again. Poll the connection after this.
    fn take_back(&mut self) {
        self.inbox.returned();
        let Some(loan) = self.place.loan.take() else {
            return;
        };
        if let Some(socket) = &self.place.socket {
            // If the system refuses this, the next read fails, and the connection ends.
            let _ = socket.move_to(&self.place.home);
        }
        if let Some(guest) = loan.guest {
            guest.wake();
        }
    }

    /// Gives the connection up, if it has not ended.
    fn abandon(&mut self) {
        self.take_back();
        if !self.is_over {
            self.give_up(&lost("the node's driver has ended"));
        }
    }
}

/// The task that serves a connection in the runtime of its callers.
struct Guest {
    shared: Arc<Shared>,
    number: u64,
}

impl Guest {
    fn is_over(&self, serve: &Serve) -> bool {
        serve.place.loan.as_ref().map(|loan| loan.number) != Some(self.number)
    }
}

impl Future for Guest {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut serve = self.shared.serve.lock();
        if self.is_over(&serve) {
            return Poll::Ready(());
        }
        let home = serve.place.home.clone();
        let end = {
            // Time is the library's, and not that of a runtime whose clock a test may have paused.
            let _entered = home.enter();
            Pin::new(&mut *serve).poll(context)
        };
        match end {
            Poll::Ready(end) => {
                serve.take_back();
                self.shared.driver.lock().1 = Some(end);
            }
            Poll::Pending if serve.quiet_takes == 0 => serve.take_back(),
            Poll::Pending => {
                if let Some(loan) = &mut serve.place.loan {
                    let guest = loan.guest.get_or_insert_with(|| context.waker().clone());
                    guest.clone_from(context.waker());
                }
                return Poll::Pending;
            }
        }
        drop(serve);
        self.shared.wake_driver();
        Poll::Ready(())
    }
}

impl Drop for Guest {
    /// Also if its runtime ends.
    fn drop(&mut self) {
        let mut serve = self.shared.serve.lock();
        if !self.is_over(&serve) {
            serve.take_back();
            drop(serve);
            self.shared.wake_driver();
        }
    }
}
