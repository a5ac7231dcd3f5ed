//! The table of a campaign as CSV (RFC 4180), with the names of the columns in the first line. Unknown values are
//! empty. Numbers have as many digits as they need to be read back exactly.

use super::columns::{Table, Values};

/// The text of a table.
///
/// # Panics
/// Never: memory can be written.
pub fn of_table(table: &Table) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = "memory can be written";
    let names = table.columns.iter().map(|column| column.name.as_str());
    writer.write_record(names).expect(written);
    for row in 0..table.rows() {
        let fields = table
            .columns
            .iter()
            .map(|column| field(&column.values, row));
        writer.write_record(fields).expect(written);
    }
    let bytes = writer.into_inner().expect(written);
    String::from_utf8(bytes).expect("fields are texts")
}

fn field(values: &Values, row: usize) -> String {
    match values {
        Values::Texts(values) => values[row].clone(),
        Values::Counts(values) => values[row].map(|value| value.to_string()),
        Values::Numbers(values) => values[row].map(|value| value.to_string()),
    }
    .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::columns::Column;
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_need_it() {
        let column = |name: &str, values| Column {
            name: name.into(),
            values,
        };
        let table = Table {
            columns: vec![
                column("label", Values::Texts(vec![Some("a, \"b\"".into()), None])),
                column("n", Values::Counts(vec![Some(-3), None])),
                column("x", Values::Numbers(vec![Some(0.1), Some(1e21)])),
            ],
        };
        let text = "label,n,x\n\"a, \"\"b\"\"\",-3,0.1\n,,1000000000000000000000\n";
        assert_eq!(of_table(&table), text);
    }
}
