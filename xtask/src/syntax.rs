//! The syntax of Rust files, as far as the rules of `tidy` and `spec-report` need it.

use std::ops::Range;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item};

/// The items below `#[cfg(test)]` as ranges of bytes.
pub(crate) fn test_ranges(file: &syn::File) -> Vec<Range<usize>> {
    let mut tests = TestItems(Vec::new());
    tests.visit_file(file);
    tests.0
}

struct TestItems(Vec<Range<usize>>);

impl<'a> Visit<'a> for TestItems {
    fn visit_item(&mut self, item: &'a Item) {
        if attributes(item).iter().any(is_cfg_test) {
            self.0.push(range(item.span()));
        } else {
            visit::visit_item(self, item);
        }
    }
}

/// Whether the attribute is `#[cfg(test)]` or `#[cfg(all(test, …))]`.
pub(crate) fn is_cfg_test(attribute: &Attribute) -> bool {
    let Ok(list) = attribute.meta.require_list() else {
        return false;
    };
    let condition = list.tokens.to_string();
    list.path.is_ident("cfg") && (condition == "test" || condition.starts_with("all (test"))
}

pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The position of a span in its file, in bytes.
fn range(span: Span) -> Range<usize> {
    span.byte_range()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(text: &str) -> Vec<&str> {
        let file = syn::parse_file(text).unwrap();
        let ranges = test_ranges(&file);
        ranges.into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn test_module_ends_at_its_brace() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests { fn t() { let b = '}'; } }\nfn c() {}\n";
        let expected = "#[cfg(test)]\nmod tests { fn t() { let b = '}'; } }";
        assert_eq!(ranges(text), [expected]);
    }

    #[test]
    fn test_module_in_another_file_ends_at_its_semicolon() {
        let text = "// ä\n#[cfg(test)]\nmod tests;\nfn a() { 4340; }\n";
        assert_eq!(ranges(text), ["#[cfg(test)]\nmod tests;"]);
    }

    #[test]
    fn test_code_with_a_second_condition_is_found() {
        let text = "#[cfg(all(test, unix))]\nfn a() {}\n#[cfg(not(test))]\nfn b() {}\n";
        assert_eq!(ranges(text), ["#[cfg(all(test, unix))]\nfn a() {}"]);
    }
}
