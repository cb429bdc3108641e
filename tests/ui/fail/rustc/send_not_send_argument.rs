//! Arguments and results that keep a future from being `Send`: shown where they are declared.
use std::rc::Rc;

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "{shared}")]
async fn argument(shared: Rc<u64>) -> Result<u64, LockError> {
    Ok(*shared)
}

#[redlock(resource = "a")]
async fn generic<T: AsRef<str>>(text: T) -> Result<usize, LockError> {
    tokio::task::yield_now().await;
    Ok(text.as_ref().len())
}

#[redlock(resource = key(&rc).await)]
async fn in_the_resource(rc: std::sync::Arc<u64>) -> Result<u64, LockError> {
    Ok(*rc)
}

async fn key(n: &u64) -> String {
    let text = Rc::new(n.to_string());
    tokio::task::yield_now().await;
    text.to_string()
}

fn spawn<T: AsRef<str> + 'static>(text: T) {
    is_send(argument(Rc::new(1)));
    is_send(generic(text));
    is_send(in_the_resource(std::sync::Arc::new(1)));
}

fn is_send(_: impl Send) {}

fn main() {
    spawn(String::new());
}
