internal import CofferStorage
internal import FoundationEssentials

/// A value in the journal: a tag, then the content, preceded by its length if that varies.
enum FormCodec {
  private enum Tag: UInt8 {
    case removed, no, yes, integer, unsigned, real, string, date, data, array, dictionary
  }

  static func count(_ form: PlainForm) -> Int {
    switch form {
    case .bool: 1
    case .integer, .unsigned, .real, .date: 9
    case .string(let text), .argument(let text): 5 + text.utf8.count
    case .data(let data): 5 + data.count
    case .array(let items): items.reduce(5) { $0 + count($1) }
    case .dictionary(let items): items.reduce(5) { $0 + 4 + $1.key.utf8.count + count($1.value) }
    }
  }

  static func put(_ form: PlainForm?, _ output: inout ByteWriter) {
    switch form {
    case nil: output.put(Tag.removed.rawValue)
    case .bool(let value): output.put((value ? Tag.yes : Tag.no).rawValue)
    case .integer(let value): put(.integer, UInt64(bitPattern: value), &output)
    case .unsigned(let value): put(.unsigned, value, &output)
    case .real(let value): put(.real, value.bitPattern, &output)
    case .date(let value): put(.date, value.timeIntervalSinceReferenceDate.bitPattern, &output)
    case .string(let text), .argument(let text):
      output.put(Tag.string.rawValue)
      output.put(text)
    case .data(let data):
      output.put(Tag.data.rawValue)
      output.put(data.bytes)
    case .array(let items):
      output.put(Tag.array.rawValue)
      output.put(UInt32(items.count))
      for item in items { put(item, &output) }
    case .dictionary(let items):
      output.put(Tag.dictionary.rawValue)
      output.put(UInt32(items.count))
      for (key, item) in items {
        output.put(key)
        put(item, &output)
      }
    }
  }

  /// `.some(nil)` is a removal; nil means that there is no value.
  static func take(_ input: inout ByteReader, depth: Int = 0) -> PlainForm?? {
    guard depth <= Budget.depth + 1, let tag = input.byte().flatMap(Tag.init) else { return nil }
    switch tag {
    case .removed: return depth == 0 ? .some(nil) : nil
    case .no: return .bool(false)
    case .yes: return .bool(true)
    case .integer: return input.number(UInt64.self).map { .integer(Int64(bitPattern: $0)) }
    case .unsigned: return input.number(UInt64.self).map { .unsigned($0) }
    case .real: return input.number(UInt64.self).map { .real(Double(bitPattern: $0)) }
    case .date:
      // A date that is no number would make the whole list unreadable after a fold.
      guard let seconds = input.number(UInt64.self).map(Double.init(bitPattern:)), seconds.isFinite else { return nil }
      return .date(Date(timeIntervalSinceReferenceDate: seconds))
    case .string: return input.text().map { .string($0) }
    case .data: return input.bytes().map { .data(Data($0)) }
    case .array: return array(&input, depth + 1)
    case .dictionary: return dictionary(&input, depth + 1)
    }
  }

  private static func put(_ tag: Tag, _ bits: UInt64, _ output: inout ByteWriter) {
    output.put(tag.rawValue)
    output.put(bits)
  }

  private static func array(_ input: inout ByteReader, _ depth: Int) -> PlainForm?? {
    guard let count = input.number(UInt32.self) else { return nil }
    var items: [PlainForm] = []
    for _ in 0..<count {
      guard case .some(let item?) = take(&input, depth: depth) else { return nil }
      items.append(item)
    }
    return .array(items)
  }

  private static func dictionary(_ input: inout ByteReader, _ depth: Int) -> PlainForm?? {
    guard let count = input.number(UInt32.self) else { return nil }
    var items: [String: PlainForm] = [:]
    for _ in 0..<count {
      guard let key = input.text(), case .some(let item?) = take(&input, depth: depth) else { return nil }
      items[key] = item
    }
    return .dictionary(items)
  }
}
