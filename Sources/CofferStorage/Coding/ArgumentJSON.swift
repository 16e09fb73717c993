internal import FoundationEssentials

/// Reads the text of an override as JSON if the reading key wants fields or elements.
enum ArgumentJSON {
  /// Strings stay ``PlainForm/argument(_:)``, so that a nested date or data reads as at the top.
  static func form(of text: String) throws -> PlainForm {
    guard let form = try JSONDecoder().decode(Node.self, from: Data(text.utf8)).form else {
      throw DecodingError.valueNotFound(PlainForm.self, DecodingError.Context(codingPath: [], debugDescription: "null"))
    }
    return form
  }

  private struct Node: Decodable {
    let form: PlainForm?

    init(from decoder: any Decoder) throws {
      guard decoder.codingPath.count <= FormEncoder.deepest else {
        throw DecodingError.dataCorrupted(
          DecodingError.Context(codingPath: [], debugDescription: "nests deeper than \(FormEncoder.deepest) levels"))
      }
      let container = try decoder.singleValueContainer()
      form = container.decodeNil() ? nil : try Self.form(container)
    }

    private static func form(_ container: any SingleValueDecodingContainer) throws -> PlainForm {
      if let value = attempt({ try container.decode(Bool.self) }) { return .bool(value) }
      if let value = attempt({ try container.decode(Int64.self) }) { return .integer(value) }
      if let value = attempt({ try container.decode(UInt64.self) }) { return .unsigned(value) }
      if let value = attempt({ try container.decode(Double.self) }) { return .real(value) }
      if let value = attempt({ try container.decode(String.self) }) { return .argument(value) }
      if let nodes = attempt({ try container.decode([Node].self) }) {
        return .array(try nodes.map { try $0.form ?? refuseNull(container) })
      }
      return .dictionary(try container.decode([String: Node].self).compactMapValues(\.form))
    }

    // A failed attempt only means that the JSON holds something else.
    private static func attempt<Value>(_ read: () throws -> Value) -> Value? {
      do { return try read() } catch { return nil }
    }

    private static func refuseNull(_ container: any SingleValueDecodingContainer) throws -> PlainForm {
      throw DecodingError.valueNotFound(
        PlainForm.self,
        DecodingError.Context(codingPath: container.codingPath, debugDescription: "null in an array"))
    }
  }
}
