//! The runtimes of callers, to which a driver lends its connections.
//!
//! They have no clock: what counts time there by itself, and not by the library's, is not the same run each time.
//! They are polled on the run's one thread, whenever all else waits; unless they stand still, or have ended.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use tokio::runtime::{Builder, EnterGuard, Handle, Id, Runtime};
use tokio::task::yield_now;

use crate::random::Random;

use super::town::Shared;
use super::wire::Pipe;

/// How often a runtime looks at its tasks and sockets before the others have their turn.
const LOOKS: usize = 4;

/// All runtimes of a run.
pub(super) struct Runtimes {
    places: Mutex<Vec<Place>>,
    /// The connections that are lent, by their numbers.
    lent: Mutex<BTreeMap<u64, (Id, Arc<Pipe>)>>,
    /// Wakes the run.
    run: Mutex<Option<Waker>>,
}

struct Place {
    /// `None` while it is polled.
    runtime: Option<Runtime>,
    handle: Handle,
    is_still: bool,
    is_ending: bool,
    watches_sockets: bool,
}

impl Place {
    fn new(watches_sockets: bool) -> Self {
        let runtime = Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime");
        Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
            is_still: false,
            is_ending: false,
            watches_sockets,
        }
    }

    fn is_wanted(&self) -> bool {
        self.is_ending || !self.is_still && self.handle.metrics().global_queue_depth() > 0
    }
}

impl Runtimes {
    /// One or two of them. Now and then, one watches no sockets.
    pub(super) fn new(random: &mut Random) -> Arc<Self> {
        let places = (0..=random.below(2)).map(|_| Place::new(!random.chance(500)));
        Arc::new(Self {
            places: Mutex::new(places.collect()),
            lent: Mutex::default(),
            run: Mutex::default(),
        })
    }

    pub(super) fn count(&self) -> usize {
        self.places.lock().expect("no panic").len()
    }

    pub(super) fn handle(&self, place: usize) -> Handle {
        self.places.lock().expect("no panic")[place].handle.clone()
    }

    /// Polls `run` in `home`, and the tasks of all other runtimes when those there wait.
    pub(super) fn drive<R>(&self, home: &Runtime, run: impl Future<Output = R>) -> R {
        let mut run = pin!(run);
        loop {
            let done = home.block_on(poll_fn(|context| {
                *self.run.lock().expect("no panic") = Some(context.waker().clone());
                if self.is_wanted() {
                    return Poll::Ready(None);
                }
                run.as_mut().poll(context).map(Some)
            }));
            if let Some(done) = done {
                return done;
            }
            (0..self.count()).for_each(|place| self.poll(place));
        }
    }

    fn is_wanted(&self) -> bool {
        let places = self.places.lock().expect("no panic");
        places.iter().any(Place::is_wanted)
    }

    /// To be called when all tasks at home wait, before the time moves on.
    pub(super) fn at_rest(&self) {
        if self.is_wanted() {
            self.wake();
        }
    }

    fn wake(&self) {
        let run = self.run.lock().expect("no panic").clone();
        run.into_iter().for_each(Waker::wake);
    }

    fn poll(&self, place: usize) {
        let (runtime, is_ending) = {
            let mut places = self.places.lock().expect("no panic");
            let place = &mut places[place];
            if !place.is_wanted() {
                return;
            }
            (
                place.runtime.take().expect("it is not polled"),
                place.is_ending,
            )
        };
        if is_ending {
            // A runtime drops its tasks by their ids, which go on from run to run in a process. The drivers that they
            // wake are to go on in one order. The last one has nothing else to wake it.
            let lent = self.lent_to(runtime.handle().id());
            let others = lent.iter().rev().skip(1).rev();
            others.for_each(|pipe| pipe.wake_lender());
            let next = Place::new(true);
            self.places.lock().expect("no panic")[place] = next;
            drop(runtime);
            return;
        }
        runtime.block_on(async {
            for _ in 0..LOOKS {
                yield_now().await;
            }
        });
        self.places.lock().expect("no panic")[place].runtime = Some(runtime);
    }

    /// Ends all.
    pub(super) fn close(&self) {
        let places = std::mem::take(&mut *self.places.lock().expect("no panic"));
        drop(places);
        // The library's runtime, which it leads to, leads back to this.
        drop(self.run.lock().expect("no panic").take());
    }

    /// A runtime stands still, or goes on.
    pub(super) fn stand_still(&self, place: usize, is_still: bool) {
        self.places.lock().expect("no panic")[place].is_still = is_still;
        self.wake();
    }

