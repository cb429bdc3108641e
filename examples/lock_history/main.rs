//! Takes each generation of the Redis lock through the same faults, and prints what became of it.
//!
//! ```sh
//! cargo run -p redlock-examples --example lock_history
//! ```
//!
//! starts `redis-server` processes of its own (`REDIS_SERVER`, or the one on the PATH), and ends them. It takes half a
//! minute. It exits with 0 if everything could be measured, whatever came out.
//!
//! * `generations.rs` has the locks, each as short as it was in its time.
//! * `faults.rs` has the faults. Nothing in it says what is to come out.
//! * `attempt.rs` runs a lock in a process of its own, and `caller.rs` directs that process.
//! * `servers.rs` starts servers, and loses them.

mod attempt;
mod caller;
mod faults;
mod generations;
mod servers;

use std::path::Path;

type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T> = std::result::Result<T, Error>;

const LEGEND: &str = "\
ok: no harm
–: cannot happen
A+B: A and B had the lock at once; likewise B+C and B+D
stuck: the lock is never free again
waits: a lock without a holder stays for its ttl
pushed: a refused caller moved the holder's expiry
livelock: refused callers leave a lock without a holder, and keep moving its expiry
down: no caller gets the lock
undone: a late write of an earlier holder replaced that of a later one";

/// Runs on one thread, because the servers end with the thread that started them.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        None => print_history().await,
        // The program starts itself as these two.
        Some((command, rest)) if command == attempt::COMMAND => attempt::main(rest).await,
        Some((command, rest)) if command == servers::COMMAND => servers::become_server(rest),
        Some((other, _)) => Err(format!("`{other}`: this example takes no arguments").into()),
    }
}

async fn print_history() -> Result<()> {
    let home = std::env::temp_dir().join(format!("lock_history-{}", std::process::id()));
    std::fs::create_dir(&home)?;
    let printed = print_faults(&home).await;
    // A folder that stays is litter, and no reason to fail.
    let _ = std::fs::remove_dir_all(&home);
    printed
}

async fn print_faults(home: &Path) -> Result<()> {
    println!("The faults:");
    for (_, head, about) in faults::ALL {
        println!("   {head}: {about}");
    }
    let heads = faults::ALL.map(|(_, head, _)| head).join(" | ");
    let mut table = vec![format!("| | {heads} |")];
    table.push(format!("|---{}|", "|---".repeat(faults::ALL.len())));
    let generations: Vec<_> = (0..generations::ALL.len()).collect();
    // Four at a time, because they mostly wait for a ttl.
    for generations in generations.chunks(4) {
        let rows = generations.iter().map(|&generation| {
            let home = home.to_owned();
            tokio::spawn(async move { faults::all(generation, &home).await })
        });
        for (generation, row) in generations.iter().zip(rows.collect::<Vec<_>>()) {
            let name = generations::ALL[*generation].name;
            println!("\n{name}");
            let mut cells = vec![name];
            let row = row.await??;
            for (found, (_, head, _)) in row.iter().zip(faults::ALL) {
                println!("   {head}: {found}");
                cells.push(found.split(": ").next().unwrap_or_default());
            }
            table.push(format!("| {} |", cells.join(" | ")));
        }
    }
    println!("\n{}\n\n{LEGEND}", table.join("\n"));
    Ok(())
}
