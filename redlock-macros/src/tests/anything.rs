//! Random tokens in the attribute and below it. The macro never panics, and a file that parses
//! still parses after the expansion.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::sample::select;
use proptest::test_runner::FileFailurePersistence;

use crate::parameters::Key;
use crate::transform;

/// Separated by white space.
const WORDS: &str = r#"
    tll crate lease self Self _ id r#type async await move return let fn safe pub struct impl dyn const
    unsafe extern where mut Box pin Future Output Result u8 true 1 0 60_000 1.5 1e999 60s 3u32
    99999999999999999999 'a 'x' "" "order:{id}" "{self.id}" "{id.0.x}" "{id.größe}" "{id[0]}" "{N.id}"
    concat format "{" "}" "{}" "redlock:" "60s" "cancel" "expire" "unlimited" b"" b'x' c"x" = = = , , ;
    : :: -> < > & # ! - . .. | ? *
"#;

const ITEMS: &[&str] = &[
    "async fn f() -> Result<(), E> { Ok(()) }",
    "pub async fn f<'a, T: 'a>(id: &'a T, (a, B { b, .. }): (u8, B)) -> Result<&'a T, E> where T: X { #![allow(x)] id }",
    "async fn f(r#type: u8, mut n: [u8; 3]) {}",
    "fn f() -> Pin<Box<dyn Future<Output = u8> + Send>> { Box::pin(async move { 1 }) }",
    "fn f() -> impl Future<Output = u8> { async { 1 } }",
    "fn f() { block_on(async {}) }",
    "fn f() {}",
    "pub fn f(&self) -> R { #![allow(x)] self.g(lease).await }",
    "fn f(a: A) -> BoxFuture<'a, R> { if a { return g(); } Box::pin(async move { lease.x() }) }",
    "async fn f(self, _a: A, B(b, ..): B, #[cfg(x)] mut c: C) -> R { (b.d, c) }",
    "unsafe extern \"C\" { safe fn f(); }",
    "const F: fn() = f;",
    "trait T { async fn f(); }",
    "struct S { x: u8 }",
    "async fn f(P { #[cfg(x)] a, .. }: P, ref b: B) -> R { P { a, ..b } }",
    "fn f(a: A) -> BoxFuture<'a, R> { let g = |x| match x { 0 => return 1, _ => 2 }; return Box::pin(async { g(a) }); }",
    "fn f(a: A) -> impl Future<Output = R> { a || return g(); m!(return); async move { a } }",
    "impl S { async fn f(&self) {} }",
    "static S: u8 = 1;",
];

/// Statements that return from the function.
const RETURNS: &[&str] = &[
    "if a { return g(); }",
    "let x = a || return g();",
    "match a { 0 | 1 => return g(), _ => {} }",
    "let f = |x| x | 1; loop { return g() }",
    "h(0..a, ..b, return g());",
    "let Some(x) = a? else { return g() };",
    "let f: fn(u8) = h; { return g() }",
];

/// Statements whose `return` is that of something else, or that have none.
const OTHERS: &[&str] = &[
    "let f = |x| -> u8 { return 2 };",
    "let f = |x| match x { 0 => return 1, _ => 2 };",
    "let f = move |A { a, .. }: A| { return };",
    "let f = || || return 1;",
    "h(|| return 1, 0..a);",
    "let v = V { a, ..b };",
    "let v = &v[..b];",
    "let f = async |x| { return };",
    "drop(async { return 1 });",
    "drop(async move { return 1 });",
    "fn h(a: u8) -> u8 { return a }",
    "let x = a | b || c;",
    "a.b(..c).d(|x| x || return);",
    "m!(return);",
];

