internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import FoundationEssentials

/// Compares the keys that a program declares with the stored ones; no value is shown.
struct SchemaReport {
  let schema: String
  let plain: Bool
  let router: RouterOptions

  func claimInput(_ context: Context) throws { if schema == "-" { try context.input.claim(for: "the schema") } }

  func perform(_ context: Context) throws {
    let comparison = try SchemaComparison(SchemaFile.read(schema), ShellRouter(router, context), withVault: !plain)
    try answer(comparison, context)
    guard comparison.findings.isEmpty else { throw Failure.said(.failed) }
  }

  private func answer(_ comparison: SchemaComparison, _ context: Context) throws {
    if context.json { return try Output.json(comparison.rows) }
    let total = ["\(counted(comparison.declared, "key")) declared", comparison.counts].filter { !$0.isEmpty }.joined(
      separator: ", ")
    try Table.show(
      Self.table(comparison.rows, total),
      elsewhere: comparison.rows.map { [$0.state.rawValue, $0.key, $0.store ?? "-", $0.declared ?? "-"] })
    if !Output.isTerminal { context.note(total) }
  }

  private static func table(_ rows: [SchemaComparison.Row], _ total: String) -> Table {
    Table(
      columns: [.fixed("STATE"), .text("KEY"), .fixed("STORE"), .text("TYPE", rank: 1), .text("DECLARED", rank: 2)],
      rows: rows.map { row in
        [
          Table.Cell(row.state.words, row.state == .clear ? .red : row.state.isFinding ? .yellow : nil), Table.Cell(row.key),
          Table.Cell(row.store ?? ""), Table.Cell(row.type ?? ""), Table.Cell(row.declared ?? "", .dim),
        ]
      }, footer: total)
  }
}

enum SchemaFile {
  /// Bytes, at most: a key has some two hundred, and no program declares ten thousand.
  private static let largest = 4 << 20

  /// - Throws: `.damaged` for an invalid schema, `.newerFormat` for another version.
  static func read(_ path: String) throws -> Schema {
    let place = path == "-" ? "standard input" : path
    let content = try PlainFile.read(path, limit: largest)
    do {
      let version = try JSONDecoder().decode(Version.self, from: content).version
      guard version <= Schema.version else {
        throw StoreError(
          .newerFormat(found: version, supported: Schema.version), "the schema is of version \(version)", place: place,
          cure: "a newer coffer")
      }
      return try JSONDecoder().decode(Schema.self, from: content)
    } catch let error as StoreError { throw error } catch {
      throw StoreError(
        .damaged, "this is not a schema: \(reason(error))", place: place,
        cure: "have the program write StorageRouter.schema again")
    }
  }

  /// The decoder's reason, without the words of Swift.
  private static func reason(_ error: any Error) -> String {
    func name(_ path: [any CodingKey]) -> String {
      let text = path.reduce("") { text, key in
        key.intValue.map { "\(text)[\($0)]" } ?? (text.isEmpty ? "" : text + ".") + key.stringValue
      }
      return text.isEmpty ? "it" : "'\(text)'"
    }
    return switch error as? DecodingError {
    case .keyNotFound(let key, let context): "\(name(context.codingPath + [key])) is missing"
    case .typeMismatch(_, let context), .valueNotFound(_, let context): "\(name(context.codingPath)) is of another type"
    case .dataCorrupted(let context) where !context.codingPath.isEmpty: "\(name(context.codingPath)) has an invalid value"
    default: "it is not JSON"
    }
  }

  private struct Version: Decodable { let version: Int }
}
