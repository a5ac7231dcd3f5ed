//! Checks expressions against a scenario before anything runs: do metrics, flows, links, variables and labels exist?

use super::expr::{Choice, ChoiceKind, Comparison, Expr, Metric, Relation};
use super::metric::{self, METRICS, Owner};
use super::parse;
use super::token::quantity_of;
use crate::mistake::Mistake;
use crate::suggestion::suggestion;
use core::ops::Range;

/// The names that expressions can use.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Context {
    /// Variables of the matrix, and `phase` where there are phases, with their labels.
    pub(crate) axes: Vec<(String, Vec<String>)>,
    pub(crate) flows: Vec<String>,
    /// Links, and `link back` for the way back.
    pub(crate) links: Vec<String>,
    /// Hosts with a processor.
    pub(crate) hosts: Vec<String>,
}

/// Parses and checks a comparison.
pub(crate) fn comparison(text: &str, context: &Context) -> Result<Comparison, Mistake> {
    let comparison = parse::comparison(text)?;
    let whole = 0..text.len();
    let right = match &comparison.relation {
        Relation::Below { right, .. } | Relation::Above { right, .. } | Relation::Equals(right) => {
            vec![right]
        }
        Relation::In(least, most) => vec![least, most],
    };
    for side in core::iter::once(&comparison.left).chain(right) {
        check(side, context, &whole)?;
    }
    Ok(comparison)
}

/// Parses and checks an expression.
pub(crate) fn expression(text: &str, context: &Context) -> Result<Expr, Mistake> {
    let expr = parse::expression(text)?;
    check(&expr, context, &(0..text.len()))?;
    Ok(expr)
}

fn check(expr: &Expr, context: &Context, whole: &Range<usize>) -> Result<(), Mistake> {
    match expr {
        Expr::Number(_) => Ok(()),
        Expr::Metric(metric) => check_metric(metric, context),
        Expr::Axis(axis) => {
            let labels = known_axis(axis, context, whole)?;
            match labels.iter().find(|label| quantity_of(label).is_none()) {
                Some(label) => {
                    let what = format!("{label}: this value of {axis} is no quantity");
                    let next = "name a variable whose values are quantities such as 20Mbit";
                    Err(Mistake::new(whole, what, next))
                }
                None => Ok(()),
            }
        }
        Expr::Negative(inner) | Expr::Apply(_, inner) => check(inner, context, whole),
        Expr::Binary(_, left, right) => {
            check(left, context, whole)?;
            check(right, context, whole)
        }
        Expr::Reduce(_, inner, axes) => {
            axes.iter()
                .try_for_each(|axis| known_axis(axis, context, whole).map(drop))?;
            check(inner, context, whole)
        }
        Expr::Steps(inner, axis) | Expr::Slope(inner, axis) => {
            known_axis(axis, context, whole)?;
            check(inner, context, whole)
        }
        Expr::Swap(inner, a, b) => {
            known_axis(a, context, whole)?;
            known_axis(b, context, whole)?;
            check(inner, context, whole)
        }
        Expr::Choose(inner, choices) => {
            for choice in choices {
                check_choice(choice, context, whole)?;
            }
            check(inner, context, whole)
        }
    }
}

fn unknown<'a>(
    place: &Range<usize>,
    what: &str,
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Mistake {
    let known: Vec<&str> = known.into_iter().collect();
    let next = if known.is_empty() {
        format!("the scenario has no {what}")
    } else {
        suggestion(word, &known)
    };
    Mistake::new(place, format!("{word}: there is no such {what}"), next)
}