fn lexed(text: &str) -> TokenStream {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Token trees of every kind, with a little nesting.
fn tokens() -> impl Strategy<Value = TokenStream> {
    let words: Vec<&str> = Key::names().chain(WORDS.split_whitespace()).collect();
    let word = select(words).prop_map(lexed);
    let tree = word.prop_recursive(3, 24, 6, |inner| {
        let delimiter = prop_oneof![
            Just(Delimiter::Parenthesis),
            Just(Delimiter::Brace),
            Just(Delimiter::Bracket),
            Just(Delimiter::None),
        ];
        (delimiter, vec(inner, 0..6)).prop_map(|(delimiter, inside)| {
            TokenTree::from(Group::new(delimiter, inside.into_iter().collect())).into()
        })
    });
    vec(tree, 0..14).prop_map(|trees| trees.into_iter().collect())
}

/// `key = value, …` with any value, which passes the parser more often.
fn arguments() -> impl Strategy<Value = TokenStream> {
    let key = select(Key::names().collect::<Vec<_>>()).prop_map(lexed);
    let argument = (key, tokens()).prop_map(|(key, value)| {
        let (equals, comma) = (lexed("="), lexed(","));
        [key, equals, value, comma]
            .into_iter()
            .collect::<TokenStream>()
    });
    vec(argument, 0..5).prop_map(|arguments| arguments.into_iter().collect())
}

fn is_file(tokens: TokenStream) -> bool {
    syn::parse2::<syn::File>(tokens).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_attribute_leaves_a_file_a_file(
        attribute in prop_oneof![tokens(), arguments()],
        item in prop_oneof![tokens(), select(ITEMS).prop_map(lexed)],
    ) {
        let was_file = is_file(item.clone());
        let output = transform(attribute, item);
        assert!(!was_file || is_file(output.clone()), "{output}");
    }

    #[test]
    fn any_body_goes_through_once(body in tokens()) {
        let braced = Group::new(Delimiter::Brace, body);
        let attribute = lexed("resource = \"{a.b}\", guard = lease");
        let item = quote::quote!(async fn f(a: A, _b: B, id: u8) -> R #braced);
        let output = transform(attribute, item).to_string();
        let count = output.matches(&braced.to_string()).count();
        // The macro moves `#![…]`, and there can be several empty blocks.
        let is_told_apart = braced.to_string().len() > 40 && !braced.to_string().contains('!');
        assert!(count == 1 || !is_told_apart, "{output}");
        assert!(!output.contains("compile_error"), "{output}");
    }

    #[test]
    fn any_return_before_a_future_is_told_from_those_of_closures(
        statements in vec(prop_oneof![
            select(RETURNS).prop_map(|text| (true, text)),
            select(OTHERS).prop_map(|text| (false, text)),
            select(OTHERS).prop_map(|text| (false, text)),
        ], 0..5),
        tail in select(&["async move { 1 }", "Box::pin(async { 1 })", "return Box::pin(async { 1 });"]),
    ) {
        let before: Vec<&str> = statements.iter().map(|(_, text)| *text).collect();
        let item = format!("fn f() -> impl Future<Output = u8> {{ {} {tail} }}", before.join(" "));
        let output = transform(lexed("resource = \"a\""), lexed(&item)).to_string();
        let returns = statements.iter().any(|(returns, _)| *returns);
        assert_eq!(output.contains("would run without the lock"), returns, "{item}");
        assert_eq!(output.contains("compile_error"), returns, "{item}: {output}");
        // What the macro cannot see through runs where only the future can be returned.
        let is_closed = output.contains("RunsUnderTheLock");
        assert_eq!(is_closed, !returns && !statements.is_empty(), "{item}: {output}");
    }

    #[test]
    fn any_text_is_survived_as_a_value(text in any::<String>(), dotted in "[{}a-c0-2.:{}]{0,12}") {
        for text in [text, dotted] {
            let literal = proc_macro2::Literal::string(&text);
            let others = quote::quote!(ttl = #literal, on_lost = #literal, name = #literal, pools = [#literal]);
            for others in [others, TokenStream::new()] {
                let attribute = quote::quote!(resource = #literal, #others);
                let output = transform(attribute, lexed("async fn f(a: A, b: (u8, u8)) -> R { x }"));
                assert!(is_file(output.clone()), "{output}");
            }
        }
    }
}
