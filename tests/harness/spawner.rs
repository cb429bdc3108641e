//! Child processes that end with this process, however it ends.

use std::ffi::OsStr;
use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, mpsc};
use std::thread;

type Order = (Command, mpsc::Sender<io::Result<Child>>);

/// The thread that starts every child.
///
/// "Parent death" means the death of the *thread* that forked. A child started from a test's
/// thread, or from tokio's blocking pool, would be killed as soon as that thread is done. This one
/// lives as long as the process.
static SPAWNER: LazyLock<mpsc::Sender<Order>> = LazyLock::new(|| {
    let (orders, inbox) = mpsc::channel::<Order>();
    thread::Builder::new()
        .name("spawner".into())
        .spawn(move || {
            for (mut command, reply) in inbox {
                let _ = reply.send(command.spawn());
            }
        })
        .expect("a thread to start processes from");
    orders
});

/// Whether `setpriv` of util-linux is there: it sets the parent-death signal and then becomes the
/// program itself, with the same process id.
static SETPRIV: LazyLock<bool> = LazyLock::new(|| {
    cfg!(target_os = "linux")
        && Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--", "true"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
});

/// A command for `program` that the kernel kills when this process dies, where that is possible.
///
/// Elsewhere (no `setpriv`) a child outlives a test process that was itself killed; every other end
/// goes through `Drop`.
pub(crate) fn tied(program: impl AsRef<OsStr>) -> Command {
    if *SETPRIV {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    }
}

pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    let (reply, answer) = mpsc::channel();
    SPAWNER
        .send((command, reply))
        .expect("the spawner thread lives as long as the process");
    answer
        .recv()
        .expect("the spawner thread answers every order")
}
