//! Processes that end with their parent.

use std::io;
use std::os::unix::process::CommandExt as _;

use tokio::process::Command;

/// The hidden sub-command that becomes another program: `run-tied <program> <arguments>`.
pub(crate) const TIED_COMMAND: &str = "run-tied";

/// This program with other arguments. The child is killed when what `spawn` returns is dropped.
pub(crate) fn myself(arguments: &[&str]) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(arguments)
        .kill_on_drop(true)
        // Ctrl-C goes to a terminal's whole group of processes. Of this program, it shall reach the
        // parent alone, which then ends its children in order.
        .process_group(0);
    Ok(command)
}

/// Lets the kernel kill this process when its parent dies, even by SIGKILL, and even while this one
/// is frozen. Where the kernel cannot, a parent that is itself killed leaves its children behind;
/// every other end of it goes through `kill_on_drop`.
pub(crate) fn end_with_parent() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    Ok(())
}

/// The program of [`TIED_COMMAND`] takes the place of this one, with the same process id, and tied
/// to the parent as [`end_with_parent`] says. Returns only to say why that failed.
pub(crate) fn become_tied(mut arguments: impl Iterator<Item = String>) -> String {
    let Some(program) = arguments.next() else {
        return "an argument is missing".into();
    };
    if let Err(error) = end_with_parent() {
        return error.to_string();
    }
    let mut command = std::process::Command::new(&program);
    let error = command.args(arguments).exec();
    format!("cannot start `{program}`: {error}")
}
