//! The world of a seed: its settings, its sizes, and its faults.

use std::time::Duration;

use redlock_core::quorum::HINT_WINDOW;
use redlock_core::restart_check::RestartCheck;

use crate::network::Weather;
use crate::random::Random;
use crate::world::Pauses;

/// The time that an attempt waits for answers, in all profiles.
pub const DEFAULT_NODE_TIMEOUT: Duration = redlock_core::Settings::DEFAULT_NODE_TIMEOUT;

/// The kind of faults in a run, which decides the rules that must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Nothing fails. Messages arrive within a millisecond, clients do not stand still.
    Calm,
    /// Messages are slow or lost, connections break, nodes hang and restart with their data, clients stand still,
    /// wall clocks are off and jump. All clocks run apart as far as the drift allows.
    Faulty,
    /// As [`Faulty`](Self::Faulty). In addition, nodes restart without their data or with older data, under the
    /// restart check.
    Forgetful,
    /// As [`Faulty`](Self::Faulty). In addition, clocks run at any speed, nodes' clocks are stepped, and locks are
    /// deleted by hand. No timed lock can exclude other holders then, but fencing tokens have to be in order.
    Wild,
    /// As [`Faulty`](Self::Faulty). In addition, the clocks of a minority of the nodes, or of all of
    /// them, are a day wrong. When everybody is done they are mended, and hours pass, so that idle
    /// counters expire; then everybody comes again. All want fencing tokens.
    Misset,
    /// As [`Faulty`](Self::Faulty), but the locks have several permits.
    Permits,
    /// As [`Faulty`](Self::Faulty) or, in half of the runs, as [`Forgetful`](Self::Forgetful). In addition, most
    /// requests read or write: readers share a lock, a writer excludes them, and both exclude plain locks.
    Sharing,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Calm,
        Self::Faulty,
        Self::Forgetful,
        Self::Wild,
        Self::Misset,
        Self::Permits,
        Self::Sharing,
    ];

    /// The profile that a seed stands for, unless another one is asked for.
    pub const fn of(seed: u64) -> Self {
        match seed % 10 {
            0 => Self::Calm,
            1..=4 => Self::Faulty,
            5..=7 => Self::Forgetful,
            _ => Self::Wild,
        }
    }

    /// Returns the profile with a name of the command line.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|profile| format!("{profile:?}").eq_ignore_ascii_case(name))
    }
}

/// The facts that the checker may rely on.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The number of configured nodes.
    pub nodes: usize,
    /// Leases exclude each other.
    pub exclusion: bool,
    /// The number of permits of a lock, or `None` for a plain lock.
    pub permits: Option<u16>,
    /// Keys of released locks go away.
    pub leftovers: bool,
    /// Requests read and write.
    pub sharing: bool,
    /// The longest time for which callers of one process may hand a lock over to each other.
    pub handover_time: Duration,
    /// The most by which a fencing token may be ahead of the time, if the nodes' clocks are right.
    pub most_ahead: Option<Duration>,
}

impl Rules {
    /// Returns for how long callers of one process may have a lock one after another if an acquisition takes `trip`.
    pub(crate) fn longest_streak(&self, trip: Duration) -> Duration {
        let holders = self.permits.unwrap_or(1).min(8);
        (self.handover_time * holders.into()).max(trip * 8)
    }
}

