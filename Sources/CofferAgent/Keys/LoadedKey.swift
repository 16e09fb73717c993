internal import CofferKeys
internal import CofferPlatform

/// A key that `ssh-add` brought, in guarded memory until its time is over or the vault is locked.
final class LoadedKey: Sendable {
  let key: SSHPrivateKey
  let blob: [UInt8]
  /// Since boot.
  let ends: Duration?
  private let rules: KeyRules

  /// The constraints of OpenSSH's agent, by their numbers. Source: RFC 9987 (SSH agent).
  private static let lifetime: UInt8 = 1, confirmation: UInt8 = 2, other: UInt8 = 255
  /// Of an RSA key: ssh before 8.9 does not say that it forwards the socket, so another host can add keys. The vault waits for
  /// their signatures, of up to 0.1 s each.
  private static let mostBits = 4096
  private static let restriction = "restrict-destination-v00@openssh.com"

  /// - Parameter fields: those of the request of `ssh-add`, after its type.
  /// - Throws: ``StoreError`` `.undecodable`; `.unsupported` for types of keys and constraints that Coffer does not know: without
  ///   one the key would do more than its owner wants.
  init(_ fields: borrowing SecretBytes, isConstrained: Bool, now: Duration) throws(StoreError) {
    guard fields.count <= KeyLimits.mostBytes else {
      throw StoreError(
        .tooLarge(limit: KeyLimits.mostBytes), "the key and its constraints are longer than a message of ssh-add",
        cure: "give fewer")
    }
    var (lifetime, asks, destinations): (UInt32?, Bool, [Destination]?) = (nil, false, nil)
    let key = try fields.read { (reader) throws(StoreError) in
      let key = try SSHPrivateKey(from: &reader, mostBits: Self.mostBits)
      while isConstrained, !reader.isAtEnd {
        switch try reader.byte() {
        case Self.lifetime where lifetime == nil: lifetime = try reader.uint32()
        case Self.confirmation where !asks: asks = true
        case Self.other where destinations == nil:
          let name = try reader.text()
          guard name == Self.restriction else { throw .unknownConstraint("'\(name.prefix(64))'") }
          destinations = try Destination.list(reader.string())
        case Self.lifetime, Self.confirmation, Self.other: throw .malformedKey("a constraint is given twice")
        case let number: throw .unknownConstraint("\(number)")
        }
      }
      return key
    }
    blob = key.certificate?.blob ?? key.publicKey.blob
    ends = lifetime.map { now + .seconds(Int64($0)) }
    rules = KeyRules(destinations, asks: asks)
    self.key = key
  }

  /// Its public line, or its certificate's.
  var line: String { key.certificate?.line(comment: key.comment) ?? key.publicKey.line(comment: key.comment) }

  var held: HeldKey {
    HeldKey(
      blob: blob, key: key.publicKey.blob, comment: key.comment, isAge: false, expires: nil, source: .loaded(self),
      rules: .success(rules))
  }
}

/// Source: OpenSSH's PROTOCOL.agent, "restrict-destination-v00@openssh.com".
extension Destination {
  /// As in OpenSSH: `AGENT_MAX_DEST_CONSTRAINTS`. All are compared for each server on the way, with the keys of a
  /// message.
  private static let most = 1024

  fileprivate static func list(_ raw: UnsafeRawBufferPointer) throws(StoreError) -> [Destination] {
    var (reader, list) = (SSHReader(raw), [Destination]())
    while !reader.isAtEnd, list.count <= most {
      var rule = SSHReader(try reader.string())
      let (from, to) = (try hop(rule.string()), try hop(rule.string()))
      try noExtensions(&rule)
      try rule.end()
      guard from.user.isEmpty, from.hop.host.isEmpty == (from.count == 0), !to.hop.host.isEmpty, to.count > 0 else {
        throw .malformedKey("a destination is incomplete")
      }
      list.append(
        Destination(from: from.hop.host.isEmpty ? nil : from.hop, user: to.user.isEmpty ? nil : to.user, to: to.hop))
    }
    guard list.count <= most else { throw .malformedKey("a key has more than \(most) destinations") }
    return list
  }

  /// A host with its keys, and how many there are with those that Coffer does not verify: they match nothing.
  private static func hop(_ raw: UnsafeRawBufferPointer) throws(StoreError) -> (user: String, hop: Hop, count: Int) {
    var reader = SSHReader(raw)
    let (user, host) = (try reader.text(), try reader.text())
    try noExtensions(&reader)
    var (keys, count) = ([KnownKey](), 0)
    while !reader.isAtEnd {
      count += 1
      let (blob, isAuthority) = (Array(try reader.string()), try reader.byte() != 0)
      do throws(StoreError) {
        keys.append(KnownKey(key: try SSHPublicKey(blob: blob), role: isAuthority ? .authority : .host))
      } catch { guard error.kind == .unsupported else { throw error } }
    }
    return (user, Hop(host: host, keys: keys), count)
  }

  private static func noExtensions(_ reader: inout SSHReader) throws(StoreError) {
    guard try reader.string().isEmpty else { throw .unknownConstraint("in a destination") }
  }
}
