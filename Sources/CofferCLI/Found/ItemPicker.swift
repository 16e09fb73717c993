internal import Coffer
internal import CofferTerminal
internal import CofferVault

/// An item that a person picked, and its use.
struct PickedItem {
  enum Action {
    /// The command's own.
    case verb
    /// Its one-time code, or its user name, on the clipboard.
    case code, user
  }

  let item: VaultItem
  let action: Action
}

/// Lets a person pick an item: from a list that narrows as one types, or by number at a terminal that cannot draw one.
struct ItemPicker {
  /// The lines that fit on a screen together.
  private static let mostNumbered = 20

  let items: [VaultItem]
  /// The text of an item in the numbered list.
  var text: (VaultItem) -> String = { $0.name.description }
  /// The items with a one-time code, if codes and user names may be picked too.
  var codes: Set<ItemName>?

  /// - Parameter verb: the effect of Enter.
  /// - Returns: nil if there are too many items for this terminal.
  /// - Throws: ``Failure/interrupted`` for control-C and, without a message, for Esc; the failures of ``Terminal/line(_:)``.
  func choose(_ verb: String, at terminal: borrowing Terminal) throws -> PickedItem? {
    guard Terminal.hasScreen else {
      guard items.count <= Self.mostNumbered else { return nil }
      return PickedItem(item: items[try number(at: terminal)], action: .verb)
    }
    guard case .chosen(let row, let key) = try terminal.answer(list(verb)) else { throw Failure.said(.interrupted) }
    return PickedItem(item: items[row], action: key == "o" ? .code : key == "u" ? .user : .verb)
  }

  private func list(_ verb: String) -> Picker {
    // A text beyond that is on no screen, and an import may hold thousands of such items: each key searches all of them.
    let texts = items.map { FuzzySearch.texts(of: $0, most: 200) }
    let actions = codes.map { codes in
      [
        Picker.Action("o", "code") { codes.contains(items[$0].name) ? nil : "this item has no one-time code" },
        Picker.Action("u", "user name") { items[$0].name.account.isEmpty ? "this item has no user name" : nil },
      ]
    }
    return Picker("Which item?", verb: verb, actions: actions ?? []) { row in
      (items[row].name.description, items[row].metadata.label)
    } find: { typed in
      FuzzySearch(typed.split(separator: " ").map(String.init)).best(of: texts)
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
      question = "A number from 1 to \(choices.count), please: "
    }
    throw Failure.usage("none of them was chosen", try: "the command again, with the account")
  }
}
