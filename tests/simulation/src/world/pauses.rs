//! Processes and threads that stand still while the rest of the world goes on.

use std::sync::Arc;
use std::time::Duration;

use super::{ProcessId, State, World};

/// Polls inside of polls, at most: each is a thread that stands still while others run.
const DEEPEST: usize = 6;

/// The rates at which processes pause, in chances out of 10 000.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pauses {
    /// Before a poll.
    pub at_polls: u64,
    /// At a reading of the clock while an acquisition is being polled.
    pub at_clocks: u64,
    /// The pauses of one thread only, before an operation is handed to a node.
    pub at_submits: u64,
    /// The longest of the usual pauses, in ms. One in eight is four times as long.
    pub longest: u64,
}

impl State {
    /// Resumes the tasks of `process` that waited for the end of a pause, unless it is still paused.
    pub(super) fn unpark(&mut self, process: ProcessId) {
        let process = &mut self.processes[process];
        if process.paused_until.is_none() {
            self.ready.append(&mut process.parked);
        }
    }

    pub(super) fn draw_pause(&mut self) -> Duration {
        let longest = self.pauses.longest.max(1);
        if self.random.below(8) == 0 {
            self.random.millis(longest, 4 * longest)
        } else {
            self.random.micros(10, longest * 1000)
        }
    }

    pub(super) fn pause(&mut self, id: ProcessId, span: Duration) -> Duration {
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

impl World {
    /// Lets processes stand still so often from here on.
    pub fn set_pauses(&self, pauses: Pauses) {
        self.lock().pauses = pauses;
    }

    /// Returns how many pauses there were.
    pub fn pauses_taken(&self) -> u64 {
        self.lock().pauses_taken
    }

    /// Returns the total time for which `process` has paused.
    pub fn paused_for(&self, process: ProcessId) -> Duration {
        self.lock().processes[process].paused_for
    }

    /// True if `process`, or a thread of it, is paused now.
    pub fn is_paused(&self, process: ProcessId) -> bool {
        let state = self.lock();
        let process = &state.processes[process];
        process.paused_until.is_some() || process.standing > 0
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

    pub(super) fn resume(&self, id: ProcessId) {
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

    /// Lets the rest of the world go on in the middle of a poll. That may take longer: another
    /// thread may stand still on top of this one.
    fn stand_still(self: &Arc<Self>, process: ProcessId, until: Duration) {
        let polled = {
            let mut state = self.lock();
            state.depth += 1;
            state.processes[process].standing += 1;
            std::mem::take(&mut state.polled)
        };
        while self.step(until) {}
        let mut state = self.lock();
        state.depth -= 1;
        state.processes[process].standing -= 1;
        state.polled = polled;
    }

    /// Lets any other thread overtake a thread that submits an operation to a node.
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

    /// Lets a thread that reads the clock pause here, with its whole process.
    pub(crate) fn at_clock(self: &Arc<Self>, process: ProcessId) {
        let (began, mut until) = {
            let mut state = self.lock();
            let chance = state.pauses.at_clocks;
            if state.polled.stoppable != Some(process)
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
}
