//! What a call of an annotated function does, on in-process nodes.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use redlock_runtime::{LockError, redlock};

mod drop_order;
mod expressions;
mod fixture;
mod functions;
mod parameters;
mod parameters_of_calls;
mod recursion;

use fixture::{Log, Nodes, with_nodes};
#[redlock(resource = "panics")]
async fn panics(nodes: &Nodes, log: &Log) -> Result<(), LockError> {
    let _local = nodes.seen("local", log);
    std::future::ready(()).await;
    panic!("on purpose");
}

/// Turns a panic in a poll into a value.
struct CatchUnwind<F>(Pin<Box<F>>);

impl<F: Future> Future for CatchUnwind<F> {
    type Output = Result<F::Output, Box<dyn std::any::Any + Send>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context)));
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}

#[tokio::test]
async fn a_panic_drops_the_body_and_the_lock_and_goes_on() {
    with_nodes(|nodes, log| async move {
        let panic = CatchUnwind(Box::pin(panics(&nodes, &log)))
            .await
            .unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
        assert_eq!(log.lines(), ["local dropped locked"]);
        nodes.free().await;
    })
    .await;
}

#[redlock(resource = noted(log, "resource"), ttl = Duration::from_secs(noted(log, "ttl").len() as u64),
          retry_count = u32::try_from(noted(log, "retries").len()).unwrap())]
async fn evaluates(log: &Log) -> Result<(), LockError> {
    log.add("body");
    Ok(())
}

fn noted(log: &Log, what: &'static str) -> &'static str {
    log.add(what);
    what
}

#[tokio::test]
async fn expressions_are_evaluated_once_and_before_the_body() {
    with_nodes(|_, log| async move {
        let call = evaluates(&log);
        assert!(log.lines().is_empty());
        call.await.unwrap();
        assert_eq!(log.lines(), ["resource", "ttl", "retries", "body"]);
    })
    .await;
}

trait Job<T> {
    #[redlock(resource = "job:{id}")]
    fn boxed<'a>(
        &'a self,
        id: u64,
        nodes: &'a Nodes,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<String>, LockError>> + 'a>> {
        Box::pin(async move { Ok(nodes.locked()) })
    }

    #[redlock(resource = "provided:{id}", name = "provided")]
    fn provided<const N: usize>(
        &self,
        id: u64,
        nodes: &Nodes,
    ) -> impl Future<Output = Result<Vec<String>, LockError>> {
        async move { Ok(nodes.locked()) }
    }
}

struct Generic;
impl Job<u8> for Generic {}
impl Job<u16> for Generic {}

#[tokio::test]
async fn returned_futures_run_their_block_locked() {
    with_nodes(|nodes, _| async move {
        assert_eq!(
            Job::<u8>::boxed(&Generic, 1, &nodes).await.unwrap(),
            ["job:1"]
        );
        assert_eq!(
            Job::<u16>::provided::<3>(&Generic, 2, &nodes)
                .await
                .unwrap(),
            ["provided:2"]
        );
        assert!(nodes.locked().is_empty());
    })
    .await;
}
#[redlock(resource = "lazy")]
fn lazy(
    nodes: &Nodes,
    log: &Log,
) -> impl Future<Output = Result<impl Iterator<Item = usize>, LockError>> {
    log.add(format!("statement {:?}", nodes.locked()));
    async move {
        log.add(format!("block {:?}", nodes.locked()));
        Ok((0..1).map(|_| nodes.locked().len()))
    }
}

#[tokio::test]
async fn statements_before_the_block_and_lazy_values_are_not_locked() {
    with_nodes(|nodes, log| async move {
        let lazy = lazy(&nodes, &log).await.unwrap();
        assert_eq!(log.lines(), ["statement []", "block [\"lazy\"]"]);
        assert_eq!(lazy.collect::<Vec<_>>(), [0]);
    })
    .await;
}

#[tokio::test]
async fn every_function_registers_itself_once() {
    let of = |name: &str| {
        let sites = redlock_runtime::registry::sites();
        sites
            .into_iter()
            .filter(|site| site.name() == name)
            .collect::<Vec<_>>()
    };
    let [site] = of("provided")[..] else {
        panic!("registered once")
    };
    assert_eq!(site.resource_template(), "provided:{id}");
    assert!(site.file().ends_with("macro_behaviour/mod.rs"));
    assert_eq!(of(concat!(module_path!(), "::evaluates")).len(), 1);
}
