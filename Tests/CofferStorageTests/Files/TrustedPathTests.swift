import Foundation
import SystemPackage
import Testing

@testable import CofferStorage

@Suite struct TrustedPathTests {
  @Test func aMissingFolderIsMadeForItsOwnerAlone() throws {
    let root = FilePath("/tmp/coffer-\(UInt64.random(in: .min ... .max))")
    defer { try? FileManager.default.removeItem(atPath: root.string) }
    let made = try TrustedPath.makePrivateFolder(root.appending("a").appending("b"))
    for folder in [root, root.appending("a"), made] {
      #expect(try Stat(folder).permissions == FilePermissions(rawValue: 0o700))
    }
  }
}
