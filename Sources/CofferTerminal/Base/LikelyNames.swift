/// Services and accounts that a mistyped name probably meant.
package enum LikelyNames {
  private static let most = 3

  /// They differ from `name` in case, by a URL's scheme or path, or by a letter or two; nearest first.
  package static func near(_ name: String, among all: [String]) -> [String] {
    let wanted = name.lowercased()
    let host = host(of: wanted)
    let letters = Array(wanted)
    return all.compactMap { candidate -> (String, Int)? in
      let found = candidate.lowercased()
      if found == wanted { return (candidate, 0) }
      if Self.host(of: found) == host { return (candidate, 1) }
      // The distance of long texts costs too much time, and that of very short ones means nothing.
      guard letters.count > 2, letters.count <= 64, abs(found.utf8.count - wanted.utf8.count) <= 8 else { return nil }
      let distance = Spelling.distance(letters, Array(found))
      return distance <= (letters.count < 6 ? 1 : 2) ? (candidate, 1 + distance) : nil
    }.sorted { ($0.1, $0.0) < ($1.1, $1.0) }.prefix(most).map(\.0)
  }

  private static func host(of text: String) -> Substring {
    var rest = text[...]
    if let scheme = rest.firstRange(of: "://") { rest = rest[scheme.upperBound...] }
    return rest.prefix { $0 != "/" }
  }

  package static let asked = "did you mean "

  /// `did you mean github.com, gitlab.com?`, for an error's cure; nil if nothing is near.
  package static func question(_ names: [String]) -> String? {
    names.isEmpty ? nil : "\(asked)\(names.map(Printable.line).joined(separator: ", "))?"
  }
}

package enum Spelling {
  /// Optimal string alignment: letters inserted, deleted, replaced or swapped with the next.
  package static func distance(_ a: [Character], _ b: [Character]) -> Int {
    var rows = [[Int]](repeating: [Int](repeating: 0, count: b.count + 1), count: a.count + 1)
    for i in 0...a.count { rows[i][0] = i }
    for j in 0...b.count { rows[0][j] = j }
    for i in a.indices {
      for j in b.indices {
        let replaced = rows[i][j] + (a[i] == b[j] ? 0 : 1)
        rows[i + 1][j + 1] = min(replaced, rows[i][j + 1] + 1, rows[i + 1][j] + 1)
        guard i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] else { continue }
        rows[i + 1][j + 1] = min(rows[i + 1][j + 1], rows[i - 1][j - 1] + 1)
      }
    }
    return rows[a.count][b.count]
  }
}
