//! Servers that answer with errors for a while.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::cluster::Cluster;
use crate::faults::{Toll, stop};

/// The answer, the command that causes it, and the command that ends it.
type Refusal = (&'static str, &'static str, &'static str);

/// The first takes releases too.
const REFUSALS: [Refusal; 3] = [
    (
        "writes answered NOREPLICAS",
        "CONFIG SET min-replicas-to-write 1",
        "CONFIG SET min-replicas-to-write 0",
    ),
    (
        "writes answered OOM",
        "CONFIG SET maxmemory 1",
        "CONFIG SET maxmemory 0",
    ),
    (
        "scripts answered NOPERM",
        "ACL SETUSER default -evalsha",
        "ACL SETUSER default +evalsha",
    ),
];

/// Lets one server after another answer with errors. When it has stopped, none does.
pub(crate) async fn refuse(
    cluster: Arc<Cluster>,
    seed: u64,
    toll: Toll,
    stopped: watch::Receiver<bool>,
) {
    let mut rng = StdRng::seed_from_u64(seed ^ 0xE4404);
    let seats: Vec<usize> = (0..cluster.nodes.len()).collect();
    while !*stopped.borrow() {
        tokio::select! {
            () = sleep(Duration::from_millis(rng.random_range(50..500))) => {}
            () = stop(stopped.clone()) => return,
        }
        let (name, begin, end) = REFUSALS[rng.random_range(0..REFUSALS.len())];
        let seat = *seats.choose(&mut rng).expect("there are nodes");
        toll.add(name);
        tell(&cluster, seat, begin).await;
        tokio::select! {
            () = sleep(Duration::from_millis(rng.random_range(5..200))) => {}
            () = stop(stopped.clone()) => {}
        }
        tell(&cluster, seat, end).await;
    }
}

/// The server may stand still for a moment.
async fn tell(cluster: &Arc<Cluster>, seat: usize, command: &'static str) {
    let cluster = Arc::clone(cluster);
    let told = tokio::task::spawn_blocking(move || {
        cluster.nodes[seat].command(command.split(' '));
    });
    told.await.expect("the server takes commands");
}
