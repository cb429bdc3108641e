//! What a registry knows of its pools and of the annotated functions, for whoever looks after it.

use std::time::Duration;

use redlock_core::{NodeStatus, NodeVitals, OnLost, Renewal, Request, RetryLimit, majority};

use crate::parameters::{MinValidity, OnCancel, Parameters, Wait};

use super::site::{Site, sites};
use super::{Registry, names_of};

/// How a pool is doing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PoolHealth {
    /// The pool's name.
    pub pool: String,
    /// Whether it votes, and why not.
    pub status: NodeStatus,
    /// Whether it is one of the default pools.
    pub is_default: bool,
    /// How often it may have forgotten locks, as far as this process saw: it restarted, was flushed,
    /// or its clock stepped.
    pub epoch: u32,
    /// How many of the leases that this process holds on it do not rest on it, although they might: it
    /// restarted since, or did not answer. The restart of another node may end them.
    pub not_resting: usize,
    /// Its connection, latency, errors and clock.
    pub vitals: NodeVitals,
}

impl PoolHealth {
    /// Whether it votes.
    pub fn is_voting(&self) -> bool {
        matches!(self.status, NodeStatus::Voting)
    }
}

/// How many of the default pools vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Votes {
    /// So many vote.
    pub voting: usize,
    /// So many are a majority.
    pub needed: usize,
    /// So many are configured.
    pub configured: usize,
}

impl Votes {
    /// Whether a lock can be had on the default pools.
    pub fn suffice(self) -> bool {
        self.configured > 0 && self.voting >= self.needed
    }
}

/// An annotated function, as a registry runs it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SiteReport {
    /// The function, and what its attribute says.
    pub site: &'static Site,
    /// The pools that it locks on.
    pub pools: Vec<String>,
    /// With what it locks.
    pub parameters: SiteParameters,
    /// Those that the configuration says for this function alone, `pools` among them.
    pub overridden: Vec<&'static str>,
    /// Those of the parameters that are expressions of the function: each call has its own values,
    /// and what `parameters` has for them counts for none.
    pub at_call: Vec<&'static str>,
    /// How many leases it holds now.
    pub held: usize,
}

/// The parameters of a lock, with everything decided.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SiteParameters {
    /// After so long the nodes free the lock by themselves.
    pub ttl: Duration,
    /// Retries after the first attempt; `None` where `wait` says how long to try.
    pub retry_count: Option<u32>,
    /// How long to keep trying; `None` where `retry_count` says how often.
    pub wait: Option<Wait>,
    /// The pause between attempts, at most.
    pub retry_delay: Duration,
    /// This part of the ttl is taken off the validity.
    pub clock_drift_factor: f64,
    /// What an acquisition has to leave of the validity.
    pub min_validity: MinValidity,
    /// How long the lock is renewed for.
    pub max_hold: Renewal,
    /// A release before this leaves the lock until then.
    pub min_hold: Duration,
    /// Whether a fencing token comes with the lock.
    pub fencing: bool,
    /// What happens to the body when its lease ends.
    pub on_lost: OnLost,
    /// What happens to the lock when its body is cut off.
    pub on_cancel: OnCancel,
    /// Whether a call is skipped while somebody else holds the lock.
    pub skips: bool,
}

impl Registry {
    /// Each pool in the order of its name.
    pub fn health(&self) -> Vec<PoolHealth> {
        let defaults = names_of(&self.shared.default_set);
        let not_resting = self.shared.held.not_resting();
        let pools = self.shared.pools.iter();
        pools
            .map(|(pool, it)| PoolHealth {
                pool: pool.clone(),
                status: it.node.status(),
                is_default: defaults.contains(pool),
                epoch: it.node.epoch(),
                not_resting: not_resting.get(pool).copied().unwrap_or(0),
                vitals: it.node.vitals(),
            })
            .collect()
    }