fn check_metric(wanted: &Metric, context: &Context) -> Result<(), Mistake> {
    let place = &wanted.place;
    let known = metric::find(&wanted.name).ok_or_else(|| {
        let names = METRICS.iter().map(|known| known.name);
        unknown(place, "metric", &wanted.name, names)
    })?;
    let names = match known.owner {
        Owner::Flow => &context.flows,
        Owner::Link => &context.links,
        Owner::Host => &context.hosts,
        Owner::Cell => {
            if wanted.owner.is_none() {
                return Ok(());
            }
            let what = format!("{} belongs to the whole cell", known.name);
            return Err(Mistake::new(place, what, format!("write {}", known.name)));
        }
    };
    let word = known.owner.word();
    let Some(owner) = &wanted.owner else {
        let what = format!("{} needs a {word}", known.name);
        let next = format!("write {}({word})", known.name);
        return Err(Mistake::new(place, what, next));
    };
    if !names.contains(owner) {
        return Err(unknown(
            place,
            word,
            owner,
            names.iter().map(String::as_str),
        ));
    }
    match wanted.span {
        Some(_) if !known.has_spans() => {
            let what = format!("{} is of the whole run only", known.name);
            let spans = METRICS.iter().filter(|known| known.has_spans());
            let names: Vec<&str> = spans.map(|known| known.name).collect();
            let next = format!("leave out the span, or use one of {}", names.join(", "));
            Err(Mistake::new(place, what, next))
        }
        Some((from, until)) if from >= until => {
            let what = "this span ends no later than it begins";
            Err(Mistake::new(place, what, "write the earlier time first"))
        }
        _ => Ok(()),
    }
}

fn known_axis<'a>(
    axis: &str,
    context: &'a Context,
    place: &Range<usize>,
) -> Result<&'a [String], Mistake> {
    let found = context.axes.iter().find(|(known, _)| known == axis);
    found.map(|(_, labels)| &labels[..]).ok_or_else(|| {
        let names = context.axes.iter().map(|(name, _)| name.as_str());
        unknown(place, "variable of the matrix", axis, names)
    })
}

fn check_choice(choice: &Choice, context: &Context, place: &Range<usize>) -> Result<(), Mistake> {
    let labels = known_axis(&choice.axis, context, place)?;
    let wanted = match &choice.kind {
        ChoiceKind::Is(label) => core::slice::from_ref(label),
        ChoiceKind::OneOf(labels) | ChoiceKind::NoneOf(labels) => labels,
    };
    match wanted.iter().find(|label| !labels.contains(label)) {
        Some(label) => {
            let what = format!("value of {}", choice.axis);
            Err(unknown(
                place,
                &what,
                label,
                labels.iter().map(String::as_str),
            ))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_refused_with_the_nearest() {
        let own = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let context = Context {
            axes: vec![("law".into(), own(&["reno", "bic"]))],
            flows: own(&["load"]),
            links: own(&["neck", "neck back"]),
            hosts: Vec::new(),
        };
        let fault = |text: &str| comparison(text, &context).expect_err(text);
        for (text, what, next) in [
            (
                "godput(load) < 1",
                "godput: there is no such metric",
                "did you mean goodput?",
            ),
            (
                "goodput(lod) < 1",
                "lod: there is no such flow",
                "did you mean load?",
            ),
            ("goodput < 1", "goodput needs a flow", "write goodput(flow)"),
            (
                "queue(neck) < queue('nek back')",
                "nek back: there is no such link",
                "did you mean neck back?",
            ),
            (
                "processor(a) < 1",
                "a: there is no such host",
                "the scenario has no host",
            ),
            (
                "fairness(load) > 0",
                "fairness belongs to the whole cell",
                "write fairness",
            ),
            (
                "loss(load, 1s..2s) > 0",
                "loss is of the whole run only",
                "leave out the span",
            ),
            (
                "goodput(load, 2s..1s) > 0",
                "this span ends no later than it begins",
                "write the earlier",
            ),
            (
                "max(loss(load) over lw) > 0",
                "lw: there is no such variable of the matrix",
                "did you mean law?",
            ),
            (
                "goodput(load) < axis(law)",
                "reno: this value of law is no quantity",
                "name a variable whose values are quantities",
            ),
            (
                "loss(load)[law = rno] > 0",
                "rno: there is no such value of law",
                "did you mean reno?",
            ),
        ] {
            let fault = fault(text);
            assert_eq!(fault.what, what);
            assert!(fault.next.starts_with(next), "{}", fault.next);
        }
        assert!(comparison("goodput(load)[law = bic] in 1Mbit..2Mbit", &context).is_ok());
    }
}
