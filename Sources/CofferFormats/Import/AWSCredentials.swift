package import Coffer
internal import CofferStorage
internal import CofferTerminal

/// The keys in `~/.aws/credentials`: one item a profile, whose value is the secret key.
///
/// The service is `aws`, the account the profile. The key's id, which is no secret, is the attribute `aws_access_key_id`, and
/// the session token a field. The rest are settings that aws reads there. Source:
/// docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html; for `aws_security_token`, `botocore/credentials.py` of
/// github.com/boto/botocore.
package enum AWSCredentials {
  private static let secretKey = "aws_secret_access_key"

  package static func read(_ file: borrowing SecretBytes, place: String) throws -> ImportedEntries {
    var found = ImportedEntries()
    try file.withUnsafeBytes { raw in
      var entry: ImportedEntry?
      for (number, text) in TextLines(raw) {
        let line = text.trimmed
        guard let first = line.first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";") else { continue }
        if first == UInt8(ascii: "[") {
          guard let end = line.lastIndex(of: UInt8(ascii: "]")) else {
            throw StoreError.damaged(number, "a profile's name has no end", place)
          }
          finish(entry, in: &found)
          entry = profile(line[(line.startIndex + 1)..<end].trimmed.word)
        } else {
          guard let (name, value) = line.parted(at: "=") else { throw StoreError.damaged(number, "'=' is missing", place) }
          guard entry != nil else { throw StoreError.damaged(number, "a value precedes the first profile", place) }
          let word = name.trimmed.word.lowercased()
          // A second one would replace the first, which would be lost.
          guard word != secretKey || entry?.value == nil else {
            throw StoreError.damaged(number, "the profile has a second '\(word)'", place)
          }
          if try take(word, value.trimmed, in: &entry) { entry?.cuts.append(text.lineCut) }
        }
      }
      finish(entry, in: &found)
    }
    return found
  }

  private static func profile(_ name: String) -> ImportedEntry {
    var entry = ImportedEntry()
    entry.service = "aws"
    entry.user = name
    entry.title = "AWS key of \(name)"
    return entry
  }

  private static func finish(_ entry: ImportedEntry?, in found: inout ImportedEntries) {
    guard let entry else { return }
    if entry.value != nil { return found.add(entry) }
    found.leaveOut(entry.label, entry.hasSecret ? "a session token without a secret key" : LeftOut.empty)
  }

  /// Whether the line belongs to the key, not to the profile's settings.
  private static func take(_ name: String, _ value: TextLines.Line, in entry: inout ImportedEntry?) throws -> Bool {
    switch name {
    case secretKey: entry?.value = try SecretForm.copy(value)
    // The id alone opens nothing.
    case "aws_access_key_id": entry?.say(value.word, as: name)
    case "aws_session_token", "aws_security_token": entry?.add(try SecretForm.copy(value), as: name)
    default: return false
    }
    return true
  }
}
