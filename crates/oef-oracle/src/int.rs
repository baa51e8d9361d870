//! Whole numbers for the exact simplex: `i128` while it lasts, [`BigInt`] when it overflows.

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};
use std::cmp::Ordering;

/// A whole number whose every operation is exact, or `None` where it would overflow.
pub trait Int: Clone {
    /// The same number, if it fits.
    fn from_big(value: &BigInt) -> Option<Self>;
    /// The same number.
    fn to_big(&self) -> BigInt;
    /// `(a * p - b * c) / d`, where the division is known to leave no remainder.
    fn cross(a: &Self, p: &Self, b: &Self, c: &Self, d: &Self) -> Option<Self>;
    /// `a * b + c`.
    fn mul_add(a: &Self, b: &Self, c: &Self) -> Option<Self>;
    /// Compares `a * b` with `c * d`.
    fn compare_products(a: &Self, b: &Self, c: &Self, d: &Self) -> Option<Ordering>;
    /// Compares with another.
    fn compare(&self, other: &Self) -> Ordering;
    /// Less, equal or greater than zero.
    fn sign(&self) -> Ordering;
    /// `-self`.
    fn negated(&self) -> Self;
}

impl Int for i128 {
    fn from_big(value: &BigInt) -> Option<Self> {
        // The least i128 has no negative, and leaving it out costs nothing.
        value.to_i128().filter(|&v| v != i128::MIN)
    }

    fn to_big(&self) -> BigInt {
        BigInt::from(*self)
    }

    fn cross(a: &Self, p: &Self, b: &Self, c: &Self, d: &Self) -> Option<Self> {
        let product = a.checked_mul(*p)?.checked_sub(b.checked_mul(*c)?)?;
        debug_assert_eq!(product % d, 0);
        Some(product / d).filter(|&v| v != i128::MIN)
    }

    fn mul_add(a: &Self, b: &Self, c: &Self) -> Option<Self> {
        a.checked_mul(*b)?.checked_add(*c).filter(|&v| v != i128::MIN)
    }

    fn compare_products(a: &Self, b: &Self, c: &Self, d: &Self) -> Option<Ordering> {
        Some(a.checked_mul(*b)?.cmp(&c.checked_mul(*d)?))
    }

    fn compare(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }

    fn sign(&self) -> Ordering {
        self.cmp(&0)
    }

    fn negated(&self) -> Self {
        -self
    }
}

impl Int for BigInt {
    fn from_big(value: &BigInt) -> Option<Self> {
        Some(value.clone())
    }

    fn to_big(&self) -> BigInt {
        self.clone()
    }

    fn cross(a: &Self, p: &Self, b: &Self, c: &Self, d: &Self) -> Option<Self> {
        // Most entries of a sparse program are zero; skipping their products halves the work.
        let left = if a.is_zero() { BigInt::ZERO } else { a * p };
        let product = if b.is_zero() || c.is_zero() { left } else { left - b * c };
        Some(if product.is_zero() { product } else { product / d })
    }

    fn mul_add(a: &Self, b: &Self, c: &Self) -> Option<Self> {
        Some(a * b + c)
    }

    fn compare_products(a: &Self, b: &Self, c: &Self, d: &Self) -> Option<Ordering> {
        Some((a * b).cmp(&(c * d)))
    }

    fn compare(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }

    fn sign(&self) -> Ordering {
        if self.is_zero() {
            Ordering::Equal
        } else if self.is_negative() {
            Ordering::Less
        } else {
            Ordering::Greater
        }
    }

    fn negated(&self) -> Self {
        -self
    }
}
