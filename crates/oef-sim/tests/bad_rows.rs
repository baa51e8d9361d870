//! Every mistake names its file, its line, its field and the way out.

use oef_sim::input::{InputError, Source, TraceOptions, read_cluster, read_profiles, read_trace};

/// What is wrong with a text, one line each: `place: message (hint)`.
fn said(error: Option<InputError>) -> Vec<String> {
    error.map(|e| e.problems.iter().map(ToString::to_string).collect()).unwrap_or_default()
}

#[track_caller]
fn check(found: Vec<String>, expected: &[&str]) {
    assert_eq!(found, expected, "\nfound: {found:#?}");
}

fn trace(text: &str) -> Vec<String> {
    said(read_trace(Source::new("t.csv", text), None, &TraceOptions::default()).err())
}

fn profiles(text: &str) -> Vec<String> {
    said(read_profiles(Source::new("p.csv", text), None, false).err())
}

fn cluster(text: &str) -> Vec<String> {
    said(read_cluster(Source::new("c.toml", text), None, false).err())
}

#[test]
fn traces() {
    let header = "tenant,job_id,submit_s,gpus,duration_s,model,batch_size,priority,weight\n";
    let good = "a,j1,0,1,60,m,8,0,1\n";
    check(trace(&format!("{header}{good}")), &[]);
    for (row, expected) in [
        (",j,0,1,60,m,8,0,1", "t.csv:3: tenant: is empty (every row needs a name here)"),
        ("a,j,x,1,60,m,8,0,1", "t.csv:3: submit_s: \"x\" is not a number"),
        ("a,j,,1,60,m,8,0,1", "t.csv:3: submit_s: is empty (every job needs it)"),
        ("a,j,-1,1,60,m,8,0,1", "t.csv:3: submit_s: -1 is out of range (between 0 and 3155760000)"),
        ("a,j,inf,1,60,m,8,0,1", "t.csv:3: submit_s: \"inf\" is not a number"),
        (
            "a,j,0,0,60,m,8,0,1",
            "t.csv:3: gpus: 0 is out of range (a whole number between 1 and 65536)",
        ),
        (
            "a,j,0,1.5,60,m,8,0,1",
            "t.csv:3: gpus: \"1.5\" is not a whole number (a whole number between 1 and 65536)",
        ),
        ("a,j,0,,60,m,8,0,1", "t.csv:3: gpus: is empty (every job needs it)"),
        (
            "a,j,0,1,,m,8,0,1",
            "t.csv:3: duration_s: is empty (every job needs a duration or its steps)",
        ),
        ("a,j,0,1,0,m,8,0,1", "t.csv:3: duration_s: is 0 (a number above 0 is needed)"),
        (
            "a,j,0,1,1e99,m,8,0,1",
            "t.csv:3: duration_s: 1e99 is out of range (between 0 and 3155760000)",
        ),
        (
            "a,j,0,1,60,m,-8,0,1",
            "t.csv:3: batch_size: -8 is out of range (a whole number between 0 and 4294967295)",
        ),
        (
            "a,j,0,1,60,m,8,high,1",
            "t.csv:3: priority: \"high\" is not a whole number (a whole number between -2147483648 and 2147483647)",
        ),
        ("a,j,0,1,60,m,8,0,0", "t.csv:3: weight: is 0 (a number above 0 is needed)"),
        (
            "a,j1,0,1,60,m,8,0,1",
            "t.csv:3: job_id: `j1` is on line 2 already (give every job its own name)",
        ),
        (
            "a,j,0,1",
            "t.csv:3: the row has 4 cells, the header has 9 (give every row a cell for each column, empty where there is nothing to say)",
        ),
    ] {
        check(trace(&format!("{header}{good}{row}\n")), &[expected]);
    }
}

#[test]
fn traces_as_a_whole() {
    check(
        trace("tenant,job_id,submit_s,duration_s\n"),
        &[
            "t.csv:1: gpus: this column is missing (the header has: tenant, job_id, submit_s, duration_s)",
        ],
    );
    check(
        trace("tenants,submit_s,gpus,duration_s\n"),
        &["t.csv:1: tenant: this column is missing (did you mean `tenants`?)"],
    );
    check(
        trace("tenant,submit_s,gpus,durations\n"),
        &[
            "t.csv:1: duration_s: neither `duration_s` nor `total_steps` is there (did you mean `durations`?)",
        ],
    );
    check(
        trace("tenant,submit_s,gpus,duration_s\n"),
        &["t.csv: there is no job in it (below the header goes one row per job)"],
    );
    check(trace(""), &["t.csv: there is no header line (the first line must name the columns)"]);
}

