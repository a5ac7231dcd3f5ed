//! Numbers of scenario files, each type with its range.

use super::values::form_schema;
use core::fmt;
use dccp_cli::quantity;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;

/// A share of a whole.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Share(pub(crate) f64);

struct ShareVisitor;

impl Visitor<'_> for ShareVisitor {
    type Value = Share;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a share such as \"1%\" or 0.01")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Share, E> {
        let share = quantity::share(text);
        share
            .map(Share)
            .map_err(|error| E::custom(format!("{error}\n{}", error.next_step())))
    }

    fn visit_f64<E: Error>(self, share: f64) -> Result<Share, E> {
        if !(0.0..=1.0).contains(&share) {
            return Err(E::custom(format!(
                "{share} is out of range\nwrite 0 to 1, or 0% to 100%"
            )));
        }
        Ok(Share(share))
    }

    #[expect(clippy::cast_precision_loss, reason = "only 0 and 1 are allowed")]
    fn visit_i64<E: Error>(self, share: i64) -> Result<Share, E> {
        self.visit_f64(share as f64)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShareVisitor)
    }
}

impl JsonSchema for Share {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        form_schema("a share such as `\"1%\"` or `0.01`")
    }
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Whole<const MIN: u64, const MAX: u64>(pub(crate) u64);

impl<const MIN: u64, const MAX: u64> Whole<MIN, MAX> {
    /// The number as another type, which holds `MAX`.
    pub(crate) fn to<T: TryFrom<u64>>(self) -> T {
        T::try_from(self.0).unwrap_or_else(|_| unreachable!("the type holds {MAX}"))
    }

    fn form() -> String {
        let max = if MAX == i64::MAX.unsigned_abs() {
            "2^63 − 1".to_owned()
        } else {
            MAX.to_string()
        };
        format!("a whole number from {MIN} to {max}")
    }
}

impl<const MIN: u64, const MAX: u64> Visitor<'_> for Whole<MIN, MAX> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Self::form())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self, E> {
        if !(MIN..=MAX).contains(&number) {
            let form = Self::form();
            return Err(E::custom(format!("{number} is out of range\nwrite {form}")));
        }
        Ok(Self(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self(MIN))
    }
}

impl<const MIN: u64, const MAX: u64> JsonSchema for Whole<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Whole{MIN}to{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        form_schema(&Self::form())
    }
}

/// A number from `MIN` thousandths to `MAX`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Number<const MIN: u32, const MAX: u32>(pub(crate) f64);

impl<const MIN: u32, const MAX: u32> Number<MIN, MAX> {
    fn form() -> String {
        format!("a number from {} to {MAX}", f64::from(MIN) / 1000.0)
    }
}

impl<const MIN: u32, const MAX: u32> Visitor<'_> for Number<MIN, MAX> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Self::form())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self, E> {
        if !(f64::from(MIN) / 1000.0..=f64::from(MAX)).contains(&number) {
            let form = Self::form();
            return Err(E::custom(format!("{number} is out of range\nwrite {form}")));
        }
        Ok(Self(number))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "numbers above 2^32 are out of range"
    )]
    fn visit_i64<E: Error>(self, number: i64) -> Result<Self, E> {
        self.visit_f64(number as f64)
    }
}

impl<'de, const MIN: u32, const MAX: u32> Deserialize<'de> for Number<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self(0.0))
    }
}

impl<const MIN: u32, const MAX: u32> JsonSchema for Number<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Number{MIN}to{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        form_schema(&Self::form())
    }
}
