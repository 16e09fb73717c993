internal import CofferPlatform
internal import CofferTerminal

/// What ssh or git asks a program for, which gets the question as its only word.
///
/// The whole question is compared, and no more is taken from it than a name: one that another machine sends stands behind
/// `(USER@HOST)`, so that it passes for none of ssh's own. Sources: OpenSSH's `sshconnect2.c` and `ssh-add.c`; git's
/// `credential.c`.
enum AskedQuestion: Equatable {
  /// The passphrase of a private key's file.
  case passphrase(ofKey: String)
  /// A user's password at a machine.
  case password(user: String, host: String)
  case username(url: String)
  case urlPassword(url: String)
  /// The one before it was wrong.
  case again

  init?(_ text: String) {
    let question = text.trimmedEnd
    // A second line would be no name's.
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

  /// Whether ssh asks it, and not git.
  var isOfSSH: Bool {
    switch self {
    case .passphrase, .password, .again: true
    case .username, .urlPassword: false
    }
  }

  /// Whether a URL of git's leaves no doubt of its host. A certificate's has none.
  private static func isClear(_ url: String) -> Bool { url.hasPrefix("cert:///") || Origin(url) != nil }

  private static func inside(_ text: String, _ start: String, _ end: String) -> String? {
    guard text.hasPrefix(start), text.hasSuffix(end), text.count > start.count + end.count else { return nil }
    return String(text.dropFirst(start.count).dropLast(end.count))
  }
}
