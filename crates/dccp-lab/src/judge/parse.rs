//! Parses expressions. The grammar is in `expr.rs`.

use super::expr::{
    Aggregate, Choice, ChoiceKind, Comparison, Expr, Function, Metric, Operator, Relation,
};
use super::token::{Kind, Token, tokens};
use crate::mistake::Mistake;
use core::ops::Range;

/// Bounds the recursion.
const DEPTH_MAX: usize = 64;
/// Words and signs: a sum of many terms is a deep tree.
const TOKENS_MAX: usize = 2000;

/// Parses a comparison.
pub(crate) fn comparison(text: &str) -> Result<Comparison, Mistake> {
    let mut parser = Parser::new(text)?;
    let left = parser.sum()?;
    let relation = parser.relation()?;
    parser.end()?;
    Ok(Comparison { left, relation })
}

/// Parses an expression without a comparison.
pub(crate) fn expression(text: &str) -> Result<Expr, Mistake> {
    let mut parser = Parser::new(text)?;
    let expr = parser.sum()?;
    parser.end()?;
    Ok(expr)
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    length: usize,
    depth: usize,
}

impl Parser {
    fn new(text: &str) -> Result<Self, Mistake> {
        let tokens = tokens(text)?;
        if let Some(excess) = tokens.get(TOKENS_MAX) {
            let what = format!("an expression has at most {TOKENS_MAX} words and signs");
            let next = "divide it into several assertions".to_owned();
            return Err(Mistake::new(&excess.place, what, next));
        }
        Ok(Self {
            tokens,
            next: 0,
            length: text.len(),
            depth: 0,
        })
    }

    fn peek(&self) -> Option<&Kind> {
        self.tokens.get(self.next).map(|token| &token.kind)
    }

    /// The place of the next token, or the end of the text.
    fn place(&self) -> Range<usize> {
        let token = self.tokens.get(self.next);
        token.map_or(self.length..self.length, |token| token.place.clone())
    }

    fn mistake(&self, expected: &str) -> Mistake {
        let what = match self.peek() {
            Some(kind) => format!("{} is not expected here", shown(kind)),
            None => "the expression ends too early".to_owned(),
        };
        Mistake::new(&self.place(), what, format!("write {expected}"))
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let is_it = matches!(self.peek(), Some(Kind::Sign(found)) if *found == sign);
        self.next += usize::from(is_it);
        is_it
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let is_it = matches!(self.peek(), Some(Kind::Word(found)) if found == word);
        self.next += usize::from(is_it);
        is_it
    }

    fn sign(&mut self, sign: &str) -> Result<(), Mistake> {
        if self.takes_sign(sign) {
            Ok(())
        } else {
            Err(self.mistake(sign))
        }
    }

