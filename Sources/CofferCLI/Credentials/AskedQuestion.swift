internal import CofferTerminal

/// A question of ssh or git, the program's only word.
///
/// The whole question is compared, and only names are taken from it. One from another machine follows `(USER@HOST)`, so that
/// it matches none of ssh's own. Sources: OpenSSH's `sshconnect2.c` and `ssh-add.c`; git's `credential.c`.
enum AskedQuestion: Equatable {
  case passphrase(ofKey: String)
  case password(user: String, host: String)
  case username(url: String)
  case urlPassword(url: String)
  /// The previous answer was wrong.
  case again

  init?(_ text: String) {
    let question = text.trimmedEnd
    // No name has a second line.
    guard !question.contains(where: \.isNewline) else { return nil }
    if question.hasPrefix("Bad passphrase, try again for ") {
      self = .again
    } else if let key = Self.inside(question, "Enter passphrase for key '", "':") {
      self = .passphrase(ofKey: key)
    } else if let key = Self.inside(question, "Enter passphrase for ", " (will confirm each use):")
      ?? Self.inside(question, "Enter passphrase for ", ":")
    {
      self = .passphrase(ofKey: key)
    } else if let url = Self.inside(question, "Username for '", "':"), Self.isClear(url) {
      self = .username(url: url)
    } else if let url = Self.inside(question, "Password for '", "':"), Self.isClear(url) {
      self = .urlPassword(url: url)
    } else if let place = Self.inside(question, "", "'s password:") ?? Self.inside(question, "(", ") Password:"),
      let at = place.lastIndex(of: "@"), !place[..<at].isEmpty, !place[at...].dropFirst().isEmpty
    {
      self = .password(user: String(place[..<at]), host: String(place[at...].dropFirst()))
    } else {
      return nil
    }
  }

  var isOfSSH: Bool {
    switch self {
    case .passphrase, .password, .again: true
    case .username, .urlPassword: false
    }
  }

  /// Whether the host of git's URL is unambiguous. A certificate's has none.
  private static func isClear(_ url: String) -> Bool { url.hasPrefix("cert:///") || Origin(url) != nil }

  private static func inside(_ text: String, _ start: String, _ end: String) -> String? {
    guard text.hasPrefix(start), text.hasSuffix(end), text.count > start.count + end.count else { return nil }
    return String(text.dropFirst(start.count).dropLast(end.count))
  }
}
