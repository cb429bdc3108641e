//! Permits around an upstream.

use redlock_tests::http_request;
use tokio::task::JoinSet;

use crate::examples::{assert_end_well, until_locked};
use crate::services::fleet::Fleet;

#[tokio::test]
async fn four_requests_of_one_process_leave_another_no_permit() {
    let fleet = Fleet::start("permits", 2, &[]).await;
    let [one, other] = [0, 1].map(|index| fleet.services[index].addr());
    let places = ["/places/a", "/places/b", "/places/c", "/places/d"];
    let holders: JoinSet<_> = places
        .map(|place| http_request(one, "GET", place, ""))
        .into_iter()
        .collect();
    until_locked(&fleet, 4).await;
    fleet.services[0].freeze();
    let busy = http_request(other, "GET", "/places/e", "").await.unwrap();
    fleet.services[0].thaw();
    assert_eq!((busy.status, busy.body.as_str()), (503, "busy\n"));

    for place in holders.join_all().await {
        assert_eq!(place.unwrap().status, 200, "{}", fleet.said());
    }
    let place = http_request(other, "GET", "/places/e", "").await.unwrap();
    assert_eq!(place.status, 200, "{place:?}");
    assert_end_well(&fleet).await;
}
