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

/// The tests of a client that has a majority of several servers.
macro_rules! of_several_servers {
    ($($name:ident: $neighbour:ident,)*) => { $(
        mod $name {
            use crate::neighbours::Neighbour::$neighbour;
            use crate::{contention, each};

            #[tokio::test]
            async fn excludes_and_is_excluded_on_one_node() {
                each::exclude_each_other($neighbour, 1).await;
            }

            #[tokio::test]
            async fn excludes_and_is_excluded_on_three_nodes() {
                each::exclude_each_other($neighbour, 3).await;
            }

            #[tokio::test]
            async fn has_one_permit_on_three_nodes() {
                each::has_one_of_two_permits($neighbour, 3).await;
            }

            #[tokio::test]
            async fn touches_nothing_on_three_nodes() {
                each::touch_nothing_of_each_other($neighbour, 3).await;
            }

            #[tokio::test]
            async fn takes_turns_on_three_nodes() {
                contention::in_turns($neighbour, 3).await;
            }
        }
    )* };
}

/// The tests of a client of one server.
macro_rules! of_one_server {
    ($($name:ident: $neighbour:ident,)*) => { $(
        mod $name {
            use crate::neighbours::Neighbour::$neighbour;
            use crate::{contention, each};

            #[tokio::test]
            async fn excludes_and_is_excluded_on_one_node() {
                each::exclude_each_other($neighbour, 1).await;
            }

            #[tokio::test]
            async fn is_one_vote_of_three() {
                each::counts_as_one_vote($neighbour).await;
            }

            #[tokio::test]
            async fn has_one_permit_on_one_node() {
                each::has_one_of_two_permits($neighbour, 1).await;
            }

            #[tokio::test]
            async fn touches_nothing_on_one_node() {
                each::touch_nothing_of_each_other($neighbour, 1).await;
            }

            #[tokio::test]
            async fn takes_turns_on_one_node() {
                contention::in_turns($neighbour, 1).await;
            }
        }
    )* };
}

of_several_servers! {
    node_redlock: NodeRedlock,
    sesamecare: Sesamecare,
    pottery: Pottery,
    aioredlock: Aioredlock,
    rslock: Rslock,
}

of_one_server! {
    redis_py: RedisPy,
    python_redis_lock: PythonRedisLock,
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
