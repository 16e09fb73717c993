import CofferPlatform
import Foundation
import SystemPackage
import Testing

@Suite struct PathEndsTests {
  @Test(arguments: ["/a/b.c", "/a", "/", "", "a", "a/b", "../a", "/a/..", "/a/b/", "//a//b", ".", "/\u{e9}/\u{1f511}"])
  func `the ends of a path are those that swift-system finds`(text: String) {
    let path = FilePath(text)
    #expect(path.parent == path.removingLastComponent())
    #expect(path.lastName == path.lastComponent?.string)
    #expect(path.folder == (path.removingLastComponent().isEmpty ? "." : path.removingLastComponent()))
    if let name = path.lastComponent?.string {
      #expect(path.appending(suffix: "-wal") == path.removingLastComponent().appending(name + "-wal"))
    }
  }

  @Test func `a name that is no text stays the bytes that it is`() {
    func path(_ bytes: [UInt8]) -> FilePath { FilePath(platformString: (bytes + [0]).map(CChar.init(bitPattern:))) }
    let folder = [UInt8]("/home/ad".utf8) + [0xE9], file = folder + [UInt8]("/vault".utf8) + [0xFF]
    #expect(path(file).parent == path(folder))
    #expect(path(file).appending(suffix: "-wal") == path(file + [UInt8]("-wal".utf8)))
    #expect(path(file).lastName == "vault\u{FFFD}")
  }
}
