//! A minimal HTTP client for tests of example services.

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A response, read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpReply {
    /// The status code.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as text.
    pub body: String,
}

impl HttpReply {
    /// Returns the value of the first header of that name, which is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Sends a `POST` without a body; returns the status and the response's body.
pub async fn http_post(addr: SocketAddr, path: &str) -> std::io::Result<(u16, String)> {
    let reply = http_request(addr, "POST", path, "").await?;
    Ok((reply.status, reply.body))
}

/// Sends one request, whose body is JSON if there is one, on a connection of its own. Fails when the connection does, as it will when a
/// test kills the service.
pub async fn http_request(
    addr: SocketAddr,
    method: &str,
    path: &str,
    body: &str,
) -> std::io::Result<HttpReply> {
    let mut stream = TcpStream::connect(addr).await?;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await?;
    let reply = String::from_utf8_lossy(&reply);
    parse(&reply).ok_or_else(|| {
        let what = format!("not a whole, unchunked HTTP response: {reply:?}");
        Error::new(ErrorKind::InvalidData, what)
    })
}

fn parse(reply: &str) -> Option<HttpReply> {
    let (head, body) = reply.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines
        .map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        })
        .collect::<Option<_>>()?;
    let body = body.to_owned();
    let reply = HttpReply {
        status,
        headers,
        body,
    };
    // Refuse the answer of a broken connection, which would look like a short one.
    let whole = match reply.header("content-length") {
        Some(length) => length.parse() == Ok(reply.body.len()),
        None => reply.header("transfer-encoding").is_none(),
    };
    whole.then_some(reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_headers_and_body_are_taken_apart() {
        let text = "HTTP/1.1 423 Locked\r\nRetry-After: 12\r\nContent-Length: 4\r\n\r\nheld";
        let reply = parse(text).unwrap();
        assert_eq!((reply.status, reply.body.as_str()), (423, "held"));
        assert_eq!(reply.header("retry-after"), Some("12"));
    }

    #[test]
    fn a_truncated_answer_is_refused() {
        assert_eq!(
            parse("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"),
            None
        );
        assert_eq!(parse("HTTP/1.1 200 OK\r\nContent-"), None);
        assert_eq!(parse(""), None);
    }
}
