//! A program that forks after `init`: the child has neither the threads nor the connections of its parent.

use std::io::{PipeWriter, Read as _, Write as _};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use fork::Fork;
use redlock_runtime::error::{NotReadyKind, ProblemKind};
use redlock_runtime::{Config, Lease, LockError, Redlock, election, init, lock, redlock};
use redlock_tests::Nodes;
use rustix::process::{Pid, Signal, kill_process};

/// No child is so slow, on a busy machine either.
const SOON: Duration = Duration::from_secs(20);

#[redlock(resource = "order:{id}", wait = "forever")]
async fn charge(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

fn runtime() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap()
}

/// Tells the parent how each call of the child ends, and then drops what the child inherited.
fn child(mut parent: PipeWriter, redlock: Redlock, lease: Lease) {
    let mut say = |text: String| writeln!(parent, "{text}").unwrap();
    runtime().block_on(async {
        say(charge(1).await.unwrap_err().to_string());
        say(lock("r").acquire().await.unwrap_err().to_string());
        say(lock("r").peek().await.unwrap_err().to_string());
        let elected = election("e").run(async |_term| {}).await;
        say(elected.unwrap_err().to_string());
        let config = Config::new().pool("a", "memory://a");
        let refused = Redlock::start(config).await.unwrap_err();
        assert_eq!(refused.problems()[0].kind, ProblemKind::AlreadyRunning);
        say(refused.to_string());
        lease.release().await;
        let refused = redlock.ready(SOON).await.unwrap_err();
        let is_forked = matches!(refused.kind(), NotReadyKind::Forked);
        say(if is_forked {
            refused.to_string()
        } else {
            format!("{:?}", refused.kind())
        });
    });
    say(format!("ready: {}", redlock.registry().is_ready()));
    drop(redlock);
    say("the end".to_owned());
}

#[test]
fn a_child_that_is_forked_after_init_is_told_so_by_each_call() {
    let home = tokio::runtime::Runtime::new().unwrap();
    let (nodes, redlock, lease) = home.block_on(async {
        let nodes = Nodes::start(1).await;
        let config = Config::new().pool("a", nodes[0].url());
        let redlock = init(config.node_timeout(SOON)).await.unwrap();
        let lease = lock("held").acquire().await.unwrap();
        (nodes, redlock, lease)
    });
    let (mut child_says, parent) = std::io::pipe().unwrap();
    let pid = match fork::fork().unwrap() {
        Fork::Child => {
            child(parent, redlock, lease);
            std::process::exit(0);
        }
        Fork::Parent(pid) => Pid::from_raw(pid).unwrap(),
    };
    drop(parent);
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let mut said = String::new();
        let _ = child_says.read_to_string(&mut said);
        tell.send(said).unwrap();
    });
    // The pipe ends with the child, so a child that hangs is ended.
    let in_time = told.recv_timeout(SOON);
    let is_in_time = in_time.is_ok();
    let said = in_time.unwrap_or_else(|_| {
        kill_process(pid, Signal::KILL).unwrap();
        told.recv().unwrap()
    });
    let status = fork::waitpid(pid.as_raw_nonzero().get()).unwrap();
    assert!(is_in_time, "the child hangs after: {said}");
    assert_eq!(status, 0, "{said}");
    let lines: Vec<_> = said.lines().collect();
    let [calls @ .., ready, end] = &lines[..] else {
        panic!("{said}");
    };
    assert_eq!(calls.len(), 6, "{said}");
    for call in calls {
        assert!(
            call.contains("this process was forked from the one that started redlock"),
            "{call}"
        );
    }
    assert_eq!([*ready, *end], ["ready: false", "the end"]);

    // The parent has what it had.
    assert!(!lease.validity().is_zero());
    assert!(nodes[0].get("held").is_some());
    home.block_on(async {
        charge(1).await.unwrap();
        lease.release().await;
        redlock.shutdown().await;
    });
    assert!(nodes[0].get("held").is_none());
}
