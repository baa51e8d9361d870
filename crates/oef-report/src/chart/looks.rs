//! Which series get a look of their own, and which are drawn in grey.

use super::palette::{DISTINCT, Look};

/// The looks of series of this importance. All are told apart while they are few; past that those that asked for a
/// slot are, then the most important, in their order; the others are grey. A slot that was asked for is kept.
pub(crate) fn choose(importance: &[f64], slots: &[Option<usize>]) -> Vec<Look> {
    let mut order: Vec<usize> = (0..importance.len()).collect();
    if order.len() > DISTINCT {
        let asked = |i: usize| slots.get(i).copied().flatten().is_some();
        order.sort_by(|&a, &b| {
            let first = asked(b).cmp(&asked(a));
            first.then(importance[b].total_cmp(&importance[a])).then(a.cmp(&b))
        });
        order.truncate(DISTINCT);
        order.sort_unstable();
    }
    let mut is_taken = [false; DISTINCT];
    let mut looks = vec![Look::Rest; importance.len()];
    let wish = |i: usize| slots.get(i).copied().flatten().map(|slot| slot % DISTINCT);
    // First those with a wish, so that nobody else sits on their colour.
    for &i in &order {
        if let Some(slot) = wish(i).filter(|slot| !is_taken[*slot]) {
            is_taken[slot] = true;
            looks[i] = Look::Slot(slot);
        }
    }
    for &i in order.iter() {
        if looks[i] == Look::Rest {
            // At most as many are chosen as there are slots, so one is free.
            let slot = is_taken.iter().position(|taken| !taken).unwrap_or(0);
            is_taken[slot] = true;
            looks[i] = Look::Slot(slot);
        }
    }
    looks
}

/// How many are drawn in grey.
pub(crate) fn in_grey(looks: &[Look]) -> usize {
    looks.iter().filter(|look| **look == Look::Rest).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_series_have_the_colours_in_order() {
        let looks = choose(&[0.0, 9.0, 1.0], &[]);
        assert_eq!(looks, [Look::Slot(0), Look::Slot(1), Look::Slot(2)]);
    }

    #[test]
    fn the_most_important_of_many_are_told_apart() {
        let importance: Vec<f64> = (0..30).map(f64::from).collect();
        let looks = choose(&importance, &[]);
        assert!(looks[..18].iter().all(|look| *look == Look::Rest));
        assert_eq!(looks[18], Look::Slot(0));
        assert_eq!(looks[29], Look::Slot(11));
    }

    #[test]
    fn whoever_asked_for_a_slot_is_told_apart() {
        let importance: Vec<f64> = (0..30).map(f64::from).collect();
        let slots: Vec<Option<usize>> = (0..30).map(|i| (i < 2).then_some(5 + i)).collect();
        let looks = choose(&importance, &slots);
        assert_eq!(looks[..3], [Look::Slot(5), Look::Slot(6), Look::Rest]);
        assert_eq!(looks.iter().filter(|look| **look != Look::Rest).count(), DISTINCT);
    }

    #[test]
    fn wishes_come_first_and_no_slot_comes_twice() {
        let looks = choose(&[1.0; 4], &[None, Some(0), Some(0), Some(14)]);
        assert_eq!(looks, [Look::Slot(1), Look::Slot(0), Look::Slot(3), Look::Slot(2)]);
    }
}
