//! The MIB in the eyes of others: smilint checks it, and net-snmp reads it.

use dccp_dev::shell::{command, find_program, output};
use std::fs;
use std::path::PathBuf;

/// Modules that the MIB imports. Debian does not ship them, so these hold as much as the MIB needs.
const IMPORTED: [(&str, &str); 3] = [
    (
        "SNMPv2-SMI",
        "SNMPv2-SMI DEFINITIONS ::= BEGIN
        org         OBJECT IDENTIFIER ::= { iso 3 }
        dod         OBJECT IDENTIFIER ::= { org 6 }
        internet    OBJECT IDENTIFIER ::= { dod 1 }
        private     OBJECT IDENTIFIER ::= { internet 4 }
        enterprises OBJECT IDENTIFIER ::= { private 1 }
        MODULE-IDENTITY MACRO ::= BEGIN END
        OBJECT-TYPE MACRO ::= BEGIN END
        Unsigned32 ::= [APPLICATION 2] IMPLICIT INTEGER (0..4294967295)
        Gauge32    ::= [APPLICATION 2] IMPLICIT INTEGER (0..4294967295)
        TimeTicks  ::= [APPLICATION 3] IMPLICIT INTEGER (0..4294967295)
        Counter64  ::= [APPLICATION 6] IMPLICIT INTEGER (0..18446744073709551615)
        END",
    ),
    (
        "SNMPv2-TC",
        "SNMPv2-TC DEFINITIONS ::= BEGIN
        TEXTUAL-CONVENTION MACRO ::= BEGIN END
        DisplayString ::= TEXTUAL-CONVENTION
            DISPLAY-HINT \"255a\"
            STATUS       current
            DESCRIPTION  \"Text.\"
            SYNTAX       OCTET STRING (SIZE (0..255))
        END",
    ),
    (
        "SNMPv2-CONF",
        "SNMPv2-CONF DEFINITIONS ::= BEGIN
        MODULE-COMPLIANCE MACRO ::= BEGIN END
        OBJECT-GROUP MACRO ::= BEGIN END
        END",
    ),
];

/// A folder with the MIB and what it imports.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in IMPORTED {
        fs::write(folder.join(name), text).unwrap();
    }
    fs::write(folder.join("USRDCCP-MIB"), dccp_counters::snmp::mib()).unwrap();
    folder
}

#[test]
fn smilint_finds_nothing_in_the_mib() {
    if find_program("smilint").is_none() {
        println!("SKIP smilint_finds_nothing_in_the_mib: needs smilint");
        return;
    }
    let folder = folder("smilint");
    let lint = |file: &str| {
        let mut lint = command(&["smilint", "-l", "6", "-m"]);
        lint.arg(folder.join(file)).env("SMIPATH", &folder);
        let done = lint.output().unwrap();
        String::from_utf8([done.stdout, done.stderr].concat()).unwrap()
    };
    assert_eq!(lint("USRDCCP-MIB"), "");
    // It does find mistakes.
    let wrong = dccp_counters::snmp::mib().replacen("Counter64\n", "Counter65\n", 1);
    fs::write(folder.join("WRONG-MIB"), wrong).unwrap();
    assert!(lint("WRONG-MIB").contains("Counter65"));
}

#[test]
fn net_snmp_knows_the_objects_of_the_mib() {
    if find_program("snmptranslate").is_none() {
        println!("SKIP net_snmp_knows_the_objects_of_the_mib: needs snmptranslate");
        return;
    }
    let folder = folder("snmptranslate");
    let translate = |object: &str| {
        let mut translate = command(&["snmptranslate", "-m", "USRDCCP-MIB", "-On", "-M"]);
        translate.arg(&folder).arg(format!("USRDCCP-MIB::{object}"));
        translate.env("SNMP_PERSISTENT_DIR", &folder);
        output(&mut translate).unwrap().trim_end().to_owned()
    };
    let base = dccp_counters::snmp::BASE_OID;
    assert_eq!(translate("usrdccpMIB"), base);
    assert_eq!(translate("dccpInPktsData"), format!("{base}.1.1.1.3"));
    assert_eq!(translate("dccpConnRtt"), format!("{base}.1.3.1.43"));
}
