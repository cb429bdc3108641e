//! The executor: one thread, a virtual clock, and a queue of what happens next.
//!
//! Everything that happens is an event at a time of the common clock, or a poll of a task. Both are
//! taken in an order that depends on the seed alone. Time passes only between events.
//!
//! A *process* is one client: its tasks, and what arrives for it. It can be paused at any boundary
//! between polls, and inside of a poll at the places where core reads its clock or submits to a
//! node: there the rest of the world goes on, nested in the poll.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use redlock_core::{Spawn, Task};

use crate::random::Random;

/// What an event does.
pub type Action = Box<dyn FnOnce() + Send>;

/// The number of a client, from 0.
pub type ProcessId = usize;

/// Polls inside of polls, at most: each is a thread that stands still while others run.
const DEEPEST: usize = 6;

/// How often processes stand still, in chances out of 10 000.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pauses {
    /// Before a poll.
    pub at_polls: u64,
    /// At a reading of the clock while an acquisition is being polled.
    pub at_clocks: u64,
    /// Of one thread only, before an operation is handed to a node.
    pub at_submits: u64,
    /// The longest of the usual pauses, in ms. One in eight is four times as long.
    pub longest: u64,
}

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
    /// The process whose acquisition is being polled right now.
    acquiring: Option<ProcessId>,
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
    /// Nothing that arrives is looked at either: the whole process stands still, and not only the
    /// threads that poll.
    is_deaf: bool,
    parked: Vec<usize>,
    mail: VecDeque<Action>,
    /// What waits for the threads to run again.
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

    /// The tasks of `process` that waited for it go on, unless it still stands still.
    fn unpark(&mut self, process: ProcessId) {
        let process = &mut self.processes[process];
        if process.paused_until.is_none() {
            self.ready.append(&mut process.parked);
        }
    }

    fn put(&mut self, at: Duration, event: Event) -> EventKey {
        let key = (at.max(self.now), self.next_event);
        self.next_event += 1;
        self.events.insert(key, event);
        key
    }

    fn draw_pause(&mut self) -> Duration {
        let longest = self.pauses.longest.max(1);
        if self.random.below(8) == 0 {
            self.random.millis(longest, 4 * longest)
        } else {
            self.random.micros(10, longest * 1000)
        }
    }

    fn pause(&mut self, id: ProcessId, span: Duration) -> Duration {
        let until = self.now.saturating_add(span);
        let is_deaf = self.random.below(2) == 0;
        self.pauses_taken += 1;
        let process = &mut self.processes[id];
        if process.paused_until.is_none() {
            process.paused_since = self.now;
        }
        process.paused_until = Some(process.paused_until.map_or(until, |known| known.max(until)));
        process.is_deaf |= is_deaf;
        until
    }
}

enum Next {
    Poll(usize, Task, Waker),
    Event(Event),
    Nothing,
}

