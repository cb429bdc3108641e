//! The mutants of lending.

use crate::table::{Mutant, Patch};

const LENDING: &str = "redlock-core/src/redis/server/serve/lending.rs";
const LOAN: &str = "redlock-core/src/redis/server/inbox/loan.rs";

pub(crate) const LOANS: &[Mutant] = &[
    Mutant {
        name: "a-dropped-task-keeps-the-connection",
        patches: &[Patch {
            file: LENDING,
            find: "            self.shared.give_back(serve, None);
",
            replace: "            drop(serve);
",
        }],
    },
    Mutant {
        name: "a-return-loses-the-wake-up",
        patches: &[Patch {
            file: LENDING,
            find: "            driver.wake();
",
            replace: "            drop(driver);
",
        }],
    },
    Mutant {
        name: "another-runtime-waits-for-a-look",
        patches: &[Patch {
            file: LOAN,
            find: "            return Some(driver.clone());
",
            replace: "            return None;
",
        }],
    },
    Mutant {
        name: "a-runtime-that-stands-still-keeps-the-connection",
        patches: &[Patch {
            file: LENDING,
            find: "                if self.quiet_looks == TICKS || !serve.in_flight.is_empty() {
",
            replace: "                if self.quiet_looks > 1000 * TICKS {
",
        },
        Patch {
            file: LENDING,
            find: "                if serve.inbox.queued() > 0 {
",
            replace: "                if serve.inbox.queued() > 0 && self.quiet_looks > 1000 {
",
        }],
    },
    Mutant {
        name: "a-connection-stays-in-the-other-runtime",
        patches: &[Patch {
            file: LENDING,
            find: "        if self.place.is_away
            && let Some(socket) = &self.place.socket
",
            replace: "        if self.place.loans == u64::MAX
            && let Some(socket) = &self.place.socket
",
        }],
    },
    Mutant {
        name: "a-connection-is-taken-back-from-many-callers",
        patches: &[Patch {
            file: LENDING,
            find: "            Some(Poll::Pending) if serve.place.is_overdue => None,
",
            replace: "            Some(Poll::Pending) if serve.place.is_busy || serve.place.is_overdue => None,
",
        }],
    },
    Mutant {
        name: "callers-go-first-for-ever",
        patches: &[Patch {
            file: LENDING,
            find: "        let is_wanted = yields < MOST_YIELDS && (yields == 0 || queued != before);
",
            replace: "        let is_wanted = yields < u32::MAX || queued != before;
",
        }],
    },
];
