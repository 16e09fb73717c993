internal import CofferTerminal
internal import CofferVault

/// Lets a person pick an item: from a list that narrows as one types, or by number at a terminal that cannot draw one.
struct ItemPicker {
  /// The keys for an item's one-time code and its user name.
  static let code: Character = "o", user: Character = "u"
  private static let mostNumbered = 20

  let items: [VaultItem]
  var text: (VaultItem) -> String = { item in
    item.metadata.label.isEmpty ? item.name.description : "\(item.name.description)  \(item.metadata.label)"
  }
  /// The items with a one-time code, if codes and user names may be picked too.
  var codes: Set<ItemName>?

  /// - Returns: the item and the key that chose it, if not Enter; nil if there are too many for this terminal.
  /// - Throws: ``Failure/interrupted`` for control-C and, without a message, for Esc; the failures of ``Terminal/line(_:)``.
  func choose(_ verb: String, at terminal: borrowing Terminal) throws -> (item: VaultItem, key: Character?)? {
    guard Terminal.hasScreen else {
      guard items.count <= Self.mostNumbered else { return nil }
      return (items[try number(at: terminal)], nil)
    }
    guard case .chosen(let row, let key) = try terminal.answer(list(verb)) else { throw Failure.said(.interrupted) }
    return (items[row], key)
  }

  private func list(_ verb: String) -> Picker {
    // A text beyond that is on no screen, and an import may hold thousands of such items: each key searches all of them.
    let texts = items.map { FuzzySearch.texts(of: $0, most: 200) }
    let actions = codes.map { codes in
      [
        Picker.Action(Self.code, "code") { codes.contains(items[$0].name) ? nil : "this item has no one-time code" },
        Picker.Action(Self.user, "user name") { items[$0].userName.isEmpty ? "this item has no user name" : nil },
      ]
    }
    return Picker("Which item?", verb: verb, actions: actions ?? []) { row in
      (items[row].name.description, items[row].metadata.label)
    } find: { typed in
      FuzzySearch(typed.split(separator: " ").map(String.init)).best(of: texts.count) { texts[$0] }
    }
  }

  /// The index of the item: `2 items match:`, a line for each, and a question.
  private func number(at terminal: borrowing Terminal) throws -> Int {
    let choices = items.map(text)
    let lines = choices.enumerated().map { "  \($0.offset + 1)) \(Printable.line($0.element))\n" }.joined()
    let matching = choices.count == 1 ? "item matches" : "items match"
    var question = "\(choices.count) \(matching):\n\(lines)Which one (1 to \(choices.count))? "
    for _ in 0..<Question.tries {
      let answer = try terminal.line(question)
      if let number = Int(answer), choices.indices.contains(number - 1) { return number - 1 }
      if let found = choices.firstIndex(of: answer) { return found }
      question = "Enter a number from 1 to \(choices.count): "
    }
    throw Failure.usage("no item was chosen", try: "the command again, with the account")
  }
}
