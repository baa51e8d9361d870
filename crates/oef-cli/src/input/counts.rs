//! `--counts K80=8,P100=8`: how many GPUs there are of each type of a table.

use oef_terminal::Complaint;

/// One gpu type with its count, as given on the command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    /// The type as the user spelt it.
    pub gpu: String,
    /// How many.
    pub count: f64,
}

/// Reads `TYPE=NUMBER` pairs separated by commas, from one or several arguments.
pub fn parse(arguments: &[String], flag: &str) -> Result<Vec<Count>, Vec<Complaint>> {
    let mut counts: Vec<Count> = Vec::new();
    let mut complaints = Vec::new();
    for pair in arguments.iter().flat_map(|a| a.split(',')).map(str::trim).filter(|p| !p.is_empty())
    {
        match parse_pair(pair) {
            Ok(count) => counts.push(count),
            Err(message) => {
                let hint = format!("write {flag} TYPE=NUMBER, for example {flag} a100=8");
                complaints.push(Complaint::new(message).at(flag).hint(hint));
            }
        }
    }
    if complaints.is_empty() { Ok(counts) } else { Err(complaints) }
}

fn parse_pair(pair: &str) -> Result<Count, String> {
    let (gpu, number) = pair.split_once('=').ok_or_else(|| format!("`{pair}` has no `=`"))?;
    let gpu = gpu.trim();
    if gpu.is_empty() {
        return Err(format!("`{pair}` names no gpu type"));
    }
    let count = number.trim().parse();
    let count = count.map_err(|_| format!("`{}` in `{pair}` is not a number", number.trim()))?;
    Ok(Count { gpu: gpu.into(), count })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_and_mistakes_are_all_told() {
        let good = parse(&["K80=8, P100=2.5".into(), "V100=0".into()], "--counts").unwrap();
        assert_eq!(good.len(), 3);
        assert_eq!(good[1], Count { gpu: "P100".into(), count: 2.5 });
        let bad = parse(&["K80,=3,V100=x".into()], "--counts").unwrap_err();
        assert_eq!(bad.len(), 3);
    }
}
