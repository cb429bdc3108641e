//! What is to hold, and what has to be reached.

use crate::attempts::{has, name};

use super::{Key, Phase, Promise, Sharing, State, Told, Vote, WATCHED, landmark};

impl<const NODES: usize, const ATTEMPTS: usize> Sharing<NODES, ATTEMPTS> {
    pub(super) fn broken_promise(&self, state: &State<NODES, ATTEMPTS>) -> Option<String> {
        match self.promise {
            Promise::Exclusive => self.excluded_together(state),
            Promise::MarkerBesideReaders => reader_without_marker(state),
            Promise::NobodyBetween => {
                let is_broken = state.is_extended && state.is_intruded;
                let watched = name(WATCHED);
                is_broken.then(|| format!("{watched} was extended behind another holder"))
            }
            Promise::NothingLeft => is_all_over(state).then(|| {
                let is_left = |n: &usize| {
                    let column = &state.columns[*n];
                    column.key != Key::None || column.entries != 0
                };
                let left = (0..NODES).find(is_left);
                left.map(|n| format!("something is left at node {}", n + 1))
            })?,
        }
    }

    /// Two valid leases that exclude each other.
    fn excluded_together(&self, state: &State<NODES, ATTEMPTS>) -> Option<String> {
        let held = Self::held(state);
        let holders = || (0..ATTEMPTS).filter(|a| has(held, *a));
        let exclusive = holders().find(|a| !self.is_reader(*a))?;
        let other = holders().find(|b| *b != exclusive)?;
        let (exclusive, other) = (name(exclusive), name(other));
        Some(format!(
            "{other} holds beside {exclusive}, who is to be alone"
        ))
    }

    pub(super) fn seen(&self, state: &State<NODES, ATTEMPTS>) -> u32 {
        let held = Self::held(state);
        let is_held = |a: &usize| has(held, *a);
        let is_over = |a: &usize| {
            let was_granted = |n: &usize| state.columns[*n].cells[*a].vote == Vote::Granted;
            let is_won = (0..NODES).filter(was_granted).count() > NODES / 2;
            state.attempts[*a].phase == Phase::Over && is_won
        };
        let is_reader = |a: &usize| self.is_reader(*a);
        let any = |is: &dyn Fn(&usize) -> bool| (0..ATTEMPTS).any(|a| is(&a));
        let mut seen = 0;
        let mut see = |is_so, landmark| {
            if is_so {
                seen |= landmark;
            }
        };
        let readers = (0..ATTEMPTS).filter(|a| is_held(a) && is_reader(a));
        see(readers.clone().count() >= 2, landmark::TWO_READERS);
        let writer_holds = any(&|a| is_held(a) && !is_reader(a));
        let reader_was = any(&|a| is_over(a) && is_reader(a));
        see(writer_holds && reader_was, landmark::WRITER_AFTER_READER);
        let writer_was = any(&|a| is_over(a) && !is_reader(a));
        let reader_holds = readers.count() > 0;
        see(reader_holds && writer_was, landmark::READER_AFTER_WRITER);
        see(state.is_extended, landmark::EXTENDED);
        see(state.is_intruded, landmark::INTRUDED);
        see(is_all_over(state), landmark::ALL_OVER);
        seen
    }
}

/// A reader that is in, without the marker.
fn reader_without_marker<const NODES: usize, const ATTEMPTS: usize>(
    state: &State<NODES, ATTEMPTS>,
) -> Option<String> {
    for (n, column) in state.columns.iter().enumerate() {
        let is_in = |a: &usize| {
            let is_over = state.attempts[*a].phase == Phase::Over;
            has(column.entries, *a) && !is_over
        };
        if let Some(a) = (0..ATTEMPTS).find(is_in)
            && column.key != Key::Marker
        {
            let (node, reader) = (n + 1, name(a));
            return Some(format!("node {node} has reader {reader} and no marker"));
        }
    }
    None
}

/// True if everybody has left and every release was served.
fn is_all_over<const NODES: usize, const ATTEMPTS: usize>(state: &State<NODES, ATTEMPTS>) -> bool {
    let is_served = |a: usize| {
        let mut columns = state.columns.iter();
        columns.all(|column| column.cells[a].release == Told::Done)
    };
    (0..ATTEMPTS).all(|a| state.attempts[a].phase == Phase::Over && is_served(a))
}
