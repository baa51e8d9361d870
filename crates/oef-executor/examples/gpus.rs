//! Lists the GPUs of this machine as OEF names them: `cargo run -p oef-executor --example gpus`.

use std::io::{self, Write as _};

fn main() -> io::Result<()> {
    let machine = oef_executor::gpus::machine_name();
    let mut out = io::stdout();
    for device in oef_executor::gpus::discover(&machine) {
        writeln!(out, "{device}  {}  {:?}", device.gpu_type, device.kind)?;
    }
    Ok(())
}