#[test]
fn bad_rows_are_all_listed_or_all_skipped() {
    let text =
        "tenant,job_id,submit_s,gpus,duration_s\n\na,j1,0,1,60\n\nb,j2,0,none,60\nc,j3,zero,1,60\n";
    check(
        trace(text),
        &[
            "t.csv:5: gpus: \"none\" is not a whole number (a whole number between 1 and 65536)",
            "t.csv:6: submit_s: \"zero\" is not a number",
        ],
    );
    let options = TraceOptions { skip_bad_rows: true, ..TraceOptions::default() };
    let read = read_trace(Source::new("t.csv", text), None, &options).unwrap();
    assert_eq!((read.value.jobs.len(), read.skipped.len()), (1, 2));
    assert_eq!((read.value.jobs[0].line, read.skipped[0].line), (3, 5));
}

#[test]
fn profile_tables() {
    let header = "model,batch_size,scale_factor,placement,thr_a,thr_b\nm,8,1,,1,2\n";
    check(profiles(header), &[]);
    for (row, expected) in [
        (",8,1,,1,2", "p.csv:3: model: is empty (every row needs a name here)"),
        (
            "n,8,0,,1,2",
            "p.csv:3: scale_factor: 0 is out of range (a whole number between 1 and 65536)",
        ),
        (
            "n,8,1,near,1,2",
            "p.csv:3: placement: \"near\" is not a placement (consolidated (one host), spread (several hosts), or empty)",
        ),
        ("n,8,1,,fast,2", "p.csv:3: thr_a: \"fast\" is not a number"),
        ("n,8,1,,-1,2", "p.csv:3: thr_a: -1 is out of range (at least 0)"),
        (
            "M,8,1,,1,2",
            "p.csv:3: model: `M` is on line 2 already (rows of a model differ in batch_size, scale_factor, placement or precision)",
        ),
    ] {
        check(profiles(&format!("{header}{row}\n")), &[expected]);
    }
    check(
        profiles("model,v100\nm,1\n"),
        &[
            "p.csv:1: thr_<type>: there is no column with throughputs (name one per gpu type: thr_v100, thr_a100)",
        ],
    );
    check(
        profiles("model,thr_a,thr_A\n"),
        &[
            "p.csv:1: thr_A: this gpu type has two columns (names that differ in case only are one type)",
        ],
    );
    check(
        profiles("model,thr_a\n"),
        &["p.csv: there is no profile in it (below the header goes one row per model)"],
    );
}

#[test]
fn cluster_files() {
    for (text, expected) in [
        (
            "[[node]]\nname = \"n\"\ngpus = 4\n",
            "c.toml:1: node[1].gpu_type: is missing (every table needs it)",
        ),
        (
            "[[node]]\ngpu_typ = \"a\"\ngpus = 4\n",
            "c.toml:2: node[1].gpu_typ: is not a field of this table (did you mean `gpu_type`?)",
        ),
        (
            "[[node]]\ngpu_type = \"a\"\ngpus = 0\n",
            "c.toml:3: node[1].gpus: the number 0 is not possible (a whole number between 1 and 1024)",
        ),
        (
            "[[node]]\ngpu_type = \"a\"\ngpus = 2.5\n",
            "c.toml:3: node[1].gpus: the number 2.5 is not possible (a whole number between 1 and 1024)",
        ),
        (
            "[[node]]\ngpu_type = 3090\ngpus = 4\n",
            "c.toml:2: node[1].gpu_type: expected a text, found the number 3090",
        ),
        (
            "[[node]]\nname='n'\ngpu_type='a'\ngpus=1\n[[node]]\nname='n'\ngpu_type='a'\ngpus=1\n",
            "c.toml:5: name: `n` is on line 1 already (node names are unique)",
        ),
        (
            "[[nodes]]\nname='n'\n",
            "c.toml:1: nodes: is not a list that a cluster has (did you mean `node`?)",
        ),
        (
            "[[gpu]]\ntype='a'\ncount='many'\n",
            "c.toml:3: gpu[1].count: the text \"many\" is not possible (a whole number between 0 and 1000000)",
        ),
        ("gpu = 4\n", "c.toml:1: gpu: is not a list of tables (write [[node]] or [[gpu]] tables)"),
        (
            "[[gpu]]\ntype='a'\ncount=0\n",
            "c.toml: there is no node with GPUs in it (write [[node]] tables with name, gpu_type and gpus)",
        ),
        (
            "{\"node\": [\n{\"gpu_type\": \"a\", \"gpus\": 4},\n{\"gpu_type\": \"a\",\n \"gpu\": 4}]}",
            "c.toml:4: node[2].gpu: is not a field of this table (did you mean `gpus`?)",
        ),
        ("{\"node\": [", "c.toml:1: not JSON: unterminated array"),
    ] {
        check(cluster(text), &[expected]);
    }
    assert!(cluster("[[node]\n")[0].starts_with("c.toml:1: not TOML: "));
}
