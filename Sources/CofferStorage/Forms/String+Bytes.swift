internal import CofferPlatform

/// Names are bytes. `String` compares two spellings of `é` as equal, and comparing its views byte by byte takes five times as
/// long as this (sorting 10 000 names).
extension String {
  /// Negative, zero or positive as this text's UTF-8 comes before, equals or follows `other`'s.
  package func byteOrder(_ other: String) -> Int {
    utf8Span.span.withUnsafeBytes { left in
      other.utf8Span.span.withUnsafeBytes { right in
        let common = min(left.count, right.count)
        if common > 0, let a = left.baseAddress, let b = right.baseAddress {
          let order = memcmp(a, b, common)
          if order != 0 { return Int(order) }
        }
        return left.count - right.count
      }
    }
  }

  /// The text after `beginning`; nil if this text does not begin with it.
  ///
  /// If a combining mark follows and joins the last character of `beginning`, `hasPrefix(_:)` finds no match. A canonically
  /// equal spelling also matches, as for names of preferences.
  package func rest(after beginning: String) -> String? {
    if utf8.starts(with: beginning.utf8) { return String(utf8.dropFirst(beginning.utf8.count)) }
    return hasPrefix(beginning) ? String(dropFirst(beginning.count)) : nil
  }

  package func hasSameBytes(as other: String) -> Bool {
    utf8.count == other.utf8.count && (utf8.isEmpty || byteOrder(other) == 0)
  }
}

extension [String: String] {
  /// Whether all of `wanted` are among these, byte by byte. A dictionary finds a name in either spelling of `é`.
  package func holds(_ wanted: [String: String]) -> Bool {
    wanted.allSatisfy { name, value in
      guard let place = index(forKey: name) else { return false }
      return self[place].key.hasSameBytes(as: name) && self[place].value.hasSameBytes(as: value)
    }
  }
}
