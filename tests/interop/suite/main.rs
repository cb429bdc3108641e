//! Other clients of the same locks, as they come from their registries, beside this library.
//!
//! `scripts/test --neighbours` installs the clients and runs this. Each client has a module with the tests
//! of [`each`] and of [`contention`]; two have a [`migration`]. [`written`] has what clients that are not run here write to a server.

mod alone;
mod asked;
mod contention;
mod each;
mod migration;
mod neighbours;
mod ours;
mod written;

/// The tests of a client on as many nodes as it takes.
macro_rules! beside {
    ($($name:ident: $neighbour:ident on $count:literal,)*) => { $(
        mod $name {
            use crate::neighbours::Neighbour::$neighbour;
            use crate::{contention, each};

            #[tokio::test]
            async fn excludes_and_is_excluded() {
                each::exclude_each_other($neighbour, $count).await;
            }

            #[tokio::test]
            async fn has_one_permit() {
                each::has_one_of_two_permits($neighbour, $count).await;
            }

            #[tokio::test]
            async fn touches_nothing() {
                each::touch_nothing_of_each_other($neighbour, $count).await;
            }

            #[tokio::test]
            async fn takes_turns() {
                contention::in_turns($neighbour, $count).await;
            }
        }
    )* };
}

beside! {
    node_redlock: NodeRedlock on 3,
    sesamecare: Sesamecare on 3,
    pottery: Pottery on 3,
    aioredlock: Aioredlock on 3,
    rslock: Rslock on 3,
    redis_py: RedisPy on 1,
    python_redis_lock: PythonRedisLock on 1,
}

#[tokio::test]
async fn redis_py_is_one_vote_of_three() {
    each::counts_as_one_vote(neighbours::Neighbour::RedisPy).await;
}

#[tokio::test]
async fn python_redis_lock_is_one_vote_of_three() {
    each::counts_as_one_vote(neighbours::Neighbour::PythonRedisLock).await;
}

/// The tests of a client that has a page of the guide on migrating from it.
macro_rules! migrated_from {
    ($($name:ident: $neighbour:ident,)*) => { mod migrates_without_overlap_from { $(
        #[tokio::test]
        async fn $name() {
            crate::migration::without_overlap(crate::neighbours::Neighbour::$neighbour).await;
        }
    )* } };
}

migrated_from! {
    node_redlock: NodeRedlock,
    rslock: Rslock,
}
