package import CofferVaultFormat

/// The name of a head at a remote: the generation of its put in decimal, and the digest of its bytes.
package struct HeadName: Hashable, Sendable {
  package let generation: UInt64
  package let hash: Digest32

  package init(generation: UInt64, hash: Digest32) { (self.generation, self.hash) = (generation, hash) }
}

/// The name of a file at a remote, which never changes: `h/GENERATION-HASH` of a head, `o/HASH` of a group.
package enum PieceName: Hashable, Sendable {
  case head(HeadName)
  case group(Digest32)

  /// Most bytes of the file.
  package var limit: Int {
    switch self {
    case .head: Head.largest
    case .group: Group.largest
    }
  }
}

extension HeadName: CustomStringConvertible {
  package var description: String { "\(generation)-\(hash)" }

  /// Nil for any other spelling than that of ``description``.
  package init?(_ text: some StringProtocol) {
    // The longest name, before a text of any length is looked at.
    guard text.utf8.count <= 19 + 1 + 64, let dash = text.firstIndex(of: "-"), let generation = UInt64(text[..<dash]),
      (1...FileCounter.most).contains(generation), let hash = Digest32(hex: text[text.index(after: dash)...])
    else { return nil }
    self.init(generation: generation, hash: hash)
    guard description == text else { return nil }
  }
}

extension PieceName: CustomStringConvertible {
  /// Its path below the remote's folder.
  package var description: String {
    switch self {
    case .head(let name): "h/\(name)"
    case .group(let hash): "o/\(hash)"
    }
  }

  /// Nil for any other spelling than that of ``description``.
  package init?(_ text: some StringProtocol) {
    if text.hasPrefix("h/"), let name = HeadName(text.dropFirst(2)) {
      self = .head(name)
    } else if text.hasPrefix("o/"), let hash = Digest32(hex: text.dropFirst(2)) {
      self = .group(hash)
    } else {
      return nil
    }
  }
}

extension Digest32 {
  /// Nil unless there are 64 lowercase digits.
  fileprivate init?(hex text: some StringProtocol) {
    guard text.utf8.count == 64, let bytes = Hex.bytes(String(text)), let digest = Digest32(bytes), digest.description == text
    else { return nil }
    self = digest
  }
}
