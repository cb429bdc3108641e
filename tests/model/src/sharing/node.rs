//! What happens at the nodes.

use crate::attempts::{bits, has};
use crate::search::Take;

use super::{
    Action, Column, Creating, Extend, Extension, Key, Kind, Leaving, Marker, Phase, Promise,
    Sharing, State, Told, Vote,
};

impl<const NODES: usize, const ATTEMPTS: usize> Sharing<NODES, ATTEMPTS> {
    /// What is under way between `a` and node `n`. The release stays behind the acquisition, as one
    /// connection keeps their order.
    pub(super) fn deliveries(
        &self,
        state: &State<NODES, ATTEMPTS>,
        a: usize,
        n: usize,
        to: &mut impl Take<Self>,
    ) {
        let column = &state.columns[n];
        let (cell, phase) = (column.cells[a], state.attempts[a].phase);
        if phase == Phase::Idle {
            return;
        }
        let mut change = |action, change: &dyn Fn(&mut Column<ATTEMPTS>)| {
            let mut next = *state;
            change(&mut next.columns[n]);
            to(action, next);
        };
        let must_arrive = self.promise == Promise::NothingLeft;
        if cell.vote == Vote::Underway {
            if self.admits(column, a) {
                change(Action::Grant(a, n), &|column| self.admit(column, a));
            } else if must_arrive {
                change(Action::Refuse(a, n), &|column| {
                    column.cells[a].vote = Vote::Refused;
                });
            }
            return;
        }
        if cell.extend == Extend::Underway && self.prolongs(column, a) {
            change(Action::Prolong(a, n), &|column| {
                column.entries |= 1 << a;
                column.covers |= 1 << a;
                column.cells[a].extend = Extend::Granted;
            });
        }
        let is_there = column.key == of(a) || has(column.entries, a);
        let is_released = if must_arrive {
            cell.release == Told::Underway
        } else {
            phase == Phase::Over && is_there
        };
        if is_released {
            change(Action::Release(a, n), &|column| self.leave(column, a));
        }
    }

    fn admits(&self, column: &Column<ATTEMPTS>, a: usize) -> bool {
        match (self.kinds[a], column.key) {
            (Kind::Plain, key) => key == Key::None,
            (Kind::Writer, Key::None) => self.marker != Marker::None || column.entries == 0,
            (Kind::Writer, Key::Marker) => column.entries == 0,
            (Kind::Reader, Key::None | Key::Marker) => true,
            (Kind::Writer | Kind::Reader, Key::Of(_)) => false,
        }
    }

    fn admit(&self, column: &mut Column<ATTEMPTS>, a: usize) {
        column.cells[a].vote = Vote::Granted;
        if self.kinds[a] != Kind::Reader {
            column.key = of(a);
            column.covers = 0;
            return;
        }
        if column.key == Key::None {
            column.covers = 0;
            if self.creating == Creating::EmptiesEntries && self.marker != Marker::None {
                column.entries = 0;
            }
        }
        column.entries |= 1 << a;
        match self.marker {
            Marker::Longest => {
                column.key = Key::Marker;
                column.covers |= 1 << a;
            }
            Marker::OfTheLast => {
                column.key = Key::Marker;
                column.covers = 1 << a;
            }
            Marker::None => {}
        }
    }

    fn prolongs(&self, column: &Column<ATTEMPTS>, a: usize) -> bool {
        let is_there = has(column.entries, a) || self.extension == Extension::Revive;
        column.key == Key::Marker && is_there
    }

    fn leave(&self, column: &mut Column<ATTEMPTS>, a: usize) {
        if self.promise == Promise::NothingLeft {
            column.cells[a].release = Told::Done;
        }
        if column.key == of(a) {
            column.key = Key::None;
        }
        let was_there = has(column.entries, a);
        column.entries &= !(1 << a);
        column.covers &= column.entries;
        let is_last = column.entries == 0 || self.leaving == Leaving::EntryAndMarker;
        if was_there && is_last && column.key == Key::Marker {
            column.key = Key::None;
            column.covers = 0;
        }
    }

    /// What goes away by itself: of leases that are over, in time; and what is lost.
    pub(super) fn expiries(
        &self,
        state: &State<NODES, ATTEMPTS>,
        n: usize,
        to: &mut impl Take<Self>,
    ) {
        let column = &state.columns[n];
        if self.promise != Promise::NothingLeft {
            let over = bits(ATTEMPTS, |a| state.attempts[a].phase == Phase::Over);
            for a in (0..ATTEMPTS).filter(|a| has(column.entries & over, *a)) {
                let mut next = *state;
                next.columns[n].entries &= !(1 << a);
                to(Action::EntryExpires(a, n), next);
            }
            let expires = match column.key {
                Key::None => false,
                Key::Marker => column.covers & !over == 0,
                Key::Of(a) => has(over, usize::from(a)),
            };
            if expires {
                let mut next = *state;
                next.columns[n].key = Key::None;
                next.columns[n].covers = 0;
                to(Action::KeyExpires(n), next);
            }
        }
        if state.lost < self.losses && column.key != Key::None {
            let mut next = *state;
            next.lost += 1;
            next.columns[n].key = Key::None;
            next.columns[n].covers = 0;
            to(Action::KeyIsLost(n), next);
        }
    }
}

/// The key of an exclusive attempt.
fn of(a: usize) -> Key {
    Key::Of(u8::try_from(a).unwrap_or(u8::MAX))
}
