import Foundation
import Testing

@testable import CofferDefaults

@Suite("Property lists that were written once")
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
