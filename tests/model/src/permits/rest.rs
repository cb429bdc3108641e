//! What an attempt was granted and did not win: when its release is sent, and that it is.
//!
//! One attempt takes one slot. Each node grants any slot, as others come and go there, or none. A node serves
//! what the attempt sends in order: a release comes behind the acquisition. The connection to a node may break,
//! and then the acquisition was served or never will be, and the attempt hears that it failed. A release is
//! owed, so it arrives in any case. Keys do not expire here: what is left is left for good.

use std::fmt;

use crate::search::{Model, Take};

/// The slots of a node.
const SLOTS: u8 = 2;
const ALL: u8 = (1 << SLOTS) - 1;

/// The nodes and the rules.
#[derive(Clone, Copy, Debug)]
pub struct Rest<const NODES: usize> {
    /// The rule: a late answer that is not what was won is answered by a release.
    hears: bool,
    /// The rule: the end releases all slots at nodes that have not answered.
    ends_all: bool,
}

/// A node, and what is between it and the attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Column {
    acquisition: Acquisition,
    /// What the node granted: a bit for each slot.
    granted: u8,
    /// What it keeps for the attempt.
    kept: u8,
    /// The slots whose release is on its way, behind the acquisition.
    release: u8,
    /// True once the attempt knows the answer, or that there is none.
    is_heard: bool,
    /// True if the answer says nothing.
    has_failed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Acquisition {
    #[default]
    Underway,
    Served,
    /// It was lost, or the server did not run it and it was given up.
    Lost,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Phase {
    #[default]
    Trying,
    /// A majority granted these slots.
    Held(u8),
    /// All was released.
    Over,
}

/// See [`Rest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State<const NODES: usize> {
    columns: [Column; NODES],
    phase: Phase,
    seen: u32,
}

/// A step.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the texts below say what they are")]
pub enum Action {
    Serve(usize, u8),
    Hear(usize),
    Break(usize),
    Release(usize),
    Hold(u8),
    End,
    GiveUp,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Serve(n, slots) => write!(f, "node {} grants {slots:#b}", n + 1),
            Self::Hear(n) => write!(f, "the answer of node {} arrives", n + 1),
            Self::Break(n) => write!(f, "the connection to node {} breaks", n + 1),
            Self::Release(n) => write!(f, "node {} serves the release", n + 1),
            Self::Hold(slot) => write!(f, "the attempt holds {slot:#b}"),
            Self::End => f.write_str("the lease is released"),
            Self::GiveUp => f.write_str("the attempt is given up"),
        }
    }
}

/// Situations that a check has to reach to be worth something. See [`Model::landmarks`].
pub mod landmark {
    /// Another slot was granted, and the answer came while the lease was held.
    pub const LATE: u32 = 1;
    /// A connection broke while the lease was held.
    pub const BROKEN: u32 = 2;
    /// The lease was released before a node had answered.
    pub const EARLY_END: u32 = 4;
    /// All of them.
    pub const ALL: u32 = 7;
}

impl<const NODES: usize> Rest<NODES> {
    /// The rules as they are.
    pub const RULES: Self = Self {
        hears: true,
        ends_all: true,
    };

    /// Unsafe: a late answer changes nothing, and the end releases what was won at nodes that answered.
    #[must_use]
    pub const fn deaf(self) -> Self {
        Self {
            hears: false,
            ..self
        }
    }

    /// Unsafe: the end releases what was won, everywhere.
    #[must_use]
    pub const fn releasing_only_what_was_won(self) -> Self {
        Self {
            ends_all: false,
            ..self
        }
    }

    /// The answer of node `n` is known. If it is not what was won, the others are released.
    fn heard(self, next: &mut State<NODES>, n: usize) {
        let column = &mut next.columns[n];
        column.is_heard = true;
        if let (Phase::Held(won), true) = (next.phase, self.hears) {
            release_others(column, won);
        }
    }

