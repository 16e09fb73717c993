import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage

#if canImport(FuzzShared)
  import FuzzShared
#endif

@testable import CofferDefaults

/// The files of the plain store, which Foundation and editors write too, and command line words.
enum DefaultsParsers {
  static let all = [xml, binary, record, journal, arguments]

  static let xml = Parser(
    "plist-xml",
    words: [
      "<plist version=\"1.0\">", "</plist>", "<dict>", "</dict>", "<key>", "</key>", "<string>", "</string>", "<array>",
      "</array>",
      "<integer>", "</integer>", "<real>", "</real>", "<date>", "</date>", "<data>", "</data>", "<true/>", "<false/>", "<dict/>",
      "<![CDATA[", "]]>", "<!--", "-->", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "UTF-16", "ISO-8859-1", "<!DOCTYPE plist>",
      "&amp;", "&#x", "CF$UID", "2020-01-01T00:00:00Z", "0x", "nan", "+infinity",
    ], fixtures: ["PropertyLists"]
  ) { try list($0, .xml) }

  static let binary = Parser("plist-binary", words: ["bplist00"], fixtures: ["PropertyLists"]) { try list($0, .binary) }

  /// A read list, written again, reads the same in both encodings; an XML date has whole seconds.
  private static func list(_ input: [UInt8], _ encoding: PropertyList.Encoding) throws {
    let (values, found) = try PropertyList.decode(Data(input))
    guard found == encoding, values.allSatisfy({ $0.value.depth <= 64 }) else { return }
    let binary = try PropertyList.decode(PropertyList.encode(values, as: .binary))
    try promise(binary.values == values && binary.encoding == .binary, "a list is another one in binary")
    let xml = try PropertyList.decode(PropertyList.encode(values, as: .xml))
    guard values.allSatisfy({ $0.value.isExactInXML && StoredName.isInXML($0.key) }) else { return }
    try promise(xml.values == values && xml.encoding == .xml, "a list is another one in XML")
  }

  static let record = Parser("journal-record") { content in
    guard content.count >= Record.headerBytes - 8 else { return }
    var bytes = [UInt8](repeating: 0, count: 8) + content
    seal(&bytes, epoch: 7)
    let found = bytes.lent { Record.decode($0, epoch: 7, after: RecordLink()) }
    guard let found else { throw PropertyList.Failure(what: "it is no record") }
    try promise(found.end.count == bytes.count, "a record has another length")
    let count = found.record.count
    let writer = bytes.lent { Record.writer($0) }
    var again = [UInt8](repeating: 0, count: count)
    _ = again.withUnsafeMutableBytes { found.record.encode(into: $0, epoch: 7, after: RecordLink(), writer: writer) }
    let second = again.lent { Record.decode($0, epoch: 7, after: RecordLink()) }
    guard let second else { throw BrokenPromise("a record that was written again is none") }
    try promise(second.record.kind == found.record.kind && second.record.cause == found.record.cause, "a record is another one")
    try promise(second.record.said == found.record.said, "a record says something else")
  }

  /// A journal's first page, cut to its fields, then records. The first byte selects the numbers with valid checks.
  static let journal = Parser("journal") { input in
    let (first, content) = input.choice
    try JournalFile.shared.read(content, checked: first)
  }

  static let arguments = Parser("arguments", longest: 256, words: ["--", "-key", "=", "-1", "-.5"]) { input in
    let words = input.split(separator: 0, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    let overrides = LaunchArguments(words)
    for (name, text) in overrides.texts {
      try promise(overrides[name] == text, "an override is not found by its name")
      try promise(words.contains { $0.hasSuffix(text) } || text.isEmpty, "an override has a text of nobody's")
    }
    var rest = words
    let taken: [String]
    do throws(StoreError) { taken = try LaunchArguments.take(from: &rest) { _ in true } } catch {
      return try promise(rest == words, "arguments that are refused are taken")
    }
    try promise(taken.count + rest.count == words.count, "a word is gone")
    try promise(LaunchArguments(taken).texts == overrides.texts, "what was taken says something else")
  }

  /// Gives a record its length and a valid checksum.
  @discardableResult
  static func seal(_ record: inout [UInt8], epoch: UInt64, after before: UInt32 = 0) -> UInt32 {
    let sum = record.lent { Checksum.of(UnsafeRawBufferPointer(rebasing: $0[8...]), epoch: epoch, after: before) }
    record.withUnsafeMutableBytes {
      $0.storeBytes(of: UInt32($0.count).littleEndian, as: UInt32.self)
      $0.storeBytes(of: sum.littleEndian, toByteOffset: 4, as: UInt32.self)
    }
    return sum
  }
}

extension Record {
  fileprivate var said: [PlainForm] {
    func forms(_ changes: [Change]) -> [PlainForm] { changes.flatMap { [.string($0.name), $0.form ?? .argument("none")] } }
    return switch self {
    case .write(let changes, _): forms(changes)
    case .prepare(let batch): [.data(Data(batch.id.bytes)), .string(batch.place)] + forms(batch.changes)
    case .commit(let id), .drop(let id): [.data(Data(id.bytes))]
    }
  }
}

extension PlainForm {
  fileprivate var depth: Int {
    switch self {
    case .array(let items): 1 + (items.map(\.depth).max() ?? 0)
    case .dictionary(let items): 1 + (items.values.map(\.depth).max() ?? 0)
    default: 0
    }
  }

  /// Whether XML can represent it: dates with whole seconds, and text without control characters.
  fileprivate var isExactInXML: Bool {
    switch self {
    case .array(let items): items.allSatisfy(\.isExactInXML)
    case .dictionary(let items): items.allSatisfy { StoredName.isInXML($0.key) && $0.value.isExactInXML }
    case .string(let text), .argument(let text): StoredName.isInXML(text)
    case .date(let date):
      date.timeIntervalSinceReferenceDate.rounded() == date.timeIntervalSinceReferenceDate
        && abs(date.timeIntervalSinceReferenceDate) < 6e10
    default: true
    }
  }
}

private enum StoredName {
  static func isInXML(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 || $0 == 0x0A || $0 == 0x09 } }
}
