internal import Coffer
internal import FoundationEssentials

/// JSON as a property-list value. JSON's null has no place in a property list.
enum JSONForm {
  static func parse(_ text: String) -> PlainForm? {
    do { return try JSONDecoder().decode(Node.self, from: Data(text.utf8)).form } catch { return nil }
  }

  private struct Node: Decodable {
    let form: PlainForm
    init(from decoder: any Decoder) throws {
      let single = try decoder.singleValueContainer()
      func attempt<Value: Decodable>(_: Value.Type) -> Value? { do { return try single.decode(Value.self) } catch { return nil } }
      if let value = attempt(Bool.self) {
        form = .bool(value)
      } else if let value = attempt(Int64.self) {
        form = .integer(value)
      } else if let value = attempt(UInt64.self) {
        form = .unsigned(value)
      } else if let value = attempt(Double.self) {
        form = .real(value)
      } else if let value = attempt(String.self) {
        form = .string(value)
      } else if let value = attempt([Node].self) {
        form = .array(value.map(\.form))
      } else {
        form = .dictionary(try single.decode([String: Node].self).mapValues(\.form))
      }
    }
  }
}