    fn end(&self) -> Result<(), Mistake> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.mistake("+, -, *, /, ^, [ or the end")),
        }
    }

    /// One of the signs, and what belongs to it.
    fn one_of<T: Copy>(&mut self, signs: &[(&str, T)]) -> Option<T> {
        let found = signs.iter().find(|(sign, _)| self.takes_sign(sign));
        found.map(|(_, meaning)| *meaning)
    }

    fn relation(&mut self) -> Result<Relation, Mistake> {
        if self.takes_word("in") {
            let least = self.sum()?;
            self.sign("..")?;
            return Ok(Relation::In(least, self.sum()?));
        }
        if self.takes_sign("==") {
            return Ok(Relation::Equals(self.sum()?));
        }
        let signs = [
            ("<=", (true, true)),
            ("<", (true, false)),
            (">=", (false, true)),
            (">", (false, false)),
        ];
        match self.one_of(&signs) {
            Some((true, or_equal)) => Ok(Relation::Below {
                right: self.sum()?,
                or_equal,
            }),
            Some((false, or_equal)) => Ok(Relation::Above {
                right: self.sum()?,
                or_equal,
            }),
            None => Err(self.mistake("<, <=, >, >=, == or in")),
        }
    }

    fn sum(&mut self) -> Result<Expr, Mistake> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let what = "this expression is nested too deeply";
            return Err(Mistake::new(&self.place(), what, "split the assertion"));
        }
        let signs = [("+", Operator::Add), ("-", Operator::Subtract)];
        let sum = self.chain(&signs, Self::product);
        self.depth -= 1;
        sum
    }

    fn product(&mut self) -> Result<Expr, Mistake> {
        let signs = [("*", Operator::Multiply), ("/", Operator::Divide)];
        self.chain(&signs, Self::power)
    }

    /// Operands with operators of one rank between them, from left to right.
    fn chain(
        &mut self,
        signs: &[(&str, Operator)],
        operand: fn(&mut Self) -> Result<Expr, Mistake>,
    ) -> Result<Expr, Mistake> {
        let mut left = operand(self)?;
        while let Some(operator) = self.one_of(signs) {
            left = Expr::Binary(operator, Box::new(left), Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn power(&mut self) -> Result<Expr, Mistake> {
        let base = self.unary()?;
        if self.takes_sign("^") {
            let exponent = Box::new(self.unary()?);
            return Ok(Expr::Binary(Operator::Power, Box::new(base), exponent));
        }
        Ok(base)
    }

    fn unary(&mut self) -> Result<Expr, Mistake> {
        if self.takes_sign("-") {
            return Ok(Expr::Negative(Box::new(self.chosen()?)));
        }
        self.chosen()
    }

    /// A part with its choices of cells.
    fn chosen(&mut self) -> Result<Expr, Mistake> {
        let mut expr = self.part()?;
        while self.takes_sign("[") {
            let choices = self.list("]", Self::choice)?;
            expr = Expr::Choose(Box::new(expr), choices);
        }
        Ok(expr)
    }

    fn part(&mut self) -> Result<Expr, Mistake> {
        let place = self.place();
        match self.peek().cloned() {
            Some(Kind::Number(value)) => {
                self.next += 1;
                Ok(Expr::Number(value))
            }
            Some(Kind::Sign("(")) => {
                self.next += 1;
                let inner = self.sum()?;
                self.sign(")")?;
                Ok(inner)
            }
            Some(Kind::Word(name)) => {
                self.next += 1;
                self.named(name, place)
            }
            _ => Err(self.mistake("a number, a metric or (")),
        }
    }

    /// A function, an aggregate or a metric.
    fn named(&mut self, name: String, place: Range<usize>) -> Result<Expr, Mistake> {
        let is_called = matches!(self.peek(), Some(Kind::Sign("(")));
        let aggregate = Aggregate::ALL.iter().find(|(known, _)| *known == name);
        let function = Function::ALL.iter().find(|(known, _)| *known == name);
        match (&*name, aggregate, function) {
            (_, Some((_, aggregate)), _) => {
                let (inner, axes) = self.inner_over()?;
                Ok(Expr::Reduce(*aggregate, inner, axes))
            }
            (_, _, Some((_, function))) => {
                self.sign("(")?;
                let inner = Box::new(self.sum()?);
                self.sign(")")?;
                Ok(Expr::Apply(*function, inner))
            }
            ("steps" | "slope", ..) => match self.inner_over()? {
                (inner, axes) if axes.len() == 1 && name == "steps" => {
                    Ok(Expr::Steps(inner, axes[0].clone()))
                }
                (inner, axes) if axes.len() == 1 => Ok(Expr::Slope(inner, axes[0].clone())),
                _ => {
                    let what = format!("{name} goes along one variable");
                    let next = format!("write {name}(… over variable)");
                    Err(Mistake::new(&place, what, next))
                }
            },
            ("axis", ..) => {
                self.sign("(")?;
                let axis = self.label()?;
                self.sign(")")?;
                Ok(Expr::Axis(axis))
            }
            ("swap", ..) => {
                self.sign("(")?;
                let inner = Box::new(self.sum()?);
                self.sign(",")?;
                let first = self.label()?;
                self.sign(",")?;
                let second = self.label()?;
                self.sign(")")?;
                Ok(Expr::Swap(inner, first, second))
            }
            _ if is_called => self.metric_of(name, place),
            _ => Ok(Expr::Metric(Metric {
                name,
                owner: None,
                span: None,
                place,
            })),
        }
    }

    /// `(sum over axis, axis)`.
    fn inner_over(&mut self) -> Result<(Box<Expr>, Vec<String>), Mistake> {
        self.sign("(")?;
        let inner = Box::new(self.sum()?);
        if self.takes_word("over") {
            return Ok((inner, self.list(")", Self::label)?));
        }
        self.sign(")")?;
        Ok((inner, Vec::new()))
    }

    /// `(flow)` or `(flow, 10s..20s)`.
    fn metric_of(&mut self, name: String, place: Range<usize>) -> Result<Expr, Mistake> {
        self.sign("(")?;
        let owner = Some(self.label()?);
        let mut span = None;
        if self.takes_sign(",") {
            let from = self.number()?;
            self.sign("..")?;
            span = Some((from, self.number()?));
        }
        self.sign(")")?;
        Ok(Expr::Metric(Metric {
            name,
            owner,
            span,
            place,
        }))
    }

    fn number(&mut self) -> Result<f64, Mistake> {
        match self.peek() {
            Some(Kind::Number(value)) => {
                let value = *value;
                self.next += 1;
                Ok(value)
            }
            _ => Err(self.mistake("a time such as 10s")),
        }
    }

    /// A name, or a text in quotes.
    fn label(&mut self) -> Result<String, Mistake> {
        match self.peek().cloned() {
            Some(Kind::Word(label) | Kind::Quoted(label)) => {
                self.next += 1;
                Ok(label)
            }
            _ => Err(self.mistake("a name, or a label in single quotes")),
        }
    }

    fn choice(&mut self) -> Result<Choice, Mistake> {
        let axis = self.label()?;
        let kind = if self.takes_sign("=") {
            ChoiceKind::Is(self.label()?)
        } else if self.takes_sign("!=") {
            ChoiceKind::NoneOf(vec![self.label()?])
        } else if self.takes_word("in") {
            self.sign("(")?;
            ChoiceKind::OneOf(self.list(")", Self::label)?)
        } else if self.takes_word("not") {
            if !self.takes_word("in") {
                return Err(self.mistake("in"));
            }
            self.sign("(")?;
            ChoiceKind::NoneOf(self.list(")", Self::label)?)
        } else {
            return Err(self.mistake("=, !=, in or not in"));
        };
        Ok(Choice { axis, kind })
    }

    /// One or more items with commas between them, up to a closing sign.
    fn list<T>(
        &mut self,
        close: &str,
        item: fn(&mut Self) -> Result<T, Mistake>,
    ) -> Result<Vec<T>, Mistake> {
        let mut items = vec![item(self)?];
        while !self.takes_sign(close) {
            if !self.takes_sign(",") {
                return Err(self.mistake(&format!("a comma or {close}")));
            }
            items.push(item(self)?);
        }
        Ok(items)
    }
}

fn shown(kind: &Kind) -> String {
    match kind {
        Kind::Word(word) => word.clone(),
        Kind::Quoted(label) => format!("'{label}'"),
        Kind::Number(value) => value.to_string(),
        Kind::Sign(sign) => (*sign).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(text: &str) -> (usize, String, String) {
        let fault = comparison(text).expect_err(text);
        (fault.place.start, fault.what, fault.next)
    }

    /// An expression with all its brackets, without places.
    fn shape(expr: &Expr) -> String {
        match expr {
            Expr::Number(value) => value.to_string(),
            Expr::Metric(metric) => metric.name.clone(),
            Expr::Negative(inner) => format!("(-{})", shape(inner)),
            Expr::Binary(operator, a, b) => format!("({} {operator:?} {})", shape(a), shape(b)),
            Expr::Reduce(_, inner, axes) => format!("reduce({}, {axes:?})", shape(inner)),
            Expr::Choose(inner, choices) => format!("{}[{choices:?}]", shape(inner)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn long_sums_are_refused() {
        let sum = |terms: usize| format!("{}1 > 0", "1 + ".repeat(terms));
        assert!(comparison(&sum(900)).is_ok());
        let (place, what, _) = mistake(&sum(100_000));
        assert_eq!(
            (place, &what[..]),
            (4000, "an expression has at most 2000 words and signs")
        );
    }

    #[test]
    fn ranks_and_choices_group_as_in_arithmetic() {
        let same = |a: &str, b: &str| {
            let shape_of = |text: &str| shape(&expression(text).expect(text));
            assert_eq!(shape_of(a), shape_of(b), "{a} and {b}");
        };
        same("1 + 2 * 3 ^ 2", "1 + (2 * (3 ^ 2))");
        same("1 - 2 - 3", "(1 - 2) - 3");
        same("-a[law=x] / 2", "(-(a[law=x])) / 2");
        same("max(a over b, c)", "max((a) over b, c)");
        same("a[law = 'reno']", "a[law = reno]");
    }

    #[test]
    fn comparisons_have_their_bounds() {
        let parsed = comparison("goodput(load, 10s..20s) in 3Mbit..0.1Gbit").expect("valid");
        let Expr::Metric(metric) = parsed.left else {
            panic!("{:?}", parsed.left);
        };
        assert_eq!(metric.owner.as_deref(), Some("load"));
        assert_eq!(metric.span, Some((10.0, 20.0)));
        assert_eq!(
            parsed.relation,
            Relation::In(Expr::Number(3e6), Expr::Number(1e8))
        );
    }

    #[test]
    fn mistakes_are_reported_where_they_stand() {
        let expected = |at, what: &str, next: &str| (at, what.to_owned(), next.to_owned());
        for (text, at, what, next) in [
            (
                "loss(a) <",
                9,
                "the expression ends too early",
                "write a number, a metric or (",
            ),
            (
                "loss(a)",
                7,
                "the expression ends too early",
                "write <, <=, >, >=, == or in",
            ),
            (
                "loss(a) < 1 2",
                12,
                "2 is not expected here",
                "write +, -, *, /, ^, [ or the end",
            ),
            (
                "loss(a)[law reno] < 1",
                12,
                "reno is not expected here",
                "write =, !=, in or not in",
            ),
            (
                "slope(loss(a)) < 1",
                0,
                "slope goes along one variable",
                "write slope(… over variable)",
            ),
            (
                "loss(5) < 1",
                5,
                "5 is not expected here",
                "write a name, or a label in single quotes",
            ),
        ] {
            assert_eq!(mistake(text), expected(at, what, next), "{text}");
        }
        let deep = format!("{}1 < 2", "(".repeat(500));
        assert_eq!(mistake(&deep).1, "this expression is nested too deeply");
    }
}
