//! Constants, which rustc evaluates.

use syn::{Expr, ExprPath};

use super::bare;
use crate::parameters::Variant;

/// True if the value may be a constant. A bare `charge` is none: constants have names in capitals, so its
/// quotes are missing. An allocation is no constant either.
pub(super) fn is_constant(value: &Expr) -> bool {
    match bare(value) {
        Expr::Path(ExprPath { path, .. }) => path.get_ident().is_none_or(|name| {
            let name = name.to_string();
            name.starts_with(|first: char| !first.is_lowercase())
        }),
        Expr::Macro(call) => !["vec", "format"]
            .iter()
            .any(|it| call.mac.path.is_ident(it)),
        Expr::Reference(reference) => is_constant(&reference.expr),
        Expr::Field(_)
        | Expr::Index(_)
        | Expr::Call(_)
        | Expr::MethodCall(_)
        | Expr::Const(_)
        | Expr::Block(_) => true,
        _ => false,
    }
}

/// True for a path to a variant, such as `Wait::Forever`. rustc checks the type of the variant.
pub(super) fn is_path_to(variant: Variant, value: &Expr) -> bool {
    let Expr::Path(ExprPath {
        qself: None, path, ..
    }) = bare(value)
    else {
        return false;
    };
    let names: Vec<_> = path.segments.iter().map(|it| &it.ident).collect();
    matches!(&names[..], [.., of, name] if *of == variant[0] && *name == variant[1])
}
