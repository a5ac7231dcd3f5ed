//! A source file with all its mutants in it, each behind a switch: `a + b` becomes
//! `(match crate::mutant::at(17) { 0 => { a - b } 1 => { a * b } _ => a + b })`.

use std::collections::HashMap;
use std::ops::Range;

use anyhow::Result;
use proc_macro2::LineColumn;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::list::{Genre, Mutant, Position};

/// A rewritten file.
pub(super) struct Schema {
    pub(super) text: String,
    /// Which bytes of the text are there for which mutants. What the compiler refuses within, is
    /// these mutants' fault.
    pub(super) blame: Vec<(Range<usize>, Vec<u32>)>,
    /// The mutants that have a switch, place by place.
    pub(super) sites: Vec<Vec<u32>>,
}

/// Rewrites a file with these of its mutants, each with its number.
pub(super) fn rewrite(source: &str, mutants: &[(u32, &Mutant)]) -> Result<Schema> {
    let file = syn::parse_file(source)?;
    let lines = std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1));
    let mut by_start: HashMap<_, Vec<_>> = HashMap::new();
    for &(number, mutant) in mutants {
        let key = (mutant.span.start, mutant.genre);
        by_start.entry(key).or_default().push((number, mutant));
    }
    let mut finder = Finder {
        source,
        lines: lines.collect(),
        by_start,
        sites: Vec::new(),
    };
    finder.visit_file(&file);
    Ok(assemble(source, &finder.sites))
}

/// A place with mutants: what is put before and behind it.
struct Site {
    range: Range<usize>,
    open: String,
    close: &'static str,
    /// Bytes of `open` that belong to one mutant alone.
    arms: Vec<(Range<usize>, u32)>,
}

impl Site {
    fn new(range: Range<usize>, open: &str, close: &'static str) -> Self {
        Self {
            range,
            open: open.to_owned(),
            close,
            arms: Vec::new(),
        }
    }

    fn numbers(&self) -> impl Iterator<Item = u32> {
        self.arms.iter().map(|(_, number)| *number)
    }

    /// `17 - first => { mutated }`
    fn arm(&mut self, first: u32, number: u32, mutated: &str) {
        let start = self.open.len();
        let place = (number - first).to_string();
        self.open += &[&place, " => { ", mutated, " } "].concat();
        self.arms.push((start..self.open.len(), number));
    }
}

/// Finds the mutants' places in the syntax tree, outer before inner.
struct Finder<'a> {
    source: &'a str,
    /// Where each line begins.
    lines: Vec<usize>,
    by_start: HashMap<(Position, Genre), Vec<(u32, &'a Mutant)>>,
    sites: Vec<Site>,
}