    /// How many of the default pools vote.
    pub fn votes(&self) -> Votes {
        let nodes = &self.shared.default_set;
        let is_voting = |status| matches!(status, NodeStatus::Voting);
        Votes {
            voting: nodes.iter().filter(|node| is_voting(node.status())).count(),
            needed: majority(nodes.len()),
            configured: nodes.len(),
        }
    }

    /// Whether calls can be expected to get their locks: a majority of the default pools votes, and
    /// no shutdown has begun.
    pub fn is_ready(&self) -> bool {
        self.votes().suffice() && !self.is_closing()
    }

    /// Whether a shutdown has begun: what is not below a held lease gets no lock any more.
    pub fn is_closing(&self) -> bool {
        self.shared.held.is_closed()
    }

    /// How many callers stand in line behind another caller of this process.
    pub fn waiting(&self) -> usize {
        self.shared.client.waiting()
    }

    /// `host/pid`: whom other processes see as the holder of this registry's locks.
    pub fn owner(&self) -> &str {
        self.shared.client.owner()
    }

    /// All functions under `#[redlock]` that are linked into this program, in the order of their
    /// source, with what they lock in this registry.
    pub fn sites(&self) -> Vec<SiteReport> {
        let held = self.shared.held.entries();
        let reports = sites().into_iter().map(|site| {
            // A generic function may have several sites, one an instance.
            let is_of_site = |of: Option<&Site>| of.is_some_and(|it| it.place() == site.place());
            let held = held.iter().filter(|entry| is_of_site(entry.site)).count();
            self.report(site, held)
        });
        reports.collect()
    }

    /// What a call of `site` would have, layer by layer as it is put together for a call.
    fn report(&self, site: &'static Site, held: usize) -> SiteReport {
        let over = self.shared.overrides.of(Some(site));
        let overriding = over.map_or(Parameters::NONE, |over| over.parameters);
        let parameters = overriding.above(site.own_parameters());
        let nodes = over.and_then(|over| over.nodes.as_ref());
        let pools = match (nodes, site.pool_names()) {
            (Some(nodes), _) => names_of(nodes),
            (None, Some(names)) => names.iter().map(|&name| name.to_owned()).collect(),
            (None, None) => names_of(&self.shared.default_set),
        };
        let mut overridden = overriding.names();
        // An override is above what the call says.
        let is_at_call = |name: &&str| match *name {
            "wait" | "retry_count" => overriding.limit.is_none(),
            name => !overridden.contains(&name),
        };
        let at_call = site.names_at_call().iter().copied().filter(is_at_call);
        let at_call = at_call.collect();
        if nodes.is_some() {
            overridden.push("pools");
        }
        SiteReport {
            site,
            pools,
            parameters: SiteParameters::of(parameters.above(self.shared.defaults), site),
            overridden,
            at_call,
            held,
        }
    }
}

impl SiteParameters {
    fn of(parameters: Parameters, site: &Site) -> Self {
        // For the built-in values, which are core's.
        let built_in = Request::new("r");
        let (mut retry_count, mut wait) = (None, None);
        match parameters.limit.unwrap_or(built_in.retry.limit) {
            RetryLimit::Count(count) => retry_count = Some(count),
            RetryLimit::Wait(budget) => wait = Some(Wait::For(budget)),
            _ => wait = Some(Wait::Forever),
        }
        let least = MinValidity::Time(built_in.min_validity);
        let drift = built_in.clock_drift_factor;
        Self {
            ttl: parameters.ttl.unwrap_or(built_in.ttl),
            retry_count,
            wait,
            retry_delay: parameters.retry_delay.unwrap_or(built_in.retry.delay),
            clock_drift_factor: parameters.clock_drift_factor.unwrap_or(drift),
            min_validity: parameters.min_validity.unwrap_or(least),
            max_hold: parameters.max_hold.unwrap_or(built_in.renewal),
            min_hold: parameters.min_hold.unwrap_or(built_in.min_hold),
            fencing: parameters.fencing.unwrap_or(built_in.fencing),
            on_lost: parameters.on_lost.unwrap_or_default(),
            on_cancel: parameters.on_cancel.unwrap_or_default(),
            skips: site.skips,
        }
    }
}
