//! Counts of the events of a run, because a simulation that does nothing finds no fault.

use std::fmt;
use std::ops::AddAssign;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// The number of times that each event happened.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Coverage {
            $($(#[$doc])* pub $name: u64,)+
        }

        impl Coverage {
            /// Returns every count with its name.
            pub fn all(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                [$((stringify!($name), self.$name)),+].into_iter()
            }
        }

        impl AddAssign for Coverage {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)+
            }
        }
    };
}

counts! {
    /// Acquisitions that succeeded.
    acquired,
    /// … with a fencing token.
    acquired_fenced,
    /// … of several names at once.
    acquired_several,
    /// … of permits.
    acquired_permits,
    /// … before a caller of another process that waited.
    passed_over,
    /// Nodes that granted other permits than the majority.
    strayed,
    /// … and told so once there was a lease.
    strayed_late,
    /// … but whose lease was over when it was returned: the client stood still behind its last look at the clock.
    born_over,
    /// Acquisitions that ended because someone else held the resource.
    contended,
    /// … while they stood in line, and a majority had said so only after the attempt was decided.
    held_late,
    /// Acquisitions that found no majority.
    unavailable,
    /// Acquisitions whose future was dropped.
    cancelled,
    /// … while it stood in line.
    cancelled_in_line,
    /// … when it had been given the turn, and what came with it, and was not polled yet.
    cancelled_at_turn,
    /// Acquisitions that came when others of their process had the lock, or waited for it.
    queued,
    /// … but were not let in, as too many waited.
    turned_away,
    /// Leases that took over the lock of the one before as it was.
    taken_over,
    /// … with the next fencing token.
    taken_over_fenced,
    /// Leases that were acquired behind the release of the one before, without a break for others.
    followed,
    /// Leases that were handed over, as their holders were told.
    handed_over,
    /// Callers who had to leave the lock to other processes before they asked for it, though they
    /// stood in line when it was released.
    broke_off,
    /// Leases that were over before their holders left them, while others stood in line.
    lost_in_line,
    /// Callers who lost their turn, or their place in line, because they did not use it.
    overtaken,
    /// Callers that were not polled for a while, even if they were woken.
    stalled,
    /// Reports of nodes on keys that a caller waits for.
    told,
    /// … that they do not see them.
    blinded,
    /// Attempts that came early because nodes had told that the lock was free.
    woken,
    /// Extensions that a majority granted.
    extended,
    /// Extensions that did not succeed.
    extension_failed,
    /// Nodes whose counters were lifted to a token.
    confirmed,
    /// Confirmations that found the key gone or another's.
    confirmation_refused,
    /// Keys put back.
    restored,
    /// Nodes that let a reader in beside another one.
    read_beside,
    /// Nodes that refused a reader because a writer waited.
    behind_a_writer,
    /// Nodes that refused a writer because it was the readers' turn.
    behind_readers,
    /// Leases that ended by their deadline while their holder had them.
    expired,
    /// Leases whose keys were gone on too many nodes.
    taken,
    /// … as it was found out by an extension.
    given_up,
    /// Leases that too many nodes may have forgotten.
    forgotten,
    /// Releases that a majority confirmed.
    released,
    /// Releases that were sent and not confirmed in time.
    unconfirmed,
    /// Leases dropped without waiting.
    dropped,
    /// Releases repeated on a new connection.
    owed,
    /// Operations that a node answered with an error.
    errors,
    /// … and that were releases, and are repeated.
    refused,
    /// Operations served after their connection had been given up.
    late,
    /// Acquisitions served after the release of the same token.
    zombies,
    /// Connections that broke.
    broken,
    /// Nodes that stood still for a while.
    hung,
    /// Nodes that restarted with their data.
    restarted,
    /// … without.
    wiped,
    /// … with data from before.
    rolled_back,
    /// Operations that a node in quarantine refused.
    quarantined,
    /// Clients' threads and processes that stood still.
    paused,
    /// Wall clocks that jumped, and nodes' clocks that were stepped.
    stepped,
    /// Clocks that were a day wrong and were set right.
    mended,
    /// Keys that an operator deleted.
    deleted,
    /// Acquisitions after the end of all faults.
    probed,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, count)) in self.all().enumerate() {
            let end = if place % 4 == 3 { "\n" } else { "" };
            write!(f, "{name:>22} {count:<12}{end}")?;
        }
        Ok(())
    }
}
