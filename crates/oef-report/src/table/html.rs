//! Tables as HTML.

use super::cells::{Rank, head, shown};
use super::model::{Align, Table};
use crate::escape::escape;

impl Table {
    /// A `table` element with caption and headers. The best and the worst cells have a sign with words for screen
    /// readers beside their weight.
    pub fn to_html(&self) -> String {
        let mut out = String::from("<table>\n");
        if !self.caption.is_empty() {
            out += &format!("<caption>{}</caption>\n", escape(&self.caption));
        }
        out += "<thead><tr>";
        for column in &self.columns {
            let class = class(column.align, Rank::Plain);
            out += &format!("<th scope=\"col\"{class}>{}</th>", escape(&head(column)));
        }
        out += "</tr></thead>\n<tbody>\n";
        for row in shown(self) {
            out += "<tr>";
            for (c, (text, rank)) in row.iter().enumerate() {
                let align = self.columns[c].align;
                let class = class(align, *rank);
                // The first cell of a row names it.
                let is_name = c == 0 && align == Align::Left;
                let (open, close) = if is_name { ("th scope=\"row\"", "th") } else { ("td", "td") };
                out += &format!("<{open}{class}>{}{}</{close}>", escape(text), sign(*rank));
            }
            out += "</tr>\n";
        }
        out + "</tbody>\n</table>\n"
    }
}

fn class(align: Align, rank: Rank) -> String {
    let align = match align {
        Align::Left => "",
        Align::Right => "num",
    };
    let rank = match rank {
        Rank::Plain => "",
        Rank::Best => " best",
        Rank::Worst => " worst",
    };
    match format!("{align}{rank}").trim() {
        "" => String::new(),
        class => format!(" class=\"{class}\""),
    }
}

fn sign(rank: Rank) -> String {
    let word = match rank {
        Rank::Plain => return String::new(),
        Rank::Best => "best",
        Rank::Worst => "worst",
    };
    let sign = rank.sign();
    format!(
        "<span class=\"sign\" role=\"img\" aria-label=\"{word}\" title=\"{word}\">{sign}</span>"
    )
}

#[cfg(test)]
mod tests {
    use super::super::{Column, Table};

    #[test]
    fn cells_are_escaped_and_marked() {
        let mut table = Table::new("A & B")
            .column(Column::text("name"))
            .column(Column::number("x").highest_is_best());
        table.row(["<b>".into(), 2usize.into()]);
        table.row(["c".into(), 1usize.into()]);
        let html = table.to_html();
        roxmltree::Document::parse(&html).expect("well-formed");
        assert!(html.contains("<caption>A &amp; B</caption>"));
        assert!(html.contains("<th scope=\"row\">&lt;b&gt;</th><td class=\"num best\">2<span"));
    }
}
