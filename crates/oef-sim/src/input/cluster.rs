//! A cluster as it is described: machines with GPUs.

/// The nodes of a cluster, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterSpec {
    /// The nodes. A host with several gpu types is several nodes with the same `host`.
    pub nodes: Vec<NodeSpec>,
}

/// GPUs of one type in one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// Its name; unique.
    pub name: String,
    /// The machine it is in: the name of the node itself unless the file says otherwise. Nodes of one host
    /// talk to each other without the network.
    pub host: String,
    /// The kind of its GPUs.
    pub gpu_type: String,
    /// How many there are.
    pub gpus: u32,
}

impl ClusterSpec {
    /// The gpu types, in the order in which they first occur. Names that differ in case only are one type.
    pub fn types(&self) -> Vec<String> {
        let mut types: Vec<String> = Vec::new();
        for node in &self.nodes {
            if !types.iter().any(|t| t.eq_ignore_ascii_case(&node.gpu_type)) {
                types.push(node.gpu_type.clone());
            }
        }
        types
    }

    /// How many GPUs there are of a type, by its name in any case.
    pub fn count(&self, gpu_type: &str) -> u64 {
        let of_type = self.nodes.iter().filter(|n| n.gpu_type.eq_ignore_ascii_case(gpu_type));
        of_type.map(|n| u64::from(n.gpus)).sum()
    }

    /// How many GPUs there are.
    pub fn gpus(&self) -> u64 {
        self.nodes.iter().map(|n| u64::from(n.gpus)).sum()
    }
}
