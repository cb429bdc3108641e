//! Locks of all kinds over three nodes, by two processes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::request::{Kind, Retry, RetryLimit};
use redlock_core::{Client, Lease, LeaseHandle, NodeSet, Request, Resource};
use tokio::time::{Instant, sleep, timeout};

use crate::random::Random;

use super::lending::Whereabouts;
use super::town::Shared;

/// The leases of each name, and the violations that were found.
#[derive(Default)]
pub(super) struct Table {
    leases: Mutex<BTreeMap<Vec<u8>, Leases>>,
    pub(super) found: Mutex<Vec<String>>,
}

#[derive(Clone, Default)]
struct Leases {
    held: Vec<LeaseHandle>,
    /// The highest fencing token of all leases, and that of all but readers.
    fences: (u64, u64),
}

/// One caller of a process.
#[derive(Clone)]
pub(super) struct Process {
    pub(super) town: Shared,
    pub(super) client: Client,
    pub(super) nodes: NodeSet,
    pub(super) table: Arc<Table>,
    pub(super) there: Whereabouts,
    /// Its nodes keep keys by slots.
    pub(super) is_clustered: bool,
}

/// Far longer than any call may take, whose bound it is not.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a call may take beyond what it waits: why it was refused, and timers that count in ms.
const CONCLUSION: Duration = Duration::from_millis(250);

/// Longer than any ttl.
pub(super) const LONGEST_TTL: Duration = Duration::from_secs(101);

/// The number of permits of a name that has permits.
const PERMITS: u16 = 3;

/// The most pairs in a row: connections are lent after about half of them.
const STREAK: u64 = 40;

/// The permit of a lease. A plain lock counts as the holder of the first one.
fn permit_of(lease: &LeaseHandle) -> u16 {
    lease.permit().unwrap_or_default()
}

/// Whether the two may not be held at one moment.
fn exclude(one: &LeaseHandle, other: &LeaseHandle) -> bool {
    let is_shared = one.kind() == Kind::Read && other.kind() == Kind::Read;
    !is_shared && permit_of(one) == permit_of(other)
}

impl Table {
    /// The fencing tokens of the leases so far.
    fn fences(&self, name: &[u8]) -> (u64, u64) {
        let leases = self.leases.lock().expect("no panic");
        leases
            .get(name)
            .map(|leases| leases.fences)
            .unwrap_or_default()
    }

    /// Puts a lease on the table. No lease that excludes it may be valid there, and its token is higher than
    /// those `before` it.
    fn enter(&self, names: &Resource, lease: &LeaseHandle, before: (u64, u64)) {
        let mut all = self.leases.lock().expect("no panic");
        let find = |problem| self.found.lock().expect("no panic").push(problem);
        let is_valid = |lease: &LeaseHandle| !lease.validity().is_zero() && lease.over().is_none();
        for name in names.names() {
            let leases = all.entry(name.to_vec()).or_default();
            leases.held.retain(is_valid);
            let name = name.escape_ascii();
            let other = leases.held.iter().find(|other| exclude(lease, other));
            if let Some(other) = other.filter(|_| is_valid(lease)) {
                find(format!("two holders of {name}: {lease:?} and {other:?}"));
            }
            leases.held.push(lease.clone());
            if lease.permit().is_some() && leases.held.len() > usize::from(PERMITS) {
                find(format!("too many permits of {name}: {:?}", leases.held));
            }
            let Some(token) = lease.fencing_token() else {
                continue;
            };
            let (token, is_reading) = (token.as_u64(), lease.kind() == Kind::Read);
            let (any, alone) = before;
            if token <= alone || !is_reading && token <= any {
                find(format!("{name}: {token} behind {any}, {alone}: {lease:?}"));
            }
            let (any, alone) = &mut leases.fences;
            *any = token.max(*any);
            if !is_reading {
                *alone = token.max(*alone);
            }
        }
    }

    /// Takes it off, before anything is released.
    fn leave(&self, names: &Resource, lease: &LeaseHandle) {
        let mut all = self.leases.lock().expect("no panic");
        for name in names.names() {
            let held = &mut all.entry(name.to_vec()).or_default().held;
            let its = held
                .iter()
                .position(|other| other.token_id() == lease.token_id());
            its.map(|its| held.remove(its));
        }
    }
}

impl Process {
    /// Locks, holds and releases.
    pub(super) async fn run(self, mut random: Random) {
        while !self.town.lock().expect("no panic").is_calm {
            if self.there.place.is_some() && random.chance(1500) {
                self.hurry(&mut random).await;
            }
            self.lock_once(&mut random).await;
            sleep(Duration::from_micros(random.below(60_000))).await;
        }
    }

