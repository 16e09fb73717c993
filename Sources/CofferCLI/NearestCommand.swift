internal import ArgumentParser

extension ParsableCommand {
  /// The command that a mistyped word was most likely meant to be; nil when none is near.
  ///
  /// Near is one letter more, less or other, or two neighbours swapped, and twice that from six letters on: a shorter word at
  /// such a distance is another word.
  static func nearest(to word: String) -> String? {
    // The longest name has fewer letters; the distance of a long text is not worth its time.
    guard word.utf8.count <= 32 else { return nil }
    return configuration.subcommands.map { ($0.configuration.commandName ?? "", letters(between: $0, and: word)) }
      .filter { $0.1 <= (word.count < 6 ? 1 : 2) }
      .min { $0.1 < $1.1 }?.0
  }

  private static func letters(between command: any ParsableCommand.Type, and word: String) -> Int {
    let names = [command.configuration.commandName ?? ""] + command.configuration.aliases
    return names.map { distance(Array($0), Array(word)) }.min() ?? .max
  }

  /// Optimal string alignment: letters added, left out, replaced or swapped with the next.
  private static func distance(_ a: [Character], _ b: [Character]) -> Int {
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
