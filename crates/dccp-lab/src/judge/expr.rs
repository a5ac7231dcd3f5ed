//! Expressions of `[[assert]]` and `[[published]]`, parsed.
//!
//! ```text
//! comparison = sum ( "<" | "<=" | ">" | ">=" | "==" ) sum
//!            | sum "in" sum ".." sum
//! sum        = product { ( "+" | "-" ) product }
//! product    = power { ( "*" | "/" ) power }
//! power      = unary [ "^" unary ]
//! unary      = [ "-" ] part { "[" choice { "," choice } "]" }
//! part       = number | "(" sum ")" | "axis" "(" name ")" | aggregate "(" sum [ "over" name { "," name } ] ")"
//!            | function "(" sum ")" | metric [ "(" name [ "," span ] ")" ]
//! choice     = axis ( "=" | "!=" ) label | axis [ "not" ] "in" "(" label { "," label } ")"
//! ```
//! Numbers may have a unit: `5ms`, `20Mbit`, `4MiB`, `3%`. They become seconds, bits per second, bytes and shares.

use core::ops::Range;

/// A comparison: what an assertion states.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Comparison {
    pub(crate) left: Expr,
    pub(crate) relation: Relation,
}

/// How the left side of a comparison relates to the right.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Relation {
    /// Less, or at most.
    Below { right: Expr, or_equal: bool },
    /// Greater, or at least.
    Above { right: Expr, or_equal: bool },
    /// The same bits.
    Equals(Expr),
    /// Within a span, bounds included.
    In(Expr, Expr),
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Expr {
    Number(f64),
    /// A measured value of each cell.
    Metric(Metric),
    /// The quantity that each label of an axis names.
    Axis(String),
    Negative(Box<Self>),
    Binary(Operator, Box<Self>, Box<Self>),
    /// One number of each.
    Apply(Function, Box<Self>),
    /// One number of several: along these axes, or along all.
    Reduce(Aggregate, Box<Self>, Vec<String>),
    /// Only some cells.
    Choose(Box<Self>, Vec<Choice>),
    /// Differences of neighbours along an axis.
    Steps(Box<Self>, String),
    /// The exponent of a power law along an axis whose labels are quantities.
    Slope(Box<Self>, String),
    /// The cells with two axes exchanged.
    Swap(Box<Self>, String, String),
}

/// A measured value: a flow's, a link's, a host's or the cell's.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Metric {
    pub(crate) name: String,
    /// The flow, link or host.
    pub(crate) owner: Option<String>,
    /// Seconds from and until: a part of the run.
    pub(crate) span: Option<(f64, f64)>,
    /// Where the name stands in the text.
    pub(crate) place: Range<usize>,
}

/// Arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
}

/// Functions of one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Function {
    Abs,
    Sqrt,
    Log2,
    Log10,
}

/// Functions of several numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Aggregate {
    Min,
    Max,
    Mean,
    Median,
    Sum,
}

/// The labels of an axis that are chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    pub(crate) axis: String,
    pub(crate) kind: ChoiceKind,
}

/// How labels are chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ChoiceKind {
    /// This label; the axis disappears.
    Is(String),
    /// One of these labels.
    OneOf(Vec<String>),
    /// None of these labels.
    NoneOf(Vec<String>),
}

impl Aggregate {
    pub(crate) const ALL: [(&'static str, Self); 5] = [
        ("min", Self::Min),
        ("max", Self::Max),
        ("mean", Self::Mean),
        ("median", Self::Median),
        ("sum", Self::Sum),
    ];
}

impl Function {
    pub(crate) const ALL: [(&'static str, Self); 4] = [
        ("abs", Self::Abs),
        ("sqrt", Self::Sqrt),
        ("log2", Self::Log2),
        ("log10", Self::Log10),
    ];
}
