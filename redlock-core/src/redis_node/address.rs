//! Where a server is and how to log in, from a URL.

use std::fmt;

use ::redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _};

use crate::error::Invalid;

/// A server's address and credentials. `Debug` and `Display` show no password.
#[derive(Clone)]
pub struct RedisAddress {
    /// Boxed: what it holds depends on the features of `redis`, and is large.
    pub(super) info: Box<ConnectionInfo>,
}

impl RedisAddress {
    /// Parses `redis://[user[:password]@]host[:port][/db]` or
    /// `redis+unix:///path[?db=n&user=…&pass=…]`.
    ///
    /// # Errors
    /// [`Invalid`], without the password, where the URL has another scheme or makes no sense.
    pub fn parse(url: &str) -> Result<Self, Invalid> {
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        match scheme {
            "redis" | "redis+unix" | "unix" => {}
            "rediss" => {
                return Err(Invalid::new(format!(
                    "`{}`: this version has no TLS yet; use a `redis://` URL, over a tunnel where \
                     the network is not trusted",
                    redacted(url),
                )));
            }
            _ => {
                return Err(Invalid::new(format!(
                    "`{}` is not a node's URL; write redis://host:port, redis+unix:///path or \
                     memory://name",
                    redacted(url),
                )));
            }
        }
        if scheme == "redis" && may_be_split_password(url) {
            return Err(Invalid::new(format!(
                "`{}` has a `#`, or an `@` behind its host; write `@`, `/`, `?` and `#` in a user or \
                 a password as %40, %2F, %3F and %23",
                redacted(url),
            )));
        }
        let info = url.into_connection_info().map_err(|error| {
            // Only the kind of the error: its text may repeat the URL.
            let reason = error.detail().filter(|detail| !detail.contains("://")).unwrap_or("");
            Invalid::new(format!(
                "`{}` is not a valid Redis URL{}{reason}; write redis://[user:password@]host:port[/db]",
                redacted(url),
                if reason.is_empty() { "" } else { ": " },
            ))
        })?;
        if let ConnectionAddr::Tcp(host, _) = info.addr()
            && host.is_empty()
        {
            return Err(Invalid::new(format!(
                "`{}` names no host; write redis://host:port",
                redacted(url)
            )));
        }
        Ok(Self {
            info: Box::new(info),
        })
    }

    /// The server that this address reaches, whatever the user and the database: two pools with
    /// the same one are one node.
    pub fn server(&self) -> String {
        match self.info.addr() {
            ConnectionAddr::Tcp(host, port) => format!("{}:{port}", host.to_ascii_lowercase()),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.server())
    }
}

impl fmt::Debug for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisAddress({self})")
    }
}

/// What may be shown of a URL that makes no sense: the scheme. Where it goes wrong, it cannot be told
/// what is a host and what is a piece of a password, with a `#` or a `/` in it.
fn redacted(url: &str) -> String {
    const LONGEST_SCHEME: usize = 16;
    let is_of_a_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    match url.split_once("://") {
        Some((scheme, _))
            if scheme.len() <= LONGEST_SCHEME && scheme.chars().all(is_of_a_scheme) =>
        {
            format!("{scheme}://…")
        }
        _ => "…".to_owned(),
    }
}

/// Whether the part that names the host may be a piece of a password: `redis://user:12#34@host` is a
/// host called `user` to the letter of the standard.
fn may_be_split_password(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let after = rest.find(['/', '?', '#']).map_or("", |at| &rest[at..]);
    after.contains('@') || after.contains('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_urls_name_their_server() {
        for (url, server) in [
            ("redis://127.0.0.1:7001", "127.0.0.1:7001"),
            ("redis://LocalHost", "localhost:6379"),
            ("redis://user:pw@db.example:6380/3", "db.example:6380"),
            ("redis+unix:///run/redis.sock", "/run/redis.sock"),
        ] {
            assert_eq!(RedisAddress::parse(url).unwrap().server(), server);
        }
    }

    #[test]
    fn bad_urls_are_refused_without_their_password() {
        for url in [
            "",
            "nonsense",
            "http://user:s3cret@host",
            "rediss://user:s3cret@host",
            "redis://user:s3cret@",
            "redis://user:s3cret@host:99999",
            "redis://:s3cret@host:port",
            "redis://host/s3cret?pass=s3cret",
            "s3cret@host",
            "redis://user:s3@cret@host:99999",
            "redis://user:s3cret",
            "redis://user:12#s3cret@host",
            "redis://s3cret:12/34@host",
            "redis://s3cret:12?34@host",
            "redis://s3cret:12#34",
            "s3cret://host",
        ] {
            let text = RedisAddress::parse(url).unwrap_err().to_string();
            assert!(!text.contains("s3") || url.starts_with("s3"), "{text}");
        }
    }

    #[test]
    fn debug_shows_no_password() {
        let address = RedisAddress::parse("redis://user:s3cret@host:1").unwrap();
        assert_eq!(
            format!("{address:?} {address}"),
            "RedisAddress(host:1) host:1"
        );
    }
}