    /// Locks and releases, one pair behind the other, until a lock is refused.
    async fn hurry(&self, random: &mut Random) {
        let name = format!("{{c}}{}", random.below(3));
        let mut request = Request::new(name.as_str());
        request.kind = random.pick(&[Kind::Exclusive, Kind::Read, Kind::Write]);
        request.retry.limit = RetryLimit::Count(1);
        for _ in 0..random.below(STREAK) {
            let acquiring = self.client.acquire(&self.nodes, &request);
            let Ok(lease) = self.there.run(acquiring).await else {
                return;
            };
            self.there.run(lease.release()).await;
        }
    }

    async fn lock_once(&self, random: &mut Random) {
        let request = self.request(random);
        let began = Instant::now();
        let bound = match request.retry.limit {
            RetryLimit::Wait(wait) => wait,
            _ => PATIENCE,
        };
        let first = request.resource.names().next().unwrap_or_default();
        let before = self.table.fences(first);
        let acquiring = self.there.run(self.client.acquire(&self.nodes, &request));
        let cut = match random.below(8) {
            0 => Duration::from_micros(random.below(80_000)),
            _ => bound + CONCLUSION,
        };
        let Ok(acquired) = timeout(cut, acquiring).await else {
            if began.elapsed() >= bound + CONCLUSION {
                self.find(format!(
                    "no answer to {request:?} within {:?}",
                    began.elapsed()
                ));
            }
            return;
        };
        let lease = match acquired {
            Ok(lease) => lease,
            Err(AcquireError::Invalid(error)) => return self.find(error.to_string()),
            Err(error) => {
                let mut town = self.town.lock().expect("no panic");
                town.tell(|| format!("refused {}: {error}", request.resource));
                return town.count(match request.kind {
                    Kind::Permits(_) => "refused permits",
                    Kind::Read => "refused readers",
                    Kind::Write => "refused writers",
                    _ => "refused locks",
                });
            }
        };
        let handle = lease.handle();
        {
            let mut town = self.town.lock().expect("no panic");
            let (kind, id) = (request.kind, handle.token_id());
            town.tell(|| format!("holds {} by {id}: {kind:?}", request.resource));
            town.count(match request.kind {
                Kind::Permits(_) => "permits",
                Kind::Read => "readers",
                Kind::Write => "writers",
                _ => "locks",
            });
        }
        self.table.enter(&request.resource, &handle, before);
        self.hold(lease, &request, random).await;
    }

    async fn hold(&self, lease: Lease, request: &Request, random: &mut Random) {
        let most = random.pick(&[1, 20_000, 20_000, 2_000_000]);
        sleep(Duration::from_micros(random.below(most))).await;
        if random.chance(3000) {
            let extended = self.there.run(lease.extend(request.ttl)).await;
            self.town
                .lock()
                .expect("no panic")
                .count(match (request.kind, extended) {
                    (_, Err(_)) => "not extended",
                    (Kind::Exclusive, Ok(())) => "extended",
                    (_, Ok(())) => "extended, of a kind",
                });
        }
        self.table.leave(&request.resource, &lease.handle());
        if random.chance(5000) {
            self.there.run(lease.release()).await;
        } else {
            self.there.there(|| drop(lease));
        }
    }

    fn request(&self, random: &mut Random) -> Request {
        let tag = random.pick(&["{a}", "{b}"]);
        let (number, kind) = match random.below(10) {
            0..3 => (1, Kind::Exclusive),
            3..6 => (3, Kind::Permits(PERMITS)),
            6..8 => (4, Kind::Read),
            8 => (4, Kind::Write),
            _ => (random.pick(&[3, 4]), Kind::Exclusive),
        };
        let mut request = if number == 1 && random.chance(3000) {
            Request::new(Resource::all([format!("{tag}1"), format!("{tag}2")]))
        } else {
            Request::new(format!("{tag}{number}").as_str())
        };
        request.kind = kind;
        // The short ones expire, and the long ones would stay.
        request.ttl = random.pick(&[300, 2_000, 100_000, 100_000].map(Duration::from_millis));
        let has_permits = matches!(kind, Kind::Permits(_));
        request.fencing = !self.is_clustered && !has_permits && random.chance(3000);
        request.retry = Retry {
            limit: match random.below(3) {
                0 => RetryLimit::Count(2),
                1 => RetryLimit::Wait(Duration::from_micros(200 + random.below(50_000))),
                _ => RetryLimit::Wait(Duration::from_micros(200 + random.below(3_000_000))),
            },
            delay: Duration::from_millis(20),
        };
        request
    }

    pub(super) fn find(&self, problem: String) {
        self.table.found.lock().expect("no panic").push(problem);
    }
}