impl Finder<'_> {
    fn offset(&self, at: LineColumn) -> usize {
        let line = self.lines[at.line - 1];
        let rest = self.source[line..].char_indices().nth(at.column);
        rest.map_or(self.source.len(), |(column, _)| line + column)
    }

    fn range(&self, of: &impl Spanned) -> Range<usize> {
        let span = of.span();
        self.offset(span.start())..self.offset(span.end())
    }

    fn text(&self, range: Range<usize>) -> &str {
        &self.source[range]
    }

    /// Where this begins, as the list says it.
    fn position(of: &impl Spanned) -> Position {
        let start = of.span().start();
        Position {
            line: start.line,
            column: start.column + 1,
        }
    }

    /// The mutants of this kind whose span begins where `of` does.
    fn take(&mut self, of: &impl Spanned, genre: Genre) -> Vec<(u32, String)> {
        let taken = self.by_start.remove(&(Self::position(of), genre));
        let taken = taken.unwrap_or_default().into_iter();
        taken
            .map(|(number, mutant)| (number, mutant.replacement.clone()))
            .collect()
    }

    /// A choice between the expression and what its mutants make of it.
    fn choice(&mut self, expr: Range<usize>, mutants: Vec<(u32, String)>) {
        let Some(&(first, _)) = mutants.first() else {
            return;
        };
        let open = format!("(match crate::mutant::at({first}) {{ ");
        let mut site = Site::new(expr, &open, " })");
        for (number, mutated) in mutants {
            site.arm(first, number, &mutated);
        }
        site.open += "_ => ";
        self.sites.push(site);
    }

    /// A mutant's value is returned before the body begins. `impl Trait` stands for one type only.
    fn body(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let is_impl = matches!(&signature.output,
            syn::ReturnType::Type(_, output) if matches!(**output, syn::Type::ImplTrait(_)));
        let Some(statement) = block.stmts.first().filter(|_| !is_impl) else {
            return;
        };
        let mutants = self.take(statement, Genre::FnValue);
        let Some(&(first, _)) = mutants.first() else {
            return;
        };
        let start = self.offset(block.brace_token.span.open().end());
        let open = format!(" match crate::mutant::at({first}) {{ ");
        let mut site = Site::new(start..start, &open, "");
        for (number, value) in mutants {
            site.arm(first, number, &format!("return {value};"));
        }
        site.open += "_ => {} } ";
        self.sites.push(site);
    }

    fn binary(&mut self, binary: &syn::ExprBinary) {
        let (expr, op) = (self.range(binary), self.range(&binary.op));
        let mutants = self.take(&binary.op, Genre::BinaryOperator).into_iter();
        let (left, right) = (expr.start..op.start, op.end..expr.end);
        let changed = mutants.map(|(number, op)| {
            let text = [self.text(left.clone()), &op, self.text(right.clone())].concat();
            (number, text)
        });
        let changed = changed.collect();
        self.choice(expr, changed);
    }

    fn unary(&mut self, unary: &syn::ExprUnary) {
        let (expr, operand) = (self.range(unary), self.range(&*unary.expr));
        let mutants = self.take(&unary.op, Genre::UnaryOperator).into_iter();
        let operand = self.text(operand);
        let changed = mutants.map(|(number, _)| (number, operand.to_owned()));
        let changed = changed.collect();
        self.choice(expr, changed);
    }

    fn fields(&mut self, literal: &syn::ExprStruct) {
        let expr = self.range(literal);
        let mut changed = Vec::new();
        for pair in literal.fields.pairs() {
            let field = self.range(&pair);
            for (number, _) in self.take(*pair.value(), Genre::StructField) {
                let (before, after) = (expr.start..field.start, field.end..expr.end);
                changed.push((number, [self.text(before), self.text(after)].concat()));
            }
        }
        changed.sort_by_key(|(number, _)| *number);
        self.choice(expr, changed);
    }

    /// With guards, the arms may not be all any more: then the whole is refused, not one of them.
    fn exhaustive(&mut self, choice: &syn::ExprMatch) {
        let mut site = Site::new(self.range(choice), "", "");
        for arm in &choice.arms {
            let mutants = self.by_start.get(&(Self::position(arm), Genre::MatchArm));
            let numbers = mutants.into_iter().flatten().map(|(number, _)| *number);
            site.arms.extend(numbers.map(|number| (0..0, number)));
        }
        if !site.arms.is_empty() {
            self.sites.push(site);
        }
    }

    /// An arm goes by a guard that holds never.
    fn arm(&mut self, arm: &syn::Arm) {
        let guard = match &arm.pat {
            syn::Pat::Guard(guarded) => Some(&*guarded.guard),
            _ => None,
        };
        if let [(number, _)] = self.take(arm, Genre::MatchArm)[..] {
            let is_off = format!("crate::mutant::at({number}) != 0");
            let mut site = if let Some(guard) = guard {
                Site::new(self.range(guard), &format!("{is_off} && ("), ")")
            } else {
                let end = self.range(&arm.pat).end;
                Site::new(end..end, &format!(" if {is_off}"), "")
            };
            site.arms.push((0..site.open.len(), number));
            self.sites.push(site);
        }
        if let Some(guard) = guard {
            let expr = self.range(guard);
            let mutants = self.take(guard, Genre::MatchArmGuard);
            self.choice(expr, mutants);
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.body(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.body(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.body(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.arm(arm);
        visit::visit_arm(self, arm);
    }

    fn visit_expr(&mut self, expr: &'ast syn::Expr) {
        match expr {
            syn::Expr::Binary(binary) => self.binary(binary),
            syn::Expr::Unary(unary) => self.unary(unary),
            syn::Expr::Struct(literal) => self.fields(literal),
            syn::Expr::Match(choice) => self.exhaustive(choice),
            _ => {}
        }
        visit::visit_expr(self, expr);
    }
}

/// Puts everything into the text. Of sites that begin together the outer opens first, of those that
/// end together the inner closes first.
fn assemble(source: &str, sites: &[Site]) -> Schema {
    let opens = sites.iter().enumerate();
    let closes = sites.iter().enumerate().rev();
    let mut marks: Vec<_> = closes
        .filter(|(_, site)| !site.range.is_empty())
        .map(|(index, site)| (site.range.end, false, index))
        .chain(opens.map(|(index, site)| (site.range.start, true, index)))
        .collect();
    // Stable: what is equal stays in this order. Closing goes before opening.
    marks.sort_by_key(|&(at, is_open, _)| (at, is_open));

    let (mut text, mut copied) = (String::new(), 0);
    let mut starts = vec![0; sites.len()];
    let mut blame = Vec::new();
    for (at, is_open, index) in marks {
        let site = &sites[index];
        text += &source[copied..at];
        copied = at;
        if is_open {
            starts[index] = text.len();
            let arms = site.arms.iter();
            blame.extend(arms.map(|(range, number)| {
                (
                    text.len() + range.start..text.len() + range.end,
                    vec![*number],
                )
            }));
            text += &site.open;
        } else {
            text += site.close;
        }
        if !is_open || site.range.is_empty() {
            blame.push((starts[index]..text.len(), site.numbers().collect()));
        }
    }
    text += &source[copied..];
    let switches = sites.iter().filter(|site| !site.open.is_empty());
    Schema {
        text,
        blame,
        sites: switches.map(|site| site.numbers().collect()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::list::Span;
    use super::*;

    fn mutant(genre: Genre, line: usize, column: usize, replacement: &str) -> Mutant {
        let start = Position { line, column };
        Mutant {
            name: String::new(),
            file: String::new(),
            genre,
            replacement: replacement.to_owned(),
            span: Span { start },
        }
    }

    /// What becomes of the source, and the places.
    fn rewritten(source: &str, mutants: &[Mutant]) -> (String, Vec<Vec<u32>>) {
        let numbered: Vec<_> = (10..).zip(mutants).collect();
        let schema = rewrite(source, &numbered).unwrap();
        syn::parse_file(&schema.text).unwrap();
        for (range, numbers) in &schema.blame {
            assert!(schema.text.is_char_boundary(range.start) && !numbers.is_empty());
        }
        (schema.text, schema.sites)
    }

    #[test]
    fn operators_and_bodies_have_a_switch_and_nest() {
        let source = "fn f(a: u8) -> u8 {\n    a + 1 * 2\n}\n";
        let mutants = [
            mutant(Genre::FnValue, 2, 5, "0"),
            mutant(Genre::BinaryOperator, 2, 7, "-"),
            mutant(Genre::BinaryOperator, 2, 7, "*"),
            mutant(Genre::BinaryOperator, 2, 11, "/"),
        ];
        let (text, sites) = rewritten(source, &mutants);
        let expected = "fn f(a: u8) -> u8 { match crate::mutant::at(10) { 0 => { return 0; } _ => {} } \n    \
            (match crate::mutant::at(11) { 0 => { a - 1 * 2 } 1 => { a * 1 * 2 } _ => a + \
            (match crate::mutant::at(13) { 0 => { 1 / 2 } _ => 1 * 2 }) })\n}\n";
        assert_eq!(text, expected);
        assert_eq!(sites, [vec![10], vec![11, 12], vec![13]]);
    }

    #[test]
    fn arms_go_by_a_guard() {
        let source =
            "fn f(a: u8) {\n match a {\n  1 => g(),\n  2 if !h => g(),\n  _ => {}\n }\n}\n";
        let mutants = [
            mutant(Genre::MatchArm, 3, 3, ""),
            mutant(Genre::MatchArm, 4, 3, ""),
            mutant(Genre::MatchArmGuard, 4, 8, "true"),
            mutant(Genre::UnaryOperator, 4, 8, ""),
        ];
        let (text, sites) = rewritten(source, &mutants);
        assert!(
            text.contains("  1 if crate::mutant::at(10) != 0 => g(),"),
            "{text}"
        );
        let guard = "2 if crate::mutant::at(11) != 0 && ((match crate::mutant::at(12) { 0 => { true } _ => \
            (match crate::mutant::at(13) { 0 => { h } _ => !h }) })) => g(),";
        assert!(text.contains(guard), "{text}");
        assert_eq!(sites.len(), 4);
    }

    #[test]
    fn fields_go_with_their_comma() {
        let source = "fn f() -> S {\n S { a: 1, b: 2, ..S::default() }\n}\n";
        let mutants = [mutant(Genre::StructField, 2, 12, "")];
        let (text, _) = rewritten(source, &mutants);
        assert!(
            text.contains("0 => { S { a: 1,  ..S::default() } } _ => S {"),
            "{text}"
        );
    }

    #[test]
    fn mutants_that_are_not_found_have_no_switch() {
        let (text, sites) = rewritten("fn f() {}\n", &[mutant(Genre::FnValue, 9, 9, "()")]);
        assert_eq!(text, "fn f() {}\n");
        assert!(sites.is_empty());
    }
}