    /// A runtime ends, and another one takes its place.
    pub(super) fn end(&self, town: &Shared, place: usize) {
        let id = self.handle(place).id();
        for pipe in self.lent_to(id) {
            let mut town = town.lock().expect("no panic");
            town.count("ended with a loan");
            if pipe.is_waited_for() {
                town.count("ended with a loan and an answer outstanding");
            }
        }
        self.places.lock().expect("no panic")[place].is_ending = true;
        self.wake();
    }

    /// All go on, and watch sockets.
    pub(super) fn calm_down(&self) {
        for place in self.places.lock().expect("no panic").iter_mut() {
            (place.is_still, place.watches_sockets) = (false, true);
        }
        self.wake();
    }

    fn lent_to(&self, id: Id) -> Vec<Arc<Pipe>> {
        let lent = self.lent.lock().expect("no panic");
        let there = lent.values().filter(|(its, _)| *its == id);
        there.map(|(_, pipe)| Arc::clone(pipe)).collect()
    }

    pub(super) fn is_lent_to(&self, place: usize) -> bool {
        !self.lent_to(self.handle(place).id()).is_empty()
    }

    /// Records that `runtime` watches the connection with that number from now on. True unless it is home.
    ///
    /// # Panics
    /// If that runtime watches no sockets. It is no panic for the log.
    pub(super) fn watches(
        &self,
        town: &Shared,
        number: u64,
        pipe: &Arc<Pipe>,
        runtime: &Handle,
    ) -> io::Result<bool> {
        let id = runtime.id();
        let places = self.places.lock().expect("no panic");
        let place = places.iter().find(|place| place.handle.id() == id);
        let watches_sockets = place.map(|place| place.watches_sockets);
        drop(places);
        let mut town = town.lock().expect("no panic");
        // Any other runtime was one of these, but for the library's.
        let is_home = town.home == id;
        if !town.is_calm && town.random.chance(100) {
            town.count("not moved");
            return Err(io::Error::other("no descriptor is left"));
        }
        let mut lent = self.lent.lock().expect("no panic");
        if is_home {
            lent.remove(&number);
            town.count("taken back");
            if pipe.is_waited_for() {
                town.count("taken back with an answer outstanding");
            }
        } else {
            match watches_sockets {
                None => return Err(io::Error::other("the runtime has ended")),
                Some(true) => {}
                Some(false) => {
                    town.count("watches no sockets");
                    drop((town, lent));
                    std::panic::resume_unwind(Box::new("no reactor"));
                }
            }
            lent.insert(number, (id, Arc::clone(pipe)));
            town.count("lent");
        }
        town.tell(|| format!("#{number} is lent: {}", !is_home));
        Ok(!is_home)
    }

    /// The connection is gone.
    pub(super) fn gone(&self, town: &Shared, number: u64) {
        let was_lent = self.lent.lock().expect("no panic").remove(&number);
        if was_lent.is_some() {
            town.lock()
                .expect("no panic")
                .count("ended while it was lent");
        }
    }
}

/// Where a caller runs: in one of the runtimes, or in the library's.
#[derive(Clone)]
pub(super) struct Whereabouts {
    pub(super) town: Shared,
    pub(super) runtimes: Arc<Runtimes>,
    pub(super) place: Option<usize>,
}

impl Whereabouts {
    /// Calls `act` there.
    pub(super) fn there<T>(&self, act: impl FnOnce() -> T) -> T {
        let handle = self.place.map(|place| self.runtimes.handle(place));
        let _entered: Option<EnterGuard<'_>> = handle.as_ref().map(Handle::enter);
        act()
    }

    /// Runs `work` there.
    pub(super) fn run<F: Future>(&self, work: F) -> There<F> {
        There {
            whereabouts: self.clone(),
            work: Some(Box::pin(work)),
        }
    }
}

/// Work that is polled, and dropped, as if it were a task of a runtime.
pub(super) struct There<F> {
    whereabouts: Whereabouts,
    /// `None` once it is done.
    work: Option<Pin<Box<F>>>,
}

impl<F: Future> Future for There<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        let work = this.work.as_mut().expect("it is not done");
        let polled = this.whereabouts.there(|| work.as_mut().poll(context));
        if polled.is_ready() {
            let done = this.work.take();
            this.whereabouts.there(|| drop(done));
        }
        polled
    }
}

impl<F> Drop for There<F> {
    fn drop(&mut self) {
        let Some(work) = self.work.take() else { return };
        let there = &self.whereabouts;
        if there
            .place
            .is_some_and(|place| there.runtimes.is_lent_to(place))
        {
            there
                .town
                .lock()
                .expect("no panic")
                .count("dropped within a loan");
        }
        there.there(|| drop(work));
    }
}
