/// Whether the answers fit some sequential order of operations, each at a moment between its call and its answer (Herlihy
/// and Wing 1990): the search of Wing and Gong, with Lowe's memory of tried positions (Testing for linearizability, 2017).
public struct Linearizability {
  /// Operations on names that no other operation combines with theirs, by call time.
  private let operations: [RecordedOperation]
  /// The number of answered operations, all of which must find a place.
  private let answered: Int

  /// The groups of names whose operations fit no order, each with one operation that no order reaches; empty if all fit.
  public static func failures(in history: [RecordedOperation]) -> [[String]] {
    groups(of: useful(history)).compactMap { group in
      Linearizability(group).isFound() ? nil : Set(group.flatMap(\.parts).map(\.name)).sorted()
    }
  }

  private init(_ operations: [RecordedOperation]) {
    self.operations = operations.sorted { $0.call < $1.call }
    answered = operations.count { $0.answer != nil }
  }

  /// Without pending operations that nobody can have noticed: they may not have happened.
  private static func useful(_ history: [RecordedOperation]) -> [RecordedOperation] {
    var seen: Set<String> = []
    for case .read(let name, let value) in history.filter({ $0.answer != nil }).flatMap(\.parts) {
      seen.insert("\(name)=\(value)")
    }
    return history.filter { operation in
      operation.answer != nil
        || operation.parts.contains { part in
          switch part {
          case .write(let name, let value): seen.contains("\(name)=\(value)")
          case .read: false
          case .add: true
          }
        }
    }
  }

  /// The operations grouped by their names: a history fits if each group does (Herlihy and Wing, theorem 1).
  private static func groups(of history: [RecordedOperation]) -> [[RecordedOperation]] {
    var parent: [String: String] = [:]
    func root(_ name: String) -> String {
      var name = name
      while let next = parent[name], next != name { name = next }
      return name
    }
    for operation in history {
      guard let first = operation.parts.first?.name else { continue }
      for part in operation.parts { parent[root(part.name)] = root(first) }
      if parent[root(first)] == nil { parent[root(first)] = root(first) }
    }
    return Dictionary(grouping: history.filter { !$0.parts.isEmpty }) { root($0.parts[0].name) }.values.map { Array($0) }
  }

  // MARK: The search

  private struct Position: Hashable {
    var placed: [UInt64]
    var values: [String: String] = [:]

    func has(_ number: Int) -> Bool { placed[number >> 6] >> UInt64(number & 63) & 1 == 1 }
    mutating func place(_ number: Int) { placed[number >> 6] |= 1 << UInt64(number & 63) }
  }

  private func isFound() -> Bool {
    var seen: Set<Position> = []
    // Each with the first unplaced operation, and the number of placed ones with an answer.
    let empty = Position(placed: Array(repeating: 0, count: operations.count / 64 + 1))
    var stack: [(position: Position, first: Int, count: Int)] = [(empty, 0, 0)]
    while let (position, first, count) = stack.popLast() {
      if count == answered { return true }
      // The last pushed is tried first: answered ones, the earliest call before all.
      for number in candidates(position, from: first) {
        guard var next = step(position, number) else { continue }
        next.place(number)
        guard seen.insert(next).inserted else { continue }
        var start = first
        while start < operations.count, next.has(start) { start += 1 }
        stack.append((next, start, operations[number].answer == nil ? count : count + 1))
      }
    }
    return false
  }

  /// The operations that may come next: those called before the first answer of an unplaced one.
  private func candidates(_ position: Position, from first: Int) -> [Int] {
    var found: [Int] = [], limit = UInt64.max
    for number in first..<operations.count {
      guard operations[number].call <= limit else { break }
      guard !position.has(number) else { continue }
      found.append(number)
      limit = min(limit, operations[number].answer ?? .max)
    }
    let possible = found.filter { operations[$0].call <= limit }
    return possible.filter { operations[$0].answer == nil } + possible.filter { operations[$0].answer != nil }.reversed()
  }

  /// The values after operation `number`; nil if its answer does not fit.
  private func step(_ position: Position, _ number: Int) -> Position? {
    var next = position
    let isPending = operations[number].answer == nil
    for part in operations[number].parts {
      switch part {
      case .write(let name, let value): next.values[name] = value
      case .read(let name, let value):
        guard isPending || position.values[name, default: ""] == value else { return nil }
      case .add(let name, let answer):
        let sum = (position.values[name].flatMap { Int($0) } ?? 0) + 1
        guard isPending || sum == answer else { return nil }
        next.values[name] = "\(sum)"
      }
    }
    return next
  }
}
