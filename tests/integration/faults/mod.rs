//! What goes wrong in the field, each by name, on real servers: with three nodes and with five.

/// Turns behaviours, which are functions of the number of nodes, into tests with 3 nodes and with 5.
macro_rules! with_three_and_five_nodes {
    ($($(#[$attribute:meta])* $behaviour:ident),+ $(,)?) => {
        mod three_nodes {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            $(#[$attribute])*
            async fn $behaviour() {
                super::$behaviour(3).await;
            })+
        }

        mod five_nodes {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            $(#[$attribute])*
            async fn $behaviour() {
                super::$behaviour(5).await;
            })+
        }
    };
}

mod cancellation;
#[cfg(target_os = "linux")]
mod clocks;
mod frozen;
mod holders;
mod kinds;
mod load;
pub(crate) mod scene;
mod slow;
mod votes;
