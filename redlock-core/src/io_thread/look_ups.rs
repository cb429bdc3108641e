//! Look-ups of host names, on the library's own threads.
//!
//! The system's look-up blocks its thread for as long as the name servers are silent. So look-ups run on the blocking
//! threads of the library's runtime. The application keeps its own threads, and may exit during a look-up.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::IoThread;

/// The age at which a look-up is slow. Another look-up begins then, because name servers may answer again.
const SLOW_LOOK_UP: Duration = Duration::from_secs(5);

/// The largest number of look-ups of one name at a time.
const MOST_LOOK_UPS: usize = 2;

/// The sorted addresses of a host, or the system's error text.
type Addresses = Result<Vec<SocketAddr>, String>;

/// A look-up that is under way. The result is `None` until the look-up ends.
struct LookUp {
    host: Arc<str>,
    since: Instant,
    result: watch::Receiver<Option<Addresses>>,
}

/// The look-ups that are under way. Callers that ask for the same name share one.
#[derive(Default)]
pub(super) struct LookUps(Mutex<Vec<LookUp>>);

impl LookUps {
    /// Returns the newest look-up of `host`. If there is none, or only a slow one, `begin` starts another.
    fn join(
        &self,
        host: &str,
        now: Instant,
        begin: impl FnOnce(Arc<str>, watch::Sender<Option<Addresses>>),
    ) -> watch::Receiver<Option<Addresses>> {
        let mut under_way = self.0.lock();
        under_way.retain(|it| it.result.has_changed().is_ok() && it.result.borrow().is_none());
        let of_host: Vec<_> = under_way.iter().filter(|it| *it.host == *host).collect();
        if let Some(newest) = of_host.last()
            && (of_host.len() == MOST_LOOK_UPS || now.duration_since(newest.since) < SLOW_LOOK_UP)
        {
            return newest.result.clone();
        }
        let (sender, result) = watch::channel(None);
        let host: Arc<str> = host.into();
        begin(Arc::clone(&host), sender);
        under_way.push(LookUp {
            host,
            since: now,
            result: result.clone(),
        });
        result
    }
}

impl IoThread {
    /// Returns the sorted addresses of `host`, so that all processes try them in one order. IPv4 comes first.
    ///
    /// If the future is dropped, the look-up continues, and a later caller can join it.
    pub(crate) async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let mut look_up = self
            .0
            .look_ups
            .join(host, self.time().now(), |host, sender| {
                self.handle().spawn_blocking(move || {
                    sender.send_replace(Some(look_up(&host)));
                });
            });
        let found = look_up.wait_for(Option::is_some).await;
        let found = found.ok().and_then(|found| found.clone());
        let mut found = found.ok_or("the look-up of its name was given up")??;
        for address in &mut found {
            address.set_port(port);
        }
        Ok(found)
    }
}

fn look_up(host: &str) -> Addresses {
    let found = (host, 0).to_socket_addrs();
    sorted(found.map_err(|error| error.to_string())?)
}

/// Sorts the addresses and removes duplicates. A look-up may succeed without any address, which is an error here.
fn sorted(found: impl Iterator<Item = SocketAddr>) -> Addresses {
    let mut found: Vec<_> = found.collect();
    if found.is_empty() {
        return Err("its name has no address".to_owned());
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_up_once_and_again_if_that_is_slow() {
        let look_ups = LookUps::default();
        let begun = Mutex::new(Vec::new());
        let start = Instant::now();
        let join = |host: &str, seconds: u64| {
            let start_one = |_, sender| begun.lock().push(sender);
            look_ups.join(host, start + Duration::from_secs(seconds), start_one);
            begun.lock().len()
        };
        assert_eq!(join("a", 0), 1);
        assert_eq!(join("a", 4), 1);
        assert_eq!(join("b", 4), 2);
        assert_eq!(join("a", 5), 3, "the first one is slow");
        assert_eq!(join("a", 60), 3, "two of a name are the most");
        begun.lock()[0].send_replace(Some(Err("no such host".into())));
        assert_eq!(join("a", 60), 4, "the first one has ended");
        begun.lock().clear();
        assert_eq!(join("a", 60), 1, "those that panicked have ended");
    }

    #[test]
    fn a_look_up_that_finds_no_address_says_so() {
        let none = sorted(std::iter::empty());
        assert_eq!(none, Err("its name has no address".to_owned()));
    }

    #[tokio::test]
    async fn a_look_up_that_fails_says_why() {
        let io = IoThread::start().unwrap();
        let why = io.addresses("a\0b", 1).await.unwrap_err();
        assert!(why.contains("NUL"), "{why}");
        let here = io.addresses("127.0.0.1", 7).await.unwrap();
        assert_eq!(here, [SocketAddr::from(([127, 0, 0, 1], 7))]);
    }
}