/// The sizes of the world, and the rates of its faults.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// See [`Profile`].
    pub profile: Profile,
    /// Nodes.
    pub nodes: usize,
    /// Clients, each a process with clocks and connections of its own.
    pub clients: usize,
    /// Tasks of each client that take locks.
    pub workers: usize,
    /// Locks that each task takes.
    pub calls: u64,
    /// Names to lock.
    pub names: u64,
    /// The number of permits of each lock, or `None` for plain locks.
    pub permits: Option<u16>,
    /// The time during which faults occur.
    pub span: Duration,
    /// Faults in that time.
    pub faults: u64,
    /// Locks that are deleted by hand in that time, beyond the faults.
    pub deletions: u64,
    /// The faults of the network.
    pub weather: Weather,
    /// The rate at which clients pause.
    pub pauses: Pauses,
    /// The largest error of a clock's rate, in parts of a million.
    pub rate: i64,
    /// The errors of wall clocks, in µs.
    pub wall_error: i64,
    /// The longest ttl.
    pub max_ttl: Duration,
    /// Requests in 10 000 that want a fencing token.
    pub fencing: u64,
    /// Operations in flight that a node takes.
    pub most_in_flight: usize,
    /// The policy for nodes that may have forgotten locks.
    pub restart_check: RestartCheck,
    /// Nodes restart without their data, or with older data.
    pub forgets: bool,
    /// Restarted nodes are trusted to have their data.
    pub trusts_disks: bool,
    /// Nodes that stay down after all faults are over; a minority.
    pub dead: usize,
    /// The way in which callers of one process meet.
    pub crowd: Crowd,
    /// The reports of nodes to waiting callers.
    pub reports: Reports,
    /// Nodes whose clocks are wrong, from the first one on.
    pub misset: usize,
    /// The size of each step, in µs.
    pub misset_by: i64,
}

/// The callers of one process, and how they compete.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    /// Requests in 10 000 that are all alike, ask for the first name, and are held briefly.
    pub alike: u64,
    /// Their ttl.
    pub ttl: Duration,
    /// The longest time for which they may hand a lock over to each other.
    pub handover_time: Duration,
    /// The most callers in one line.
    pub most_waiters: u32,
    /// The chance, out of 10 000 at each poll, that a caller is not polled for a while.
    pub stalls: u64,
}

/// The reports of nodes to waiting callers, over a separate connection.
#[derive(Clone, Copy, Debug)]
pub struct Reports {
    /// The number of 10 000 reports that are lost.
    pub lost: u64,
    /// The number of 10 000 reports that falsely call the lock free.
    pub wrong: u64,
    /// The longest extra delay of reports, in ms.
    pub late: u64,
}

/// In µs.
const DAY: i64 = 24 * 60 * 60 * 1_000_000;

/// Two clocks that are off by this in opposite directions are 1 % apart: what the drift allows.
const DRIFT: i64 = 4900;

impl Settings {
    /// The run of `profile` that these random numbers choose.
    pub fn draw(profile: Profile, random: &mut Random) -> Self {
        let nodes = match random.below(20) {
            0 => 1,
            1 => 2,
            2 => 4,
            3..=8 => 5,
            _ => 3,
        };
        let span = random.millis(800, 4000);
        let is_calm = profile == Profile::Calm;
        let weather = if is_calm {
            Weather::CALM
        } else {
            Weather {
                slow_chance: random.pick(&[0, 100, 500, 1500]),
                slow: random.pick(&[20, 100, 700, 3000]),
                usual: random.pick(&[300, 1000, 10_000]),
            }
        };
        let pauses = if is_calm {
            Pauses::default()
        } else {
            Pauses {
                at_polls: random.pick(&[0, 20, 100, 400]),
                at_clocks: random.pick(&[0, 20, 100, 400]),
                at_submits: random.pick(&[0, 100, 500]),
                longest: random.pick(&[5, 50, 400]),
            }
        };
        let forgets = forgets(profile, random);
        let (rate, wall_error) = match profile {
            Profile::Calm => (100, 5_000),
            // A counter that is lost is made good for by the clocks: they are within the window here.
            _ if forgets => (DRIFT, random.pick(&[0, 3_000, 900_000])),
            Profile::Wild => (500_000, random.pick(&[0, 3_000, 300_000, 30_000_000])),
            _ => (DRIFT, random.pick(&[0, 3_000, 300_000, 30_000_000])),
        };
        let is_checked = random.below(2) == 0 || profile == Profile::Misset;
        let (restart_check, trusts_disks) = match profile {
            _ if forgets && is_checked => (RestartCheck::Strict, false),
            _ if forgets => (RestartCheck::Standard, false),
            // To a restart check, clocks of any speed look like clocks that step all the time.
            Profile::Wild => (RestartCheck::Off, false),
            _ if is_checked => (RestartCheck::Standard, true),
            _ => (RestartCheck::Off, false),
        };
        let crowd = Crowd::draw(profile, random);
        let is_crowded = crowd.alike > 0;
        let (misset, misset_by) = match profile {
            // All of them are set back in the end: set ahead, they would drop locks.
            Profile::Misset if random.below(3) == 0 => (nodes, DAY),
            Profile::Misset => ((nodes - 1) / 2, random.pick(&[DAY, -DAY])),
            _ => (0, 0),
        };
        let permits = permits(profile, random);
        Self {
            profile,
            misset,
            misset_by,
            permits,
            restart_check,
            forgets,
            trusts_disks,
            nodes,
            clients: random.index(3) + 2,
            workers: random.index(if is_crowded { 6 } else { 2 }) + 1,
            calls: random.below(6) + 2,
            names: random.below(2) + 1,
            span,
            faults: if is_calm { 0 } else { random.below(25) },
            deletions: match profile {
                Profile::Wild => random.pick(&[0, 10, 30, 300]),
                _ => 0,
            },
            weather,
            pauses,
            rate,
            wall_error,
            max_ttl: Duration::from_secs(if forgets { 3 } else { 8 }),
            fencing: match profile {
                Profile::Wild | Profile::Misset => 10_000,
                Profile::Sharing => random.pick(&[0, 5000, 10_000, 10_000]),
                Profile::Permits => 0,
                _ => random.pick(&[0, 5000, 10_000]),
            },
            most_in_flight: random.pick(&[4, 1000, 1000, 1000]),
            dead: random.index(nodes.div_ceil(2)),
            crowd,
            reports: Reports {
                lost: random.pick(&[0, 0, 2000, 10_000]),
                wrong: random.pick(&[0, 0, 500]),
                late: random.pick(&[0, 1, 50]),
            },
        }
    }

