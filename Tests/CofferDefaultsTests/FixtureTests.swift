import CofferStorage
import Foundation
import Testing

@testable import CofferDefaults

@Suite
struct FixtureTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Fixtures/PropertyLists").standardizedFileURL

  @Test(arguments: [("foundation-all-kinds", PropertyList.Encoding.xml), ("foundation-all-kinds-binary", .binary)])
  func `lists by Foundation are read`(_ name: String, _ encoding: PropertyList.Encoding) throws {
    let list = try PropertyList.decode(Data(contentsOf: Self.folder.appending(path: name + ".plist")))
    #expect(list.encoding == encoding)
    #expect(list.values == InteropTests.values)
    #expect(try PropertyList.decode(PropertyList.encode(list.values, as: encoding)).values == list.values)
  }

  @Test func `XML is written byte for byte as by Foundation`() throws {
    var values = InteropTests.values
    for count in [0, 1, 2, 3, 40, 50, 51, 52, 57, 58, 100, 1000] {
      values["data.\(count)"] = .data(Data(repeating: 7, count: count))
    }
    for number in [
      0, 1, -1, 0.1, 1e22, 1e-7, 123_456_789.125, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .nan, .infinity, -.infinity,
    ] {
      values["real.\(number)"] = .real(number)
    }
    for second in [0, -1, 68_169_600, 1e9, -1e10, -6.2e10, 2.5e11] + (0..<400).map({ Double($0) * 86_400 * 17.31 }) {
      values["date.\(second)"] = .date(Date(timeIntervalSinceReferenceDate: second.rounded()))
    }
    values["past"] = .date(.distantPast)
    values["future"] = .date(.distantFuture)
    values["empty"] = .array([.array([]), .dictionary([:]), .string(""), .data(Data())])
    var nested = PlainForm.data(Data(repeating: 1, count: 200))
    for _ in 0..<12 {
      nested = .array([nested, .dictionary(["<&>": nested.kindName == "array" ? .bool(false) : nested])])
      values["nested.\(values.count)"] = nested
    }
    let list = try PropertyListSerialization.propertyList(from: XMLPropertyList.encode(values), options: [], format: nil)
    let theirs = try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
    // Except carriage returns, which Foundation writes bare.
    #expect(XMLPropertyList.encode(values) == Data(theirs.flatMap { $0 == 13 ? Array("&#13;".utf8) : [$0] }))
    #expect(try PropertyList.decode(theirs).values == values)
  }

  @Test func `the article on the plain store has every field of the header, and the limits, as they are`() throws {
    let article = try String(
      contentsOf: Self.folder.appending(path: "../../Sources/Coffer/Coffer.docc/PlainStore.md"), encoding: .utf8)
    let table = article.components(separatedBy: "| Offset |").last?.split(separator: "\n\n").first ?? ""
    let offsets = table.split(separator: "\n").filter { $0.hasPrefix("| ") }
      .flatMap { row in row.split(separator: "|")[0].split { !$0.isNumber }.compactMap { Int($0) } }
    #expect(offsets.sorted() == JournalLayout.Field.allCases.map(\.rawValue).sorted())
    let limits = [
      "\(Budget.value >> 20) MiB, a domain \(Budget.domain >> 20) MiB", "more than \(Budget.file >> 20) MiB",
      "more than \(Budget.depth) deep", "1 to \(DefaultsDomain.longestName) bytes", "1 to \(StoredName.longest) bytes",
    ]
    for limit in limits { #expect(article.contains(limit), "\(limit)") }
  }

  @Test func `bad lists are refused`() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter { $0.hasPrefix("bad-") }
    #expect(names.count >= 6)
    for name in names {
      #expect(throws: PropertyList.Failure.self, "\(name)") {
        try PropertyList.decode(Data(contentsOf: Self.folder.appending(path: name)))
      }
    }
  }
}
