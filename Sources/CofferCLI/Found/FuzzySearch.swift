internal import Coffer
internal import CofferVault

/// Finds items by the letters of words in their order, with others between them: `ghb` finds `github.com`. A lowercase word
/// matches any case; a word with a capital only the same case.
struct FuzzySearch {
  private let words: [[Character]]

  init(_ words: [String]) { self.words = words.map(Array.init) }

  /// The items that match every word, the best first. Equal ones stay ordered by name.
  func best(of items: ItemDescriptions) throws -> [VaultItem] {
    var found: [(item: VaultItem, cost: Int)] = []
    for position in 0..<items.count {
      let item = try items[position]
      if let cost = cost(of: item) { found.append((item, cost)) }
    }
    // A sort that keeps the order of equals.
    return found.enumerated().sorted { ($0.element.cost, $0.offset) < ($1.element.cost, $1.offset) }.map(\.element.item)
  }

  private func cost(of item: VaultItem) -> Int? {
    let texts = [item.name.description, item.metadata.label].map(Array.init)
    var sum = 0
    for word in words {
      guard let least = texts.compactMap({ Self.cost(of: word, in: $0) }).min() else { return nil }
      sum += least
    }
    return sum
  }

  /// The letters between those of `word`, plus one for each gap and for a start inside a part of the name; nil without a
  /// match.
  static func cost(of word: [Character], in text: [Character]) -> Int? {
    guard let first = word.first else { return 0 }
    let isExact = word.contains(where: \.isUppercase)
    func isSame(_ wanted: Character, _ found: Character) -> Bool {
      wanted == found || (!isExact && wanted.lowercased() == found.lowercased())
    }
    var best: Int?
    for start in text.indices where isSame(first, text[start]) {
      var (cost, at) = (start == 0 || !text[start - 1].isLetter ? 0 : 1, start)
      var isWhole = true
      for wanted in word.dropFirst() {
        guard let next = text[(at + 1)...].firstIndex(where: { isSame(wanted, $0) }) else {
          isWhole = false
          break
        }
        let gap = next - at - 1
        cost += gap == 0 ? 0 : gap + 1
        at = next
      }
      // Later starts leave fewer letters: if the rest is not found now, it never is.
      guard isWhole else { break }
      best = min(best ?? .max, cost)
    }
    return best
  }
}
