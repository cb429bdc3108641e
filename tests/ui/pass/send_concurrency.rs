//! Calls in tasks, sets, joins and selections; arguments and values that are shared.
#![deny(warnings)]
#![allow(dead_code)]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redlock_runtime::{LockError, redlock};
use tokio::task::{JoinSet, LocalSet};

#[derive(Clone, Default)]
struct App {
    log: Arc<Mutex<Vec<String>>>,
}

impl App {
    #[redlock(resource = "{key}", guard = lease)]
    async fn add(&self, key: &str) -> Result<usize, LockError> {
        lease.extend(Duration::from_secs(1)).await?;
        tokio::task::yield_now().await;
        let mut log = self.log.lock().unwrap();
        log.push(lease.resource().to_string());
        Ok(log.len())
    }

    #[redlock(resource = "{key}", guard = lease)]
    async fn shared(self: Arc<Self>, key: String) -> Result<usize, LockError> {
        let handle = lease.handle();
        let inner = self.clone();
        let watching = tokio::spawn(async move { (handle.resource().to_string(), inner) });
        let (text, app) = watching.await.unwrap();
        app.log.lock().unwrap().push(text);
        Ok(key.len())
    }
}

#[redlock(resource = "{key}")]
async fn local(key: Rc<str>, count: &RefCell<u64>) -> Result<u64, LockError> {
    tokio::task::yield_now().await;
    *count.borrow_mut() += 1;
    Ok(*count.borrow())
}

#[redlock(resource = "{tag}")]
async fn generic<T: std::fmt::Display + Send + 'static>(tag: T) -> Result<T, LockError> {
    tokio::task::yield_now().await;
    Ok(tag)
}

async fn calls(app: Arc<App>) -> Result<(), LockError> {
    let (a, b) = tokio::join!(app.add("a"), app.add("b"));
    tokio::try_join!(app.add("a"), app.add("b"))?;
    let _ = a? + b?;

    let mut set = JoinSet::new();
    set.spawn(app.clone().shared("a".into()));
    set.spawn(async move { app.add("b").await });
    while let Some(done) = set.join_next().await {
        let _ = done.unwrap()?;
    }

    tokio::select! {
        done = generic("a") => drop(done?),
        done = generic(1) => drop(done?),
        () = tokio::time::sleep(Duration::from_secs(1)) => {}
    }

    let tasks = LocalSet::new();
    let count = Rc::new(RefCell::new(0));
    let counted = tasks.run_until(async { local("a".into(), &count).await });
    let _ = tokio::time::timeout(Duration::from_secs(1), counted).await;
    Ok(())
}

fn main() {}
