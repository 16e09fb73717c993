extension String {
  /// Begins with a capital, unless with the command.
  package var asSentence: String { hasPrefix("coffer ") ? self : prefix(1).uppercased() + dropFirst() }

  /// Nil for a text without a name.
  package var nameAndValue: (name: String, value: String)? {
    // A combining mark would join with the sign to one character.
    guard let equals = unicodeScalars.firstIndex(of: "="), equals != unicodeScalars.startIndex else { return nil }
    return (String(unicodeScalars[..<equals]), String(unicodeScalars[unicodeScalars.index(after: equals)...]))
  }
}
