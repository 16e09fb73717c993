internal import Coffer
internal import CofferTerminal

/// The text of a tour: numbered steps, indented lines, checked claims.
struct Story {
  private var number = 0

  mutating func step(_ title: String) throws {
    number += 1
    try Output.sentence("\n" + Style.bold.text("\(number). \(title)", .output))
  }

  func say(_ text: String) throws { try Output.sentence(number == 0 ? text : "   " + text) }

  func code(_ text: String) throws {
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      try Output.sentence("       " + Printable.line(String(line)))
    }
  }

  func command(_ words: [String]) throws { try Output.line("   $ coffer " + words.joined(separator: " ")) }

  /// Prints a claim, or stops the tour because it does not hold.
  func claim(_ holds: Bool, _ text: String) throws {
    guard holds else { throw Failure.claim("step \(number) of the tour does not hold: \(text)") }
    try Output.sentence("   ok: " + text)
  }

  func end(_ text: String) throws { try Output.sentence("\n" + text) }
}

/// The keys of the tour: each declared once, with the place of its value.
struct TourKeys: KeySpace {
  let notifications = StorageKey("notifications", default: true)
  let account = StorageKey("account", of: String.self).endsWithSession()
  let token = StorageKey("token", secret: String.self).endsWithSession()

  static let source = """
    struct AppKeys: KeySpace {
      let notifications = StorageKey("notifications", default: true)
      let account = StorageKey("account", of: String.self).endsWithSession()
      let token = StorageKey("token", secret: String.self).endsWithSession()
    }
    """
}
