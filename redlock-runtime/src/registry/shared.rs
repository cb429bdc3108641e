//! The state that all clones of a registry share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};

use redlock_core::internal::Throttle;
use redlock_core::{Client, Environment, Settings};

use super::elections::Elections;
use super::held::HeldTable;
use super::pools::{PoolNode, Pools};
use super::shutdown::Shutdown;
use crate::config::CheckedConfig;
use crate::error::RegistryContext;
use crate::parameters::LockOptions;
use crate::telemetry::journal::Journal;

pub(crate) struct RegistryShared {
    pub(crate) environment: Environment,
    pub(crate) client: Client,
    pub(crate) pools: Pools,
    pub(crate) defaults: LockOptions,
    pub(crate) context: Arc<RegistryContext>,
    pub(crate) held: Arc<HeldTable>,
    pub(crate) elections: Elections,
    pub(crate) shutdown: Shutdown,
    /// Limits a log line to the first lease: a signal would end the process and leave its keys on the nodes.
    pub(crate) first_lease: Once,
    /// The journal of all calls. Only registries of the testing kit have one.
    pub(crate) journal: Option<Arc<Journal>>,
}

impl RegistryShared {
    pub(crate) fn new(
        checked: &CheckedConfig,
        environment: Environment,
        pools: BTreeMap<String, PoolNode>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let config = &checked.config;
        let settings = Settings::default()
            .node_timeout(config.node_timeout)
            .key_prefix(config.key_prefix.as_bytes())
            .handover_time(config.handover_time)
            .max_waiters_per_lock(config.max_waiters_per_lock)
            .max_waiters(config.max_waiters);
        let context = RegistryContext {
            registry: NEXT.fetch_add(1, Ordering::Relaxed),
            max_ttl: config.max_ttl,
            contended_status: config.contended_status,
            throttle: Throttle::new(Arc::clone(&environment.clock)),
        };
        Self {
            client: Client::with_settings(environment.clone(), settings),
            environment,
            pools: Pools::new(pools, checked),
            defaults: config.defaults,
            context: Arc::new(context),
            held: Arc::default(),
            elections: Elections::default(),
            shutdown: Shutdown::new(config.shutdown_grace, config.shutdown_deadline),
            first_lease: Once::new(),
            journal: None,
        }
    }

    /// Rechecks all held leases each time a node may have forgotten locks. A lease without a majority then ends.
    pub(crate) fn recheck_at_new_epochs(&self) {
        for pool in self.pools.by_name.values() {
            // Hold a weak reference, so that a node does not keep the table alive.
            let held = Arc::downgrade(&self.held);
            pool.node.on_new_epoch(Arc::new(move || {
                let entries = held.upgrade().map(|held| held.entries());
                for entry in entries.into_iter().flatten() {
                    entry.lease.recheck();
                }
            }));
        }
    }
}
