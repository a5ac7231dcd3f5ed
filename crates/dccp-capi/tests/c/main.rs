//! The library as C programs see it.

mod header;
