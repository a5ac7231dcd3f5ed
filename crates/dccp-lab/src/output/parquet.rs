//! The table of a campaign as Parquet: texts as UTF-8, whole numbers as INT64, numbers as DOUBLE; all may be null.

use super::columns::{Column, Table, Values};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

/// The bytes of a file with a table.
///
/// # Panics
/// Never: memory can be written, and each column has its type.
pub fn of_table(table: &Table) -> Vec<u8> {
    write(table).expect("a table in memory")
}

fn write(table: &Table) -> Result<Vec<u8>> {
    let fields: Result<Vec<TypePtr>> = table.columns.iter().map(field).collect();
    let schema = Type::group_type_builder("table")
        .with_fields(fields?)
        .build()?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
    let mut group = writer.next_row_group()?;
    for column in &table.columns {
        let Some(mut out) = group.next_column()? else {
            break;
        };
        match &column.values {
            Values::Texts(values) => {
                let bytes = values
                    .iter()
                    .map(|text| text.as_deref().map(ByteArray::from));
                put::<ByteArrayType>(&mut out, bytes)?;
            }
            Values::Counts(values) => put::<Int64Type>(&mut out, values.iter().copied())?,
            Values::Numbers(values) => put::<DoubleType>(&mut out, values.iter().copied())?,
        }
        out.close()?;
    }
    group.close()?;
    writer.into_inner()
}

fn field(column: &Column) -> Result<TypePtr> {
    let (kind, meaning) = match &column.values {
        Values::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Values::Counts(_) => (Physical::INT64, None),
        Values::Numbers(_) => (Physical::DOUBLE, None),
    };
    let builder = Type::primitive_type_builder(&column.name, kind);
    let builder = builder.with_repetition(Repetition::OPTIONAL);
    builder.with_logical_type(meaning).build().map(Arc::new)
}

/// Writes the values of a column. A definition level says whether a row has a value.
fn put<T: DataType>(
    out: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let values: Vec<Option<T::T>> = values.collect();
    let levels: Vec<i16> = values.iter().map(|value| value.is_some().into()).collect();
    let known: Vec<T::T> = values.into_iter().flatten().collect();
    out.typed::<T>().write_batch(&known, Some(&levels), None)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::Field;

    #[test]
    fn file_holds_the_table() {
        let column = |name: &str, values| Column {
            name: name.into(),
            values,
        };
        let table = Table {
            columns: vec![
                column("flow.id", Values::Texts(vec![Some("µ".into()), None])),
                column("n", Values::Counts(vec![None, Some(-3)])),
                column("x", Values::Numbers(vec![Some(0.1), None])),
            ],
        };
        let bytes = bytes::Bytes::from(of_table(&table));
        let reader = SerializedFileReader::new(bytes).unwrap();
        let rows: Vec<Vec<(String, Field)>> = (reader.get_row_iter(None).unwrap())
            .map(|row| row.unwrap().into_columns())
            .collect();
        let row = |id, n, x| {
            let names = ["flow.id", "n", "x"].map(str::to_owned);
            names.into_iter().zip([id, n, x]).collect::<Vec<_>>()
        };
        let expected = [
            row(Field::Str("µ".into()), Field::Null, Field::Double(0.1)),
            row(Field::Null, Field::Long(-3), Field::Null),
        ];
        assert_eq!(rows, expected);
    }
}
