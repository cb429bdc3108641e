//! Servers that forget, whose clocks step, or that a lock cannot rely on.

mod acl;
mod clocks;
mod fixture;
mod flushes;
mod leases;
mod new_sets;
mod restarts;
mod rules;
mod vetting;
