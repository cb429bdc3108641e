//! The executor: one thread, a virtual clock, and a queue of what happens next.
//!
//! Everything that happens is an event at a time of the common clock, or a poll of a task. Both are
//! taken in an order that depends on the seed alone. Time passes only between events.
//!
//! A *process* is one client: its tasks, and what arrives for it. It can be paused at any boundary
//! between polls, and inside of a poll at the places where core reads its clock or submits to a
//! node: there the rest of the world goes on, nested in the poll.

mod pauses;
mod polled;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use redlock_core::env::{Spawn, Task};

pub use pauses::Pauses;
pub use polled::CallId;

use crate::random::Random;
use polled::Polled;

/// The effect of an event.
pub type Action = Box<dyn FnOnce() + Send>;

/// The number of a client, from 0.
pub type ProcessId = usize;

/// See the [module](self).
pub struct World {
    state: Mutex<State>,
}

struct State {
    now: Duration,
    events: BTreeMap<EventKey, Event>,
    next_event: u64,
    tasks: Vec<Option<Slot>>,
    ready: Vec<usize>,
    processes: Vec<Process>,
    polled: Polled,
    depth: usize,
    pauses: Pauses,
    pauses_taken: u64,
    random: Random,
    has_ended: bool,
}

/// When, and which of those at the same time.
pub(crate) type EventKey = (Duration, u64);

enum Event {
    Wake(Waker),
    Do(Action),
}

struct Slot {
    process: ProcessId,
    /// Not there while it is being polled.
    task: Option<Task>,
    waker: Waker,
    is_ready: bool,
}

#[derive(Default)]
struct Process {
    paused_until: Option<Duration>,
    paused_since: Duration,
    /// Nothing that arrives is looked at either: the whole process stands still, and not only the threads that poll.
    is_deaf: bool,
    parked: Vec<usize>,
    mail: VecDeque<Action>,
    /// The work that waits until the threads run again.
    later: Vec<Action>,
    paused_for: Duration,
    /// Threads that stand still in the middle of a poll.
    standing: usize,
}

struct TaskWaker {
    world: Weak<World>,
    id: usize,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        if let Some(world) = self.world.upgrade() {
            world.lock().make_ready(self.id);
        }
    }
}

impl State {
    fn make_ready(&mut self, id: usize) {
        if let Some(Some(slot)) = self.tasks.get_mut(id)
            && !slot.is_ready
        {
            slot.is_ready = true;
            self.ready.push(id);
        }
    }

    fn put(&mut self, at: Duration, event: Event) -> EventKey {
        let key = (at.max(self.now), self.next_event);
        self.next_event += 1;
        self.events.insert(key, event);
        key
    }
}

enum Next {
    Poll(usize, Task, Waker),
    Event(Event),
    Nothing,
}

