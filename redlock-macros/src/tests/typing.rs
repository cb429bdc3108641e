//! Incomplete code: the function stays, so that an editor completes and checks its body.

use proc_macro2::TokenStream;

use crate::transform;

const ITEM: &str =
    "pub async fn charge(id: u64, order: Order) -> Result<Receipt, AppError> { send(id).await }";

#[test]
fn at_every_token_of_the_attribute_the_function_is_there() {
    let whole = r#"resource = ["order:{order.id}", "user:{id}"], ttl = Duration::from_secs(60),
        pools = ["a", "b"], wait = "5s", min_validity = 0.5, max_hold = "1m", fencing = true,
        on_lost = "cancel", if_locked = "error", guard = lease,
        name = "charge", crate = ::redlock_runtime"#;
    let [whole, item] = [whole, ITEM].map(|text| text.parse::<TokenStream>().expect(text));
    let mut refused = 0;
    for end in 0..whole.clone().into_iter().count() {
        let attribute: TokenStream = whole.clone().into_iter().take(end).collect();
        let output = transform(attribute, item.clone());
        let file = syn::parse2::<syn::File>(output.clone());
        let items = file
            .unwrap_or_else(|error| panic!("{end}: {error}: {output}"))
            .items;
        let is_charge = |item: &_| matches!(item, syn::Item::Fn(it) if it.sig.ident == "charge");
        assert!(items.iter().any(is_charge), "{end}: {output}");
        let text = output.to_string();
        assert_eq!(
            text.matches("send (id) . await").count(),
            1,
            "{end}: {text}"
        );
        refused += usize::from(text.contains("compile_error"));
    }
    assert!(
        refused > 25,
        "most of these are no attributes yet: {refused}"
    );
}