    /// Returns what has to hold under these settings.
    pub fn rules(&self) -> Rules {
        let is_wild = self.profile == Profile::Wild;
        Rules {
            nodes: self.nodes,
            permits: self.permits,
            exclusion: !is_wild,
            leftovers: !is_wild,
            sharing: self.profile == Profile::Sharing,
            handover_time: self.crowd.handover_time,
            most_ahead: (!is_wild && self.misset == 0).then(|| {
                let error = self.error_of_nodes().unsigned_abs();
                Duration::from_micros(error) + HINT_WINDOW + Duration::from_secs(1)
            }),
        }
    }

    /// Returns how far a right clock of a node is off at most, in µs.
    pub fn error_of_nodes(&self) -> i64 {
        self.wall_error / 3
    }
}

impl Settings {
    /// Returns what the clients are set to.
    pub fn of_client(&self) -> redlock_core::Settings {
        redlock_core::Settings::default()
            .handover_time(self.crowd.handover_time)
            .max_waiters_per_lock(self.crowd.most_waiters)
    }
}

/// Returns how many permits each lock has: more than two, so that the checker tells the release of one from that of
/// all others.
fn permits(profile: Profile, random: &mut Random) -> Option<u16> {
    match profile {
        Profile::Permits => Some(random.pick(&[3, 3, 5])),
        _ => None,
    }
}

/// True if nodes restart without their data.
fn forgets(profile: Profile, random: &mut Random) -> bool {
    match profile {
        Profile::Sharing => random.below(2) == 0,
        _ => profile == Profile::Forgetful,
    }
}

impl Crowd {
    fn draw(profile: Profile, random: &mut Random) -> Self {
        let is_calm = profile == Profile::Calm;
        Self {
            alike: random.pick(&[0, 5000, 9000]),
            ttl: random.pick(&[50, 400, 2000].map(Duration::from_millis)),
            handover_time: random.pick(&[0, 1, 5, 50, 5000].map(Duration::from_millis)),
            most_waiters: random.pick(&[1, 3, 1000, 1000, 1000]),
            stalls: if is_calm {
                0
            } else {
                random.pick(&[0, 0, 100, 500])
            },
        }
    }
}
