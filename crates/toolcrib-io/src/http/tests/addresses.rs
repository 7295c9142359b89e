//! Which addresses are public.

use super::super::address::{AddressClass, classify};

#[test]
fn every_special_range_is_recognised_at_both_of_its_ends() {
    use AddressClass::{LinkLocal, Loopback, Multicast, Private, Reserved, Shared, Unspecified};
    let special = [
        (Unspecified, "0.0.0.0 0.255.255.255 ::"),
        (Loopback, "127.0.0.1 127.255.255.255 ::1"),
        (Private, "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255"),
        (Private, "fc00:: fdff:ffff:: fd00:ec2::254 fec0::1 64:ff9b:1::1"),
        (LinkLocal, "169.254.0.0 169.254.169.254 169.254.255.255 fe80::1 febf::1"),
        (Shared, "100.64.0.0 100.100.100.200 100.127.255.255"),
        (Multicast, "224.0.0.1 239.255.255.255 ff02::1 ffff::1"),
        (
            Reserved,
            "192.0.0.1 192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 168.63.129.16",
        ),
        (Reserved, "240.0.0.1 255.255.255.255 2001::1 2001:1ff::1 2001:db8::1 3fff::1 100::1 4000::1"),
    ];
    for (class, addresses) in special {
        for address in addresses.split(' ') {
            assert_eq!(classify(address.parse().unwrap()), Some(class), "{address}");
        }
    }
}

#[test]
fn an_ipv4_address_inside_an_ipv6_address_is_what_it_is() {
    for prefix in ["::ffff:", "::", "::ffff:0:", "64:ff9b::"] {
        let inside = format!("{prefix}169.254.169.254").parse().unwrap();
        assert_eq!(classify(inside), Some(AddressClass::LinkLocal), "{inside}");
        let public = format!("{prefix}93.184.216.34").parse().unwrap();
        assert_eq!(classify(public), None, "{public}");
    }
    // 6to4 of 127.0.0.1 and of 93.184.216.34.
    assert_eq!(classify("2002:7f00:1::1".parse().unwrap()), Some(AddressClass::Loopback));
    assert_eq!(classify("2002:5db8:d822::1".parse().unwrap()), None);
}

#[test]
fn the_neighbours_of_special_ranges_are_public() {
    let public = "1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 \
                  169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 198.17.255.255 \
                  198.20.0.0 223.255.255.255 8.8.8.8 2001:200::1 2606:4700::1111 2a00:1450::1";
    for address in public.split_whitespace() {
        assert_eq!(classify(address.parse().unwrap()), None, "{address}");
    }
}
