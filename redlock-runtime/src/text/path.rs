//! The path of a function, from what the compiler calls an item in it.

/// `module::Type::function`. `item` is the `type_name` of a closure in the function: the one place where
/// the type of an `impl` shows, as an attribute on a method sees the method only, and a `static` in a
/// method may not mention `Self`.
///
/// The compiler is free to write its names in another way one day, and has done so with lifetimes. So
/// only the names of types and functions are taken, without generic arguments, traits, the type's module
/// and blocks. Without a type, the path is `module::function`.
pub(crate) fn function_path(item: &str, module: &str, function: &str) -> String {
    let between = between(item, module, function).unwrap_or_default();
    let names = between.into_iter().filter_map(name);
    let all: Vec<&str> = std::iter::once(module)
        .chain(names)
        .chain([function])
        .collect();
    all.join("::")
}

/// The segments between the module and the function. The item's own are behind the function.
fn between<'a>(item: &'a str, module: &str, function: &str) -> Option<Vec<&'a str>> {
    let mut segments = split(item, "::");
    segments.truncate(segments.iter().rposition(|it| *it == function)?);
    // `<Type as Trait>::function` has no module in front.
    if !item.starts_with('<') {
        let modules = split(module, "::");
        if !segments.starts_with(&modules) {
            return None;
        }
        segments.drain(..modules.len());
    }
    Some(segments)
}

/// The name in a segment: a function, a trait, or the type of an `impl`. `None` for a block.
fn name(segment: &str) -> Option<&str> {
    let inside = segment
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'));
    let Some(inside) = inside else {
        let is_block = segment.starts_with('{') || segment == "_";
        return (!is_block).then(|| without_arguments(segment));
    };
    let (ty, of_trait) = match inside.strip_prefix("impl ") {
        Some(rest) => match *split(rest, " for ") {
            [of_trait, ty] => (ty, Some(of_trait)),
            _ => (rest, None),
        },
        None => match *split(inside, " as ") {
            [ty, of_trait] => (ty, Some(of_trait)),
            _ => (inside, None),
        },
    };
    // The parameter of an `impl<T> Trait for T`.
    let ty = if ty == "_" { of_trait? } else { ty };
    let ty = split(ty.trim_start_matches("dyn "), " + ")[0];
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let plain = without_arguments(ty);
    if plain.chars().all(is_path) {
        return split(plain, "::").pop();
    }
    // A reference, a slice, a tuple.
    Some(ty)
}

/// `Cart` of `Cart<'_, u8>`.
fn without_arguments(name: &str) -> &str {
    name.split('<').next().unwrap_or(name)
}

/// The parts of `text` between separators that are in no brackets.
fn split<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let (mut depth, mut start, mut before) = (0_usize, 0, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            // The end of an arrow is no bracket.
            '>' if before == '-' => {}
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 && at >= start && text[at..].starts_with(separator) => {
                parts.push(&text[start..at]);
                start = at + separator.len();
            }
            _ => {}
        }
        before = c;
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::function_path;

    /// What rustc 1.89, 1.95 and 1.97 call a closure in a `static` in a function.
    #[test]
    fn a_path_has_the_type_and_outer_functions() {
        let table = [
            ("a::shop::f::{{closure}}::SITE::{{closure}}", "f"),
            (
                "a::shop::Order::f::{{closure}}::SITE::{{closure}}",
                "Order::f",
            ),
            ("a::shop::Order::f::SITE::{{closure}}", "Order::f"),
            (
                "a::shop::Größe::f::{{closure}}::SITE::{{closure}}",
                "Größe::f",
            ),
            (
                "a::shop::Cart<'_, _>::f::{{closure}}::SITE::{{closure}}",
                "Cart::f",
            ),
            (
                "a::shop::Cart<_>::f::{{closure}}::SITE::{{closure}}",
                "Cart::f",
            ),
            (
                "a::shop::Array<3>::f::{{closure}}::SITE::{{closure}}",
                "Array::f",
            ),
            (
                "a::shop::Trait::f::{{closure}}::SITE::{{closure}}",
                "Trait::f",
            ),
            (
                "<a::shop::Order as a::shop::Trait>::f::{{closure}}::SITE::{{closure}}",
                "Order::f",
            ),
            (
                "<alloc::vec::Vec<_> as a::Trait<b::C>>::f::{{closure}}::SITE::{{closure}}",
                "Vec::f",
            ),
            (
                "<_ as a::shop::Blanket>::f::{{closure}}::SITE::{{closure}}",
                "Blanket::f",
            ),
            (
                "<dyn core::ops::Fn(u8) -> a::B + core::marker::Send as a::Trait>::f::SITE",
                "core::ops::Fn(u8) -> a::B::f",
            ),
            (
                "<dyn a::Order + core::marker::Send as a::Trait>::f::SITE",
                "Order::f",
            ),
            ("<&str as a::shop::Trait>::f::{{closure}}::SITE", "&str::f"),
            (
                "<[u8; 4] as a::shop::Trait>::f::{{closure}}::SITE",
                "[u8; 4]::f",
            ),
            (
                "<(u8, alloc::vec::Vec<u8>) as a::Trait>::f::{{closure}}::SITE",
                "(u8, alloc::vec::Vec<u8>)::f",
            ),
            (
                "a::shop::<impl b::Order>::f::{{closure}}::SITE::{{closure}}",
                "Order::f",
            ),
            (
                "a::shop::<impl b::Trait for alloc::string::String>::f::{{closure}}::SITE",
                "String::f",
            ),
            (
                "a::shop::_::<impl a::shop::Order>::f::{{closure}}::SITE",
                "Order::f",
            ),
            (
                "a::shop::outer::{{closure}}::{{closure}}::f::{{closure}}::SITE",
                "outer::f",
            ),
            (
                "a::shop::Order::pay::{{closure}}::Local::f::{{closure}}::SITE",
                "Order::pay::Local::f",
            ),
            // A way to write names that is not known.
            ("a/shop/Order/f", "f"),
            ("b::Order::f::SITE", "f"),
            ("", "f"),
        ];
        for (item, expected) in table {
            let expected = format!("a::shop::{expected}");
            assert_eq!(function_path(item, "a::shop", "f"), expected, "{item}");
        }
    }
}
