//! Clusters of a known shape.

use crate::input::{ClusterSpec, NodeSpec};

/// A cluster to imitate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterLike {
    /// The paper's: 8 x RTX 3070, 8 x 3080, 8 x 3090, four to a host.
    Paper,
    /// A university lab: three generations of gaming cards in machines of different sizes, one of them mixed.
    Lab,
    /// A company that never threw a GPU away: five generations, 92 GPUs.
    Company,
    /// Gavel's simulated cluster: 36 each of K80, P100 and V100, four to a host.
    Gavel,
    /// The size of Alibaba's published GPU cluster of 2023: 6,212 GPUs of seven types in 1,213 nodes.
    OpenbSize,
}

/// `(type, nodes, gpus)`: that many GPUs, as evenly as possible over that many nodes.
type Rack = (&'static str, u32, u32);

/// Builds a cluster.
pub fn cluster(like: ClusterLike) -> ClusterSpec {
    let racks: &[Rack] = match like {
        ClusterLike::Paper => &[("rtx3070", 2, 8), ("rtx3080", 2, 8), ("rtx3090", 2, 8)],
        ClusterLike::Lab => return lab(),
        ClusterLike::Company => {
            &[("t4", 8, 32), ("v100", 3, 24), ("a100", 2, 16), ("l40s", 3, 12), ("h100", 1, 8)]
        }
        ClusterLike::Gavel => &[("k80", 9, 36), ("p100", 9, 36), ("v100", 9, 36)],
        ClusterLike::OpenbSize => &[
            ("p100", 134, 265),
            ("t4", 404, 842),
            ("v100m16", 55, 195),
            ("v100m32", 30, 204),
            ("a10", 2, 2),
            ("g2", 549, 4_392),
            ("g3", 39, 312),
        ],
    };
    ClusterSpec { nodes: racks.iter().flat_map(|rack| even(*rack)).collect() }
}

fn even((gpu_type, nodes, gpus): Rack) -> impl Iterator<Item = NodeSpec> {
    (0..nodes).map(move |i| {
        let extra = u32::from(i < gpus % nodes);
        node(&format!("{gpu_type}-{}", i + 1), None, gpu_type, gpus / nodes + extra)
    })
}

fn lab() -> ClusterSpec {
    let nodes = [
        ("old-1", None, "rtx2080ti", 4),
        ("old-2", None, "rtx2080ti", 4),
        ("desk-1", None, "rtx3080", 2),
        ("desk-2", None, "rtx3080", 2),
        // One machine with two kinds of cards: two nodes on one host.
        ("mixed-3080", Some("mixed"), "rtx3080", 2),
        ("mixed-3090", Some("mixed"), "rtx3090", 2),
        ("new-1", None, "rtx3090", 4),
    ];
    ClusterSpec { nodes: nodes.map(|(name, host, kind, gpus)| node(name, host, kind, gpus)).into() }
}

fn node(name: &str, host: Option<&str>, gpu_type: &str, gpus: u32) -> NodeSpec {
    NodeSpec {
        name: name.into(),
        host: host.unwrap_or(name).into(),
        gpu_type: gpu_type.into(),
        gpus,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_have_their_sizes() {
        for (like, nodes, gpus) in [
            (ClusterLike::Paper, 6, 24),
            (ClusterLike::Lab, 7, 20),
            (ClusterLike::Company, 17, 92),
            (ClusterLike::Gavel, 27, 108),
            (ClusterLike::OpenbSize, 1_213, 6_212),
        ] {
            let cluster = cluster(like);
            assert_eq!((cluster.nodes.len(), cluster.gpus()), (nodes, gpus), "{like:?}");
        }
    }
}
