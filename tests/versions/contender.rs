//! A process that takes one lock as often as it can, for `tests/versions`.
//!
//! Its arguments are a file, the ms for which it contends, and the URLs of the nodes. The file exists while a holder is
//! inside. The process prints the number of its wire format, and how often it had the lock. Without arguments it prints
//! the error of a lock without `init`.

use std::error::Error;
use std::fs::{self, File};
use std::time::{Duration, Instant};

use redlock_core::node::WIRE_FORMAT;
use redlock_runtime::parameters::LockOptions;
use redlock_runtime::{Config, lock};

/// The time for which a holder is inside.
const HOLD: Duration = Duration::from_millis(1);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [inside, span, urls @ ..] = &arguments[..] else {
        let refused = lock("contended").acquire().await;
        println!("{}", refused.err().ok_or("it is locked without `init`")?);
        return Ok(());
    };
    let won = match contend(inside, Duration::from_millis(span.parse()?), urls).await {
        Ok(won) => won,
        Err(error) => {
            eprintln!("{error}");
            0
        }
    };
    println!("{WIRE_FORMAT} {won}");
    Ok(())
}

/// Locks and releases for `span`. Returns how often.
///
/// # Errors
/// The nodes are refused at the start.
async fn contend(inside: &str, span: Duration, urls: &[String]) -> Result<u32, Box<dyn Error>> {
    let pools = urls.iter().zip('a'..);
    let config = pools.fold(Config::new(), |config, (url, name)| config.pool(name, url));
    let redlock = redlock_runtime::init(config).await?;
    let (began, mut won) = (Instant::now(), 0);
    while began.elapsed() < span {
        let options = LockOptions::new().fencing(won % 2 == 0);
        let Ok(lease) = lock("contended").options(options).acquire().await else {
            continue;
        };
        File::create_new(inside).expect("no other holder is inside");
        tokio::time::sleep(HOLD).await;
        fs::remove_file(inside).expect("the file of this holder");
        lease.release().await;
        won += 1;
    }
    redlock.shutdown().await;
    Ok(won)
}
