//! The service on axum, and the one on actix-web.

use redlock_tests::http_request;

use crate::examples::{assert_end_well, until_locked};
use crate::services::fleet::Fleet;

const PATH: &str = "/orders/42/charge";
const CHARGE: &str = r#"{"cents": 995}"#;

#[tokio::test]
async fn an_order_that_another_process_charges_is_answered_423() {
    for example in ["axum_service", "actix_service"] {
        let fleet = Fleet::start(example, 2, &[]).await;
        let [one, other] = [0, 1].map(|index| fleet.services[index].addr());
        let first = tokio::spawn(http_request(one, "POST", PATH, CHARGE));
        until_locked(&fleet, 1).await;
        // The charge takes three seconds; from here on it takes as long as this test likes.
        fleet.services[0].freeze();
        let refused = http_request(other, "POST", PATH, CHARGE).await.unwrap();
        fleet.services[0].thaw();
        assert_eq!(refused.status, 423, "{example}: {refused:?}");
        assert!(refused.header("retry-after").is_some(), "{refused:?}");

        let receipt = first.await.unwrap().unwrap();
        assert_eq!(receipt.status, 200, "{example}: {receipt:?}");
        assert_eq!(receipt.body, r#"{"order_id":42,"cents":995}"#);
        let again = http_request(one, "POST", PATH, CHARGE).await.unwrap();
        assert_eq!(again.status, 409, "{example}: {again:?}");
        assert_end_well(&fleet).await;
    }
}
