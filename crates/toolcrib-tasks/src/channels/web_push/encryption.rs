//! The encryption of a push message for one browser (RFC 8291), as a body of one record (RFC 8188).

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use ring::rand::{SecureRandom as _, SystemRandom};

use super::subscription::{AUTH_BYTES, PUBLIC_KEY_BYTES};

/// The size of records in the header of a body. The only record is shorter.
const RECORD_BYTES: u32 = 4096;

/// The number of bytes of the salt of a message.
const SALT_BYTES: usize = 16;

/// The number of bytes of the content key.
const KEY_BYTES: usize = 16;

/// The number of bytes of the input keying material.
const IKM_BYTES: usize = 32;

/// The byte behind the text of the last record.
const LAST_RECORD: u8 = 2;

/// The most bytes of a text. Push services accept bodies of 4096 bytes.
pub(super) const MAX_TEXT_BYTES: usize = 2048;

/// The length of a derived secret.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// Encrypts a text for the browser with this public key and authentication secret. Returns `None` if the key is no point
/// of the curve, the text is too long, or the system has no random numbers.
pub(super) fn encrypt(
    text: &[u8],
    public_key: &[u8; PUBLIC_KEY_BYTES],
    auth: &[u8; AUTH_BYTES],
) -> Option<Vec<u8>> {
    let random = SystemRandom::new();
    let mut salt = [0; SALT_BYTES];
    random.fill(&mut salt).ok()?;
    let private = EphemeralPrivateKey::generate(&ECDH_P256, &random).ok()?;
    let own = private.compute_public_key().ok()?;
    let own: [u8; PUBLIC_KEY_BYTES] = own.as_ref().try_into().ok()?;
    let keys = MessageKeys { public_key, auth, own: &own, salt: &salt };
    let peer = UnparsedPublicKey::new(&ECDH_P256, public_key);
    agree_ephemeral(private, &peer, |secret| keys.seal(text, secret)).ok()?
}

/// The public inputs of the keys of one message.
struct MessageKeys<'a> {
    public_key: &'a [u8; PUBLIC_KEY_BYTES],
    auth: &'a [u8; AUTH_BYTES],
    /// The public key of the sender, which belongs to this message.
    own: &'a [u8; PUBLIC_KEY_BYTES],
    salt: &'a [u8; SALT_BYTES],
}

impl MessageKeys<'_> {
    /// Returns the body with the encrypted text, for this shared secret.
    fn seal(&self, text: &[u8], secret: &[u8]) -> Option<Vec<u8>> {
        if text.len() > MAX_TEXT_BYTES {
            return None;
        }
        let (key, nonce) = self.key_and_nonce(secret)?;
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).ok()?);
        let mut record = [text, &[LAST_RECORD]].concat();
        let nonce = Nonce::assume_unique_for_key(nonce);
        key.seal_in_place_append_tag(nonce, Aad::empty(), &mut record).ok()?;
        let length = u8::try_from(self.own.len()).ok()?;
        Some([self.salt, &RECORD_BYTES.to_be_bytes()[..], &[length], self.own, &record].concat())
    }

    /// Returns the content key and the nonce.
    fn key_and_nonce(&self, secret: &[u8]) -> Option<([u8; KEY_BYTES], [u8; NONCE_LEN])> {
        let ikm = derived::<IKM_BYTES>(
            &Salt::new(HKDF_SHA256, self.auth).extract(secret),
            &[b"WebPush: info\0", self.public_key, self.own],
        )?;
        let prk = Salt::new(HKDF_SHA256, self.salt).extract(&ikm);
        let key = derived(&prk, &[b"Content-Encoding: aes128gcm\0"])?;
        Some((key, derived(&prk, &[b"Content-Encoding: nonce\0"])?))
    }
}

fn derived<const N: usize>(prk: &Prk, info: &[&[u8]]) -> Option<[u8; N]> {
    let mut out = [0; N];
    prk.expand(info, Length(N)).ok()?.fill(&mut out).ok()?;
    Some(out)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    fn bytes<const N: usize>(text: &str) -> [u8; N] {
        URL_SAFE_NO_PAD.decode(text).unwrap().try_into().unwrap()
    }

    /// The example of RFC 8291, section 5, with the intermediate values of appendix A.
    #[test]
    fn a_message_is_encrypted_as_in_the_example_of_the_standard() {
        let public_key =
            bytes("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4");
        let own =
            bytes("BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8");
        let (auth, salt) = (bytes("BTBZMqHH6r4Tts7J_aSIgg"), bytes("DGv6ra1nlYgDCS1FRnbzlw"));
        let secret = bytes::<32>("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let keys = MessageKeys { public_key: &public_key, auth: &auth, own: &own, salt: &salt };
        let (key, nonce) = keys.key_and_nonce(&secret).unwrap();
        assert_eq!(URL_SAFE_NO_PAD.encode(key), "oIhVW04MRdy2XN9CiKLxTg");
        assert_eq!(URL_SAFE_NO_PAD.encode(nonce), "4h_95klXJ5E_qnoN");
        let body = keys.seal(b"When I grow up, I want to be a watermelon", &secret).unwrap();
        let expected = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6Tlz\
                        AC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";
        assert_eq!(URL_SAFE_NO_PAD.encode(body), expected);
    }

    #[test]
    fn a_key_that_is_no_point_and_a_long_text_are_refused() {
        let auth = [0; AUTH_BYTES];
        let mut no_point = [7; PUBLIC_KEY_BYTES];
        no_point[0] = 4;
        assert!(encrypt(b"text", &no_point, &auth).is_none());
        let point = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
        let point: [u8; PUBLIC_KEY_BYTES] = point.compute_public_key().unwrap().as_ref().try_into().unwrap();
        assert!(encrypt(&[b'x'; MAX_TEXT_BYTES], &point, &auth).unwrap().len() <= 4096);
        assert!(encrypt(&[b'x'; MAX_TEXT_BYTES + 1], &point, &auth).is_none());
    }
}