impl World {
    /// A world at time zero, of `processes` clients.
    pub fn new(processes: usize, random: Random) -> Arc<Self> {
        let state = State {
            now: Duration::ZERO,
            events: BTreeMap::new(),
            next_event: 0,
            tasks: Vec::new(),
            ready: Vec::new(),
            processes: (0..processes).map(|_| Process::default()).collect(),
            acquiring: None,
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The common clock.
    pub fn now(&self) -> Duration {
        self.lock().now
    }

    /// Lets processes stand still so often from here on.
    pub fn set_pauses(&self, pauses: Pauses) {
        self.lock().pauses = pauses;
    }

    /// How many pauses there were.
    pub fn pauses_taken(&self) -> u64 {
        self.lock().pauses_taken
    }

    /// For how long `process` stood still, in all.
    pub fn paused_for(&self, process: ProcessId) -> Duration {
        self.lock().processes[process].paused_for
    }

    /// Whether `process`, or a thread of it, stands still now.
    pub fn is_paused(&self, process: ProcessId) -> bool {
        let state = self.lock();
        let process = &state.processes[process];
        process.paused_until.is_some() || process.standing > 0
    }

    /// Whether the run is over: what is dropped then has no effect any more.
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

    /// Where background work of `process` runs.
    pub fn spawner(self: &Arc<Self>, process: ProcessId) -> Arc<dyn Spawn> {
        Arc::new(Spawner {
            world: Arc::clone(self),
            process,
        })
    }

    /// Lets `process` stand still for `span` from now.
    pub fn pause(self: &Arc<Self>, process: ProcessId, span: Duration) {
        let until = self.lock().pause(process, span);
        self.resume_at(process, until);
    }

    fn resume_at(self: &Arc<Self>, process: ProcessId, until: Duration) {
        let world = Arc::clone(self);
        self.at(until, move || world.resume(process));
    }

    fn resume(&self, id: ProcessId) {
        {
            let mut state = self.lock();
            let now = state.now;
            let process = &mut state.processes[id];
            if process.paused_until.is_none_or(|until| until > now) {
                return;
            }
            process.paused_until = None;
            process.paused_for += now.saturating_sub(process.paused_since);
            state.unpark(id);
        }
        // In the order of arrival; what a letter makes arrive comes behind the others.
        loop {
            let letter = {
                let mut state = self.lock();
                let process = &mut state.processes[id];
                if process.paused_until.is_some() {
                    return;
                }
                process.is_deaf = false;
                process.mail.pop_front()
            };
            match letter {
                // Whatever the thread that resumes was about: this is not a part of it.
                Some(letter) => self.observing(letter),
                None => break,
            }
        }
        let later = std::mem::take(&mut self.lock().processes[id].later);
        for action in later {
            self.when_awake(id, action);
        }
    }

    /// Polls a task or lets an event happen, where there is one up to `until`; otherwise moves the
    /// clock there.
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

    /// Lets the rest of the world go on in the middle of a poll. That may take longer: another
    /// thread may stand still on top of this one.
    fn stand_still(self: &Arc<Self>, process: ProcessId, until: Duration) {
        let acquiring = {
            let mut state = self.lock();
            state.depth += 1;
            state.processes[process].standing += 1;
            state.acquiring.take()
        };
        while self.step(until) {}
        let mut state = self.lock();
        state.depth -= 1;
        state.processes[process].standing -= 1;
        state.acquiring = acquiring;
    }

    /// A thread hands an operation to a node: it may be overtaken by any other thread here.
    /// `times` as often as usual and for as long, where races are rare.
    pub fn before_submit(self: &Arc<Self>, process: ProcessId, times: u64) {
        let (began, until) = {
            let mut state = self.lock();
            let chance = state.pauses.at_submits * times;
            if state.depth >= DEEPEST || state.has_ended || !state.random.chance(chance) {
                return;
            }
            let span = state.random.micros(1, 20_000 * times);
            state.pauses_taken += 1;
            (state.now, state.now + span)
        };
        self.stand_still(process, until);
        let mut state = self.lock();
        let stood = state.now.saturating_sub(began);
        state.processes[process].paused_for += stood;
        state.unpark(process);
    }

    /// A thread reads the clock: it may stand still here, with its whole process.
    pub(crate) fn at_clock(self: &Arc<Self>, process: ProcessId) {
        let (began, mut until) = {
            let mut state = self.lock();
            let chance = state.pauses.at_clocks;
            if state.acquiring != Some(process)
                || state.depth >= DEEPEST
                || state.has_ended
                || state.processes[process].paused_until.is_some()
                || !state.random.chance(chance)
            {
                return;
            }
            let span = state.draw_pause();
            (state.now, state.pause(process, span))
        };
        loop {
            self.stand_still(process, until);
            let mut state = self.lock();
            match state.processes[process].paused_until {
                // Somebody paused it for longer meanwhile.
                Some(later) if later > state.now => until = later,
                _ => {
                    // Others of its process may have gone on before.
                    let stood = state.now.saturating_sub(began);
                    state.processes[process].paused_for += stood;
                    break;
                }
            }
        }
        self.resume(process);
    }

    /// Polls an acquisition of `process`, in which no lock of core's is held while the clock is
    /// read: so it can be stopped there.
    pub(crate) fn acquiring<T>(&self, process: ProcessId, poll: impl FnOnce() -> T) -> T {
        let outer = self.lock().acquiring.replace(process);
        let output = poll();
        self.lock().acquiring = outer;
        output
    }

    /// Looks at something in a process without stopping it.
    pub(crate) fn observing<T>(&self, look: impl FnOnce() -> T) -> T {
        let outer = self.lock().acquiring.take();
        let output = look();
        self.lock().acquiring = outer;
        output
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
