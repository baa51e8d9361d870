//! Lists of nodes as Slurm writes them: `n[1-3,7],gpu01`.

/// A list that names more nodes than any cluster has is a mistake, or a trap.
const HOSTS_MAX: usize = 100_000;

/// The nodes of a list, in its order; none: it is not a list.
pub fn expand(list: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for item in split(list)? {
        expand_item(item, &mut found)?;
    }
    Some(found)
}

/// A list of nodes for a command. Slurm reads names one by one as well as in brackets.
pub fn join<T: AsRef<str>>(hosts: &[T]) -> String {
    hosts.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(",")
}

/// Splits at commas outside of brackets.
fn split(list: &str) -> Option<Vec<&str>> {
    let (mut items, mut depth, mut begin) = (Vec::new(), 0u32, 0);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                items.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    items.push(&list[begin..]);
    (depth == 0).then(|| items.into_iter().filter(|item| !item.is_empty()).collect())
}

fn expand_item(item: &str, found: &mut Vec<String>) -> Option<()> {
    let Some(open) = item.find('[') else {
        found.push(item.to_string());
        return (found.len() <= HOSTS_MAX).then_some(());
    };
    let close = open + item[open..].find(']')?;
    let (before, ranges, after) = (&item[..open], &item[open + 1..close], &item[close + 1..]);
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (from, to) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
        if to < from || to - from > HOSTS_MAX as u64 {
            return None;
        }
        for number in from..=to {
            expand_item(&format!("{before}{number:0width$}{after}", width = first.len()), found)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_expanded() {
        let cases = [
            ("", ""),
            ("n1", "n1"),
            ("n[1-3,7],gpu01", "n1 n2 n3 n7 gpu01"),
            ("r[08-10]", "r08 r09 r10"),
            ("r[1-2]c[1-2]", "r1c1 r1c2 r2c1 r2c2"),
        ];
        for (list, nodes) in cases {
            let expected: Vec<&str> = nodes.split_whitespace().collect();
            assert_eq!(expand(list).expect("a list"), expected, "{list}");
        }
        for bad in ["n[1-", "n1]", "n[a]", "n[3-1]", "n[1-99999999999]"] {
            assert_eq!(expand(bad), None, "{bad}");
        }
    }
}
