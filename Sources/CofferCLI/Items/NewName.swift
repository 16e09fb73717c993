internal import Coffer
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal

/// A name that the command line is about to store.
enum NewName {
  /// Refuses a name that looks like another, because a part of it is invisible or reverses the text.
  ///
  /// Only here, where a person chooses a name. The library permits more: a program may store such a name, and an existing
  /// item can be shown, renamed and deleted.
  static func check(_ text: String, as role: String) throws(Failure) {
    guard role != "service" || !(text + "/").hasPrefix(LoginItems.pointers + "/") else {
      throw .usage("the service '\(LoginItems.pointers)' is Coffer's own", try: "another name")
    }
    let shown = text.spelledOut()
    guard shown != text else { return }
    throw .usage(
      "the \(role) '\(shown)' has a character that is invisible or changes the direction of text, and would look like another",
      try: "the name without it")
  }

  static func check(_ name: ItemName) throws(Failure) {
    try check(name.service, as: "service")
    try check(name.account, as: "account")
    try check(name.field, as: "field")
  }
}
