//! Servers that speak TLS, with certificates good and bad.

mod clients;
mod configuration;
mod faults;
pub(crate) mod fixture;
mod rotation;
mod trust;
mod works;
