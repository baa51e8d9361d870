//! `oef token`.

use super::{pages, tenants};
use crate::args::tenants::{TokenCommand, TokenCreateArgs};
use oef_api::client::Client;
use oef_api::types::{Role, Token, TokenCreate, Tokens};
use oef_terminal::names::safe;
use oef_terminal::table::Table;
use oef_terminal::times::at;
use oef_terminal::{Complaint, Exit, Failure, Printer};

pub fn run(command: &TokenCommand, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    match command {
        TokenCommand::Create(args) => create(args, client, printer),
        TokenCommand::List(args) => {
            let page = Tokens { tokens: pages::tokens(client)?, next: None };
            printer.show(args.json, || &page, || table(&page.tokens).fitted())
        }
        TokenCommand::Revoke(args) => {
            client.revoke_token(args.id)?;
            let done = format!("token {} is void\n", args.id);
            tenants::removed(&args.id.to_string(), &done, args.json, printer)
        }
    }
}

/// The secret alone goes to stdout, so that it can go into a variable and nowhere else.
fn create(args: &TokenCreateArgs, client: &Client, printer: &Printer) -> Result<Exit, Failure> {
    let role = Role::from(args.role);
    if role != Role::Tenant && args.tenant.is_some() {
        let complaint = Complaint::new("only a token with the role `tenant` is for one tenant");
        return Err(complaint
            .at("--tenant")
            .hint("use --role tenant, or leave --tenant out")
            .into());
    }
    let token = TokenCreate {
        role,
        tenant: args.tenant.clone(),
        note: args.note.clone(),
        expires_in_s: args.expires,
    };
    let made = client.create_token(&token)?;
    if args.json {
        return printer.json(&made);
    }
    printer.result(&format!("{}\n", safe(&made.secret)))?;
    let id = made.token.id;
    printer.note(&format!(
        "token {id}: keep the secret, it is shown only now; its holder sets OEF_SERVER={} and OEF_TOKEN; \
         `oef token revoke {id}` makes it void",
        client.server()
    ));
    Ok(Exit::Done)
}

fn table(tokens: &[Token]) -> Table {
    Table::each(tokens)
        .column("id>", |token| token.id.to_string())
        .column("role", |token| token.role.name())
        .column("tenant", |token| token.tenant.as_deref().map_or("·".into(), safe))
        .column("created", |token| at(token.created))
        .column("expires", |token| token.expires.map_or("never".into(), at))
        .column("note", |token| token.note.as_deref().map(safe).unwrap_or_default())
        .table()
}
