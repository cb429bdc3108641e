//! Which server a node's address means right now.

use crate::node::NodeError;

use super::address::{Place, RedisAddress, Sentinel, Server};
use super::connect::not_connected;

/// The server to connect to.
///
/// Dropping the future leaves nothing behind.
pub(super) async fn locate(address: &RedisAddress) -> Result<Server, NodeError> {
    match &address.place {
        Place::Server(server) => Ok(server.clone()),
        Place::Sentinel(Sentinel {
            login, is_secure, ..
        }) if login.db >= 0 || *is_secure => Err(not_connected("sentinels are not asked yet")),
        // A Cluster is no one server: its masters are each located by themselves.
        Place::Sentinel(_) | Place::Cluster(_) => Err(not_connected("no single server")),
    }
}
