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
  init(_ hosts: [String], in items: VaultItems) throws {
    var machines: [(host: String, credential: HostCredential)] = []
    for word in hosts {
      guard let origin = Origin(word.contains("://") ? word : "https://" + word) else {
        throw Failure.usage(
          "'\(Printable.line(word))' is not a host", try: "--netrc example.com, --netrc ada@example.com or a URL")
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
          "the host, user or token is empty or has a blank, quote or backslash, which programs read differently in a netrc",
          key: found.name.description, cure: "coffer run --env or --file hands over any value")
      }
      machines.append((origin.machine, found))
    }
    self.machines = machines
  }

  var secrets: [SecretForm] { machines.map(\.credential.secret) }

  func text() throws -> SecretBytes {
    let lines = machines.map { machine -> (text: String, secret: SecretForm?) in
      ("machine \(machine.host) login \(machine.credential.user) password ", machine.credential.secret)
    }
    return try SecretLines(lines: lines).bytes()
  }

  private static func isWord(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy(isPlain) }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte != 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "'") && byte != UInt8(ascii: "\\")
  }
}
