//! The value of a run record: who ran, and when the run began.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Writes `host/pid`, a space, and the time in UTC, such as `web-7/3121 2026-11-22T03:00:00.012Z`.
pub(crate) fn write(owner: &str, began_ms: u64) -> String {
    // RFC 3339 ends with the year 9999.
    const LAST_MS_OF_9999: u64 = 253_402_300_799_999;
    let began = UNIX_EPOCH + Duration::from_millis(began_ms.min(LAST_MS_OF_9999));
    format!("{owner} {}", humantime::format_rfc3339_millis(began))
}

/// Reads the `host/pid` and the time in a record. Returns `None` for any other value.
pub(crate) fn read(value: &[u8]) -> Option<(&str, SystemTime)> {
    let text = std::str::from_utf8(value).ok()?;
    let (owner, began) = text.rsplit_once(' ')?;
    if owner.chars().any(char::is_control) {
        return None;
    }
    Some((owner, humantime::parse_rfc3339(began).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_readable_by_people_and_by_this() {
        let record = write("web-7/3121", 1_795_316_400_012);
        assert_eq!(record, "web-7/3121 2026-11-22T03:00:00.012Z");
        let began = UNIX_EPOCH + Duration::from_millis(1_795_316_400_012);
        assert_eq!(read(record.as_bytes()), Some(("web-7/3121", began)));
        assert!(read(write("a/1", u64::MAX).as_bytes()).is_some());
    }

    #[test]
    fn another_value_is_no_record() {
        for value in [
            &b"x"[..],
            b"",
            b"a/1 yesterday",
            b"\xff 2026-11-22T03:00:00Z",
        ] {
            assert_eq!(read(value), None);
        }
        assert_eq!(read(b"a\n/1 2026-11-22T03:00:00Z"), None);
    }
}
