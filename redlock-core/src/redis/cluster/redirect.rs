//! Redirections between the servers of a Cluster.

use std::sync::Arc;

use crate::node::NodeError;
use crate::redis::connection::errors::not_connected;
use crate::redis::connection::vetting::{Facts, refused};
use crate::redis::options::Vetting;
use crate::redis::server::inbox::{Owed, Submission, Way, WholeCluster};

use super::super::address::Server;
use super::{ClusterShared, may_follow};

/// The most times that an operation is sent on before it fails. While two servers redirect to each
/// other, no number of times would help.
const MOST_HOPS: u8 = 5;

impl WholeCluster for ClusterShared {
    fn alarm(&self) {
        self.news.notify_one();
    }

    fn vet(
        &self,
        server: &Server,
        facts: &Facts,
        vetting: Vetting,
    ) -> Result<Vec<String>, NodeError> {
        if facts.is_replica() {
            let detail = "it has become a replica; its master is not known yet";
            return Err(not_connected(detail));
        }
        let warnings = facts.judge_part(&self.name).under(vetting)?;
        let of_it = |warning| format!("{server}: {warning}");
        Ok(warnings.into_iter().map(of_it).collect())
    }

    fn adopt(&self, owed: Vec<Owed>) {
        self.deliver_all_owed(owed);
    }

    fn follow(self: Arc<Self>, mut submission: Submission, way: &Way, error: NodeError) {
        if !matches!(way, Way::Ask(_)) {
            // While a slot moves to another master, the map still names the old one, which is right.
            self.news.notify_one();
        }
        let target = match way {
            _ if submission.route.hops >= MOST_HOPS => None,
            _ if !may_follow(&submission.call, &submission.reply) => None,
            Way::Moved(server) | Way::Ask(server) => self.shard_at(server),
            Way::Nowhere => None,
        };
        let Some(shard) = target else {
            return self.fail(submission, error);
        };
        submission.route.hops += 1;
        submission.route.is_asking = matches!(way, Way::Ask(_));
        if let Err(back) = shard.link.inbox.deliver(submission) {
            // The shard was replaced at this moment.
            self.fail(back, error);
        }
    }
}

/// The error for a server that is not part of a Cluster.
pub(super) fn not_clustered(server: &Server) -> NodeError {
    refused(format!(
        "{server} is no part of a Redis Cluster; write redis:// in the pool's URL",
    ))
}
