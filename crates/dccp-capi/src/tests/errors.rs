//! Errors have names and texts.

use super::*;

#[test]
fn refused_connection_names_its_error() {
    let pair = Pair::new(|_| {});
    let mut address = [0; DCCP_ADDRESS_SIZE];
    let room = address.as_mut_ptr();
    assert!(unsafe { dccp_peer_address(pair.client, room, DCCP_ADDRESS_SIZE) } > 0);
    let own = text(room);
    let (place, port) = own.split_once('/').unwrap();
    let other = port.parse::<u16>().unwrap() ^ 1;
    let other = CString::new(format!("{place}/{other}")).unwrap();
    let mut socket = null_mut();
    let connected = unsafe { dccp_connect(other.as_ptr(), null(), &raw mut socket) };
    assert_eq!(connected, DCCP_ERR_REFUSED);
    assert_eq!(dccp_last_fault(), DCCP_FAULT_PEER);
    assert!(text(dccp_next_step()).starts_with("start the program"));
}

#[test]
fn errors_have_texts_and_belong_to_their_thread() {
    for (number, (error, own)) in (1..).zip(TEXTS) {
        assert_eq!(error, -10_000 - number);
        assert_eq!(text(dccp_strerror(error)), own.to_str().unwrap());
    }
    assert_eq!(text(dccp_strerror(0)), "no error");
    assert_eq!(text(dccp_strerror(-1)), "unknown error");
    assert_eq!(unsafe { dccp_close(null()) }, DCCP_ERR_INVALID);
    let other = std::thread::spawn(|| (detail(), text(dccp_next_step()))).join();
    assert_eq!(other.unwrap(), (String::new(), String::new()));
    assert_ne!(detail(), "");
}

#[test]
fn panic_becomes_an_error() {
    let defect = || -> Result<c_int, crate::failure::Failure> { panic!("this panic is a test") };
    assert_eq!(crate::failure::value(defect), DCCP_ERR_INTERNAL);
    assert_eq!(detail(), "a defect of the library ended the call");
}

#[test]
fn version_is_that_of_the_package() {
    assert_eq!(
        text(crate::version::dccp_version()),
        env!("CARGO_PKG_VERSION")
    );
}
