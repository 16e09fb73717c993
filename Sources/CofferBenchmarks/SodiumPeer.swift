internal import CCofferSodium
internal import Foundation

/// The least cryptography for a record of the vault's format, called as a C program would.
final class SodiumPeer {
  private let key = [UInt8](repeating: 1, count: 32)
  private let salt = [UInt8](repeating: 2, count: 16)
  private let nonce = [UInt8](repeating: 0, count: 24)
  private var pair = [UInt8](repeating: 0, count: 64)
  private var name = [UInt8](repeating: 0, count: 16)
  private let meta = [UInt8](repeating: 3, count: 128)
  private let value = [UInt8](repeating: 4, count: 256)
  private var metaBox = [UInt8](repeating: 0, count: 144)
  private var valueBox = [UInt8](repeating: 0, count: 272)
  private var opened = [UInt8](repeating: 0, count: 256)

  init() { sealRecord() }

  /// Name, id, keys and both boxes of one record.
  func sealRecord() {
    hash(40)
    var state = [UInt8](repeating: 0, count: 16)
    randombytes_buf(&state, 16)
    crypto_generichash_blake2b_salt_personal(&name, 16, value, 256, key, 32, state, salt)
    crypto_generichash_blake2b_salt_personal(&pair, 64, meta, 32, key, 32, salt, salt)
    crypto_aead_xchacha20poly1305_ietf_encrypt(&metaBox, nil, meta, 128, nil, 0, nil, nonce, pair)
    crypto_aead_xchacha20poly1305_ietf_encrypt(&valueBox, nil, value, 256, nil, 0, nil, nonce, pair)
  }

  /// Name, keys and both boxes of one record, opened.
  func openRecord() {
    hash(40)
    crypto_generichash_blake2b_salt_personal(&pair, 64, meta, 32, key, 32, salt, salt)
    _ = crypto_aead_xchacha20poly1305_ietf_decrypt(&opened, nil, nil, metaBox, 144, nil, 0, nonce, pair)
    _ = crypto_aead_xchacha20poly1305_ietf_decrypt(&opened, nil, nil, valueBox, 272, nil, 0, nonce, pair)
  }

  /// Argon2id alone.
  func hashPassphrase(passes: UInt32, mebibytes: UInt32) {
    let passphrase = [CChar](repeating: 65, count: 20)
    _ = crypto_pwhash(
      &pair, 32, passphrase, 20, salt, UInt64(passes), Int(mebibytes) << 20, crypto_pwhash_ALG_ARGON2ID13)
  }

  private func hash(_ count: UInt64) {
    crypto_generichash_blake2b_salt_personal(&name, 16, value, count, key, 32, salt, salt)
  }
}
