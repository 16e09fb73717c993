internal import Coffer
internal import CofferPlatform
internal import CofferStorage

/// The keys in `~/.aws/credentials`: one item a profile, whose value is the secret key.
///
/// The service is `aws`, the account the profile; the key's id, which is no secret, is the attribute `aws_access_key_id`, and all else
/// in a profile becomes a field. Source: docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html.
enum AWSCredentials {
  static func read(_ file: borrowing SecretBytes, place: String) throws -> ImportedEntries {
    var found = ImportedEntries()
    try file.withUnsafeBytes { raw in
      var entry: ImportedEntry?
      for (number, text) in TextLines(raw) {
        let line = text.trimmed
        guard let first = line.first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";") else { continue }
        if first == UInt8(ascii: "[") {
          guard let end = line.lastIndex(of: UInt8(ascii: "]")) else {
            throw damaged("a profile's name has no end", number, place)
          }
          if let entry { found.add(entry) }
          entry = profile(line[(line.startIndex + 1)..<end].trimmed.word)
        } else {
          guard let (name, value) = line.parted(at: "=") else { throw damaged("'=' is missing", number, place) }
          guard entry != nil else { throw damaged("a value before the first profile", number, place) }
          if try take(name.trimmed.word.lowercased(), value.trimmed, in: &entry) { entry?.cuts.append(text.lineCut) }
        }
      }
      if let entry { found.add(entry) }
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

  /// Whether the line belongs to the key, and not to the profile's settings.
  private static func take(_ name: String, _ value: TextLines.Line, in entry: inout ImportedEntry?) throws -> Bool {
    switch name {
    case "aws_secret_access_key":
      // Of two, the second would take the place of the first, and one of them would be nowhere.
      guard entry?.value == nil else {
        throw StoreError(.damaged, "a profile has two secret keys", cure: "remove one; nothing was imported")
      }
      entry?.value = try SecretForm.copy(value)
    // None of these opens anything by itself.
    case "aws_access_key_id": entry?.say(value.word, as: name)
    case "region", "output", "role_arn", "source_profile":
      entry?.say(value.word, as: name)
      return false
    default: entry?.add(try SecretForm.copy(value), as: name)
    }
    return true
  }

  private static func damaged(_ what: String, _ line: Int, _ place: String) -> StoreError {
    StoreError(.damaged, "line \(line): \(what)", place: place, cure: "correct it; nothing was imported")
  }
}