impl World {
    /// Returns a world at time zero, of `processes` clients.
    pub fn new(processes: usize, random: Random) -> Arc<Self> {
        let state = State {
            now: Duration::ZERO,
            events: BTreeMap::new(),
            next_event: 0,
            tasks: Vec::new(),
            ready: Vec::new(),
            processes: (0..processes).map(|_| Process::default()).collect(),
            polled: Polled::default(),
            depth: 0,
            pauses: Pauses::default(),
            pauses_taken: 0,
            random,
            has_ended: false,
        };
        Arc::new(Self {
            state: Mutex::new(state),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Returns the common clock.
    pub fn now(&self) -> Duration {
        self.lock().now
    }

    /// True if the run is over: what is dropped then has no effect any more.
    pub fn has_ended(&self) -> bool {
        self.lock().has_ended
    }

    /// Does `action` at `at`.
    pub fn at(&self, at: Duration, action: impl FnOnce() + Send + 'static) {
        self.lock().put(at, Event::Do(Box::new(action)));
    }

    /// Does `action` after `delay`.
    pub fn after(&self, delay: Duration, action: impl FnOnce() + Send + 'static) {
        let mut state = self.lock();
        let at = state.now.saturating_add(delay);
        state.put(at, Event::Do(Box::new(action)));
    }

    pub(crate) fn wake_at(&self, at: Duration, waker: Waker) -> EventKey {
        self.lock().put(at, Event::Wake(waker))
    }

    pub(crate) fn forget(&self, key: EventKey) {
        let _event = self.lock().events.remove(&key);
    }

    /// Does `action` in `process`: now, or when it listens again.
    pub fn deliver(&self, process: ProcessId, action: impl FnOnce() + Send + 'static) {
        {
            let mut state = self.lock();
            let process = &mut state.processes[process];
            if process.is_deaf || !process.mail.is_empty() {
                process.mail.push_back(Box::new(action));
                return;
            }
        }
        action();
    }

    /// Does `action` in `process` once its threads run: what would wait for a lock that one of them
    /// may hold while it stands still.
    pub fn when_awake(&self, process: ProcessId, action: impl FnOnce() + Send + 'static) {
        {
            let mut state = self.lock();
            let process = &mut state.processes[process];
            if process.paused_until.is_some() {
                process.later.push(Box::new(action));
                return;
            }
        }
        action();
    }

    /// Runs `task` as a part of `process`.
    pub fn spawn(self: &Arc<Self>, process: ProcessId, task: Task) {
        let mut state = self.lock();
        let id = state.tasks.len();
        let waker = Waker::from(Arc::new(TaskWaker {
            world: Arc::downgrade(self),
            id,
        }));
        state.tasks.push(Some(Slot {
            process,
            task: Some(task),
            waker,
            is_ready: false,
        }));
        state.make_ready(id);
    }

    /// Returns the spawner for background work of `process`.
    pub fn spawner(self: &Arc<Self>, process: ProcessId) -> Arc<dyn Spawn> {
        Arc::new(Spawner {
            world: Arc::clone(self),
            process,
        })
    }

    /// Polls a task or lets an event happen, where there is one up to `until`; otherwise moves the clock there.
    fn step(self: &Arc<Self>, until: Duration) -> bool {
        match self.next(until) {
            Next::Nothing => return false,
            Next::Event(Event::Wake(waker)) => waker.wake(),
            Next::Event(Event::Do(action)) => action(),
            Next::Poll(id, mut task, waker) => {
                let polled = task.as_mut().poll(&mut Context::from_waker(&waker));
                let slot = {
                    let mut state = self.lock();
                    // Others of its process may have been woken, and it too, while it stood still in
                    // the middle of this poll.
                    if let Some(process) = state.tasks[id].as_ref().map(|slot| slot.process) {
                        state.unpark(process);
                    }
                    match (&mut state.tasks[id], polled) {
                        (slot, Poll::Ready(())) => slot.take(),
                        (Some(slot), Poll::Pending) => {
                            slot.task = Some(task);
                            return true;
                        }
                        (None, Poll::Pending) => None,
                    }
                };
                // Outside of the lock: what they own may submit or wake.
                drop((task, slot));
            }
        }
        true
    }

    fn next(self: &Arc<Self>, until: Duration) -> Next {
        let mut state = self.lock();
        loop {
            if state.ready.is_empty() {
                break match state.events.first_key_value() {
                    Some(((at, _), _)) if *at <= until => {
                        state.now = *at;
                        let event = state.events.pop_first().map(|(_, event)| event);
                        event.map_or(Next::Nothing, Next::Event)
                    }
                    _ => {
                        state.now = state.now.max(until);
                        Next::Nothing
                    }
                };
            }
            let count = state.ready.len();
            let place = state.random.index(count);
            let id = state.ready.swap_remove(place);
            let Some(process) = state.tasks[id].as_ref().map(|slot| slot.process) else {
                continue;
            };
            if state.processes[process].paused_until.is_some() {
                state.processes[process].parked.push(id);
                continue;
            }
            let chance = state.pauses.at_polls;
            if state.random.chance(chance) {
                let span = state.draw_pause();
                let until = state.pause(process, span);
                let world = Arc::clone(self);
                let resume = Box::new(move || world.resume(process));
                state.put(until, Event::Do(resume));
                state.processes[process].parked.push(id);
                continue;
            }
            let Some(slot) = &mut state.tasks[id] else {
                continue;
            };
            let Some(task) = slot.task.take() else {
                // It is being polled, and stands still in there: its turn comes later.
                state.processes[process].parked.push(id);
                continue;
            };
            slot.is_ready = false;
            break Next::Poll(id, task, slot.waker.clone());
        }
    }

    /// Lets the world go on up to `until`, or until `is_done`.
    pub fn run(self: &Arc<Self>, until: Duration, is_done: impl Fn() -> bool) {
        while !is_done() && self.step(until) {}
    }

    /// Ends the run: drops all tasks and events, so that nothing keeps anything alive in a circle.
    pub fn end(&self) {
        self.lock().has_ended = true;
        loop {
            let (tasks, events, mail) = {
                let mut state = self.lock();
                let mail: Vec<_> = (state.processes.iter_mut()).map(std::mem::take).collect();
                (
                    std::mem::take(&mut state.tasks),
                    std::mem::take(&mut state.events),
                    mail,
                )
            };
            if tasks.is_empty() && events.is_empty() {
                return;
            }
            drop((tasks, events, mail));
        }
    }
}

struct Spawner {
    world: Arc<World>,
    process: ProcessId,
}

impl Spawn for Spawner {
    fn spawn(&self, task: Task) {
        self.world.spawn(self.process, task);
    }
}
