//! Tests of the requests that readers and writers may not make.

mod lines;

use std::time::Duration;

use crate::kinds::Kind;
use crate::request::Request;

#[test]
fn what_readers_and_writers_cannot_have_is_refused_by_name() {
    for kind in [Kind::Read, Kind::Write] {
        let several = Request::new(["a", "b"]).kind(kind).check().unwrap_err();
        assert!(several.to_string().contains("several names"), "{several}");
        assert!(Request::new("r").kind(kind).check().is_ok());
    }
    let mut job = Request::new("r").kind(Kind::Read);
    job.once_per = Some(Duration::from_secs(3600));
    assert!(job.check().unwrap_err().to_string().contains("once_per"));
}
