internal import CofferVault

/// Finds items by the letters of words in their order, with others between them: `ghb` finds `github.com`. A lowercase word
/// matches any case; a word with a capital only the same case.
struct FuzzySearch {
  struct Text {
    fileprivate let exact: [Character], folded: [Character]

    init(_ text: some StringProtocol) {
      exact = Array(text)
      let lowercase = Array(text.lowercased())
      folded = lowercase == exact ? exact : lowercase
    }
  }

  private let words: [(letters: [Character], isExact: Bool)]

  init(_ words: [String]) {
    self.words = words.map { word in
      let isExact = word.contains(where: \.isUppercase)
      return (Array(isExact ? word : word.lowercased()), isExact)
    }
  }

  static func texts(of item: VaultItem, most: Int = .max) -> [Text] {
    [item.name.description, item.metadata.label].map { Text($0.prefix(most)) }
  }

  /// Indices below `count` whose `texts` match every word, the best first. Equal ones stay in their order.
  func best(of count: Int, _ texts: (Int) throws -> [Text]) rethrows -> [Int] {
    guard !words.isEmpty else { return Array(0..<count) }
    let found = try (0..<count).compactMap { index in try cost(in: texts(index)).map { (index: index, cost: $0) } }
    return found.sorted { ($0.cost, $0.index) < ($1.cost, $1.index) }.map(\.index)
  }

  private func cost(in texts: [Text]) -> Int? {
    var sum = 0
    for word in words {
      let costs = texts.compactMap { Self.cost(of: word.letters, in: word.isExact ? $0.exact : $0.folded) }
      guard let least = costs.min() else { return nil }
      sum += least
    }
    return sum
  }

  /// The letters between those of `word`, plus one for each gap and for a start inside a part of the name; nil without a
  /// match.
  static func cost(of word: [Character], in text: [Character]) -> Int? {
    guard let first = word.first else { return 0 }
    var best: Int?
    for start in text.indices where text[start] == first {
      var (cost, at) = (start == 0 || !text[start - 1].isLetter ? 0 : 1, start)
      for wanted in word.dropFirst() {
        // Later starts leave fewer letters: if the rest is not found now, it never is.
        guard let next = text[(at + 1)...].firstIndex(of: wanted) else { return best }
        let gap = next - at - 1
        cost += gap == 0 ? 0 : gap + 1
        at = next
        // A hostile text has many starts, each with a match at its end.
        if let best, cost >= best { break }
      }
      best = min(best ?? .max, cost)
      if best == 0 { break }
    }
    return best
  }
}

extension VaultItem {
  /// Whether `text` is in its name, its label or an attribute, ignoring case.
  func has(_ text: String) -> Bool {
    let texts = [name.description, metadata.label] + metadata.attributes.flatMap { [$0.key, $0.value] }
    return texts.contains { $0.lowercased().contains(text.lowercased()) }
  }
}
