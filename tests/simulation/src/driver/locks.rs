//! Locks over three nodes, by two processes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::request::{Retry, RetryLimit};
use redlock_core::{Client, LeaseHandle, NodeSet, Request, Resource};
use tokio::time::{Instant, sleep, timeout};

use crate::random::Random;

use super::town::Shared;

/// The held locks, and the violations that were found.
#[derive(Default)]
pub(super) struct Table {
    held: Mutex<BTreeMap<Vec<u8>, Vec<LeaseHandle>>>,
    pub(super) found: Mutex<Vec<String>>,
}

/// One process.
#[derive(Clone)]
pub(super) struct Process {
    pub(super) town: Shared,
    pub(super) client: Client,
    pub(super) nodes: NodeSet,
    pub(super) table: Arc<Table>,
    /// Its nodes keep keys by slots.
    pub(super) is_clustered: bool,
}

/// Far longer than any call may take, whose bound it is not.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a call may take beyond what it waits: why it was refused, and timers that count in ms.
const CONCLUSION: Duration = Duration::from_millis(250);

impl Table {
    /// Puts a lease on the table. Nobody else's may be valid there.
    fn enter(&self, names: &Resource, lease: &LeaseHandle) {
        let mut held = self.held.lock().expect("no panic");
        for name in names.names() {
            let leases = held.entry(name.to_vec()).or_default();
            let is_valid =
                |lease: &LeaseHandle| !lease.validity().is_zero() && lease.over().is_none();
            leases.retain(is_valid);
            if is_valid(lease) && !leases.is_empty() {
                let name = name.escape_ascii();
                let found = format!("two holders of {name}: {lease:?} and {leases:?}");
                self.found.lock().expect("no panic").push(found);
            }
            leases.push(lease.clone());
        }
    }

    /// Takes it off, before anything is released.
    fn leave(&self, names: &Resource, lease: &LeaseHandle) {
        let mut held = self.held.lock().expect("no panic");
        for name in names.names() {
            let leases = held.entry(name.to_vec()).or_default();
            leases.retain(|other| other.token_id() != lease.token_id());
        }
    }
}

impl Process {
    /// Locks, holds and releases.
    pub(super) async fn run(self, mut random: Random) {
        while !self.town.lock().expect("no panic").is_calm {
            self.lock_once(&mut random).await;
            sleep(Duration::from_micros(random.below(60_000))).await;
        }
    }

    async fn lock_once(&self, random: &mut Random) {
        let request = self.request(random);
        let began = Instant::now();
        let bound = match request.retry.limit {
            RetryLimit::Wait(wait) => wait,
            _ => PATIENCE,
        };
        let acquiring = self.client.acquire(&self.nodes, &request);
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
                return town.count("refused locks");
            }
        };
        let handle = lease.handle();
        {
            let mut town = self.town.lock().expect("no panic");
            town.tell(|| format!("holds {} by {}", request.resource, handle.token_id()));
            town.count("locks");
        }
        self.table.enter(&request.resource, &handle);
        let most = random.pick(&[1, 20_000, 20_000, 2_000_000]);
        sleep(Duration::from_micros(random.below(most))).await;
        if random.chance(3000) && lease.extend(request.ttl).await.is_err() {
            self.town.lock().expect("no panic").count("not extended");
        }
        self.table.leave(&request.resource, &handle);
        if random.chance(5000) {
            lease.release().await;
        } else {
            drop(lease);
        }
    }

    fn request(&self, random: &mut Random) -> Request {
        let tag = random.pick(&["{a}", "{b}"]);
        let mut request = if random.chance(3000) {
            Request::new(Resource::all([format!("{tag}1"), format!("{tag}2")]))
        } else {
            Request::new(format!("{tag}1").as_str())
        };
        // The short ones expire, and the long ones would stay.
        request.ttl = random.pick(&[300, 2_000, 100_000, 100_000].map(Duration::from_millis));
        request.fencing = !self.is_clustered && random.chance(3000);
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
