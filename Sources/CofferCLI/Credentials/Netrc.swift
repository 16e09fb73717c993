internal import Coffer
internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import FoundationEssentials

/// A netrc for a command: a line for each host, in memory alone.
///
/// Source: curl's manual, "NETRC FILES". Programs differ in the quoting of words, so no word has blanks or quotes.
struct Netrc {
  /// The variable with its path for git's and curl's libraries, go, pip and cmake.
  static let variable = "NETRC"

  private let machines: [(host: String, credential: HostCredential)]

  /// - Parameter hosts: names of hosts or URLs, each perhaps with a user: `ada@example.com`.
  /// - Throws: `.notFound`, `.expired`; `.unsupported` for a value that no netrc can hold.
  init(_ hosts: [String], in items: VaultItems) throws {
    var machines: [(host: String, credential: HostCredential)] = []
    for word in hosts {
      guard let origin = Origin(word.contains("://") ? word : "https://" + word) else {
        throw Failure.usage("'\(Printable.line(word))' is no host", try: "--netrc example.com, --netrc ada@example.com or a URL")
      }
      guard !machines.contains(where: { $0.host == origin.machine }) else {
        throw Failure.usage("'\(Printable.line(origin.machine))' is given twice", try: "one user for each host")
      }
      let found = try HostCredential.get(origin.service, origin.user, in: items)
      let user = found.user
      guard Self.isWord(origin.machine), Self.isWord(user),
        found.secret.bytes.withUnsafeBytes({ $0.allSatisfy(Self.isPlain) && !$0.isEmpty })
      else {
        throw StoreError(
          .unsupported,
          "the host, the user or the token is empty or has a blank, a quote or a backslash, which programs read differently in "
            + "a netrc",
          key: found.name.description, cure: "coffer run --env or --file hands over any value")
      }
      machines.append((origin.machine, found))
    }
    self.machines = machines
  }

  var secrets: [SecretForm] { machines.map(\.credential.secret) }

  func text() throws -> SecretBytes {
    let parts = machines.map { ("machine \($0.host) login \($0.credential.user) password ", $0.credential.secret) }
    var text = try SecretBytes(zeros: parts.reduce(0) { $0 + $1.0.utf8.count + $1.1.bytes.count + 1 })
    text.withUnsafeMutableBytes { out in
      var at = 0
      func put(_ raw: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: out[at..<at + raw.count]).copyMemory(from: raw)
        at += raw.count
      }
      for (start, secret) in parts {
        start.utf8Span.span.bytes.withUnsafeBytes(put)
        secret.bytes.withUnsafeBytes(put)
        "\n".utf8Span.span.bytes.withUnsafeBytes(put)
      }
    }
    return text
  }

  private static func isWord(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy(isPlain) }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte != 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "'") && byte != UInt8(ascii: "\\")
  }
}