    fn node_steps(self, state: &State<NODES>, n: usize, to: &mut impl Take<Self>) {
        let column = &state.columns[n];
        if column.acquisition == Acquisition::Underway {
            for slots in (0..SLOTS).map(|slot| 1 << slot).chain([0]) {
                let mut next = *state;
                let column = &mut next.columns[n];
                column.acquisition = Acquisition::Served;
                (column.granted, column.kept) = (slots, slots);
                to(Action::Serve(n, slots), next);
            }
        }
        if !column.is_heard && column.acquisition == Acquisition::Served {
            let mut next = *state;
            if matches!(state.phase, Phase::Held(won) if column.granted & !won != 0) {
                next.seen |= landmark::LATE;
            }
            self.heard(&mut next, n);
            to(Action::Hear(n), next);
        }
        if !column.is_heard {
            let mut next = *state;
            next.columns[n].has_failed = true;
            if column.acquisition == Acquisition::Underway {
                next.columns[n].acquisition = Acquisition::Lost;
            }
            if matches!(state.phase, Phase::Held(_)) {
                next.seen |= landmark::BROKEN;
            }
            self.heard(&mut next, n);
            to(Action::Break(n), next);
        }
        if column.release != 0 && column.acquisition != Acquisition::Underway {
            let mut next = *state;
            next.columns[n].kept &= !column.release;
            next.columns[n].release = 0;
            to(Action::Release(n), next);
        }
    }

    fn client_steps(self, state: &State<NODES>, to: &mut impl Take<Self>) {
        let unheard = || state.columns.iter().any(|column| !column.is_heard);
        match state.phase {
            Phase::Trying => {
                let votes = |slot: u8| {
                    let votes = state.columns.iter().filter(|column| {
                        column.is_heard && !column.has_failed && column.granted == slot
                    });
                    votes.count()
                };
                let slots = (0..SLOTS).map(|slot| 1 << slot);
                for won in slots.filter(|slot| votes(*slot) > NODES / 2) {
                    let mut next = *state;
                    next.phase = Phase::Held(won);
                    for column in next.columns.iter_mut().filter(|column| column.is_heard) {
                        release_others(column, won);
                    }
                    to(Action::Hold(won), next);
                }
                let mut next = *state;
                next.phase = Phase::Over;
                for column in &mut next.columns {
                    column.release = ALL;
                }
                to(Action::GiveUp, next);
            }
            Phase::Held(won) => {
                let mut next = *state;
                next.phase = Phase::Over;
                if unheard() {
                    next.seen |= landmark::EARLY_END;
                }
                for column in &mut next.columns {
                    let is_all = !column.is_heard && self.ends_all;
                    column.release |= if is_all { ALL } else { won };
                }
                to(Action::End, next);
            }
            Phase::Over => {}
        }
    }
}

/// The answer of the node is known: if it is not what was won, the node may have others.
fn release_others(column: &mut Column, won: u8) {
    if column.has_failed || column.granted != won {
        column.release |= ALL & !won;
    }
}

impl<const NODES: usize> Model for Rest<NODES> {
    type State = State<NODES>;
    type Action = Action;

    fn initial(&self) -> Self::State {
        State {
            columns: [Column::default(); NODES],
            phase: Phase::default(),
            seen: 0,
        }
    }

    fn steps(&self, state: &Self::State, to: &mut impl Take<Self>) {
        self.client_steps(state, to);
        for node in 0..NODES {
            self.node_steps(state, node, to);
        }
    }

    fn canonical(&self, state: &Self::State) -> Self::State {
        let mut state = *state;
        state.columns.sort_unstable();
        state
    }

    /// Where nothing is under way, a node keeps what the lease has and no more. While the lease is held, that
    /// is for nodes whose answer is known.
    fn violation(&self, state: &Self::State) -> Option<String> {
        let (may_keep, is_over) = match state.phase {
            Phase::Trying => return None,
            Phase::Held(won) => (won, false),
            Phase::Over => (0, true),
        };
        let is_left = |column: &&Column| {
            let is_quiet = column.acquisition != Acquisition::Underway && column.release == 0;
            is_quiet && (is_over || column.is_heard) && column.kept & !may_keep != 0
        };
        let left = state.columns.iter().find(is_left)?;
        Some(format!(
            "a node keeps {:#b} for good",
            left.kept & !may_keep
        ))
    }

    fn landmarks(&self, state: &Self::State) -> u32 {
        state.seen
    }
}
