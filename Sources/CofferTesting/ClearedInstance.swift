internal import Coffer
public import CofferDefaults
public import CofferPlatform
public import CofferStorage
internal import Foundation
internal import SystemPackage
internal import Testing

/// The name of a test's own domain: the module, the file up to its first dot, the function up to its parentheses, and a hash
/// against equal texts.
enum TestDomain {
  /// The most characters of the readable part, which is ASCII. It leaves room for the digits in
  /// ``/CofferDefaults/DefaultsDomain/longestName`` bytes.
  private static let longestText = 160

  static func name(_ function: String, _ fileID: String, of test: Test.ID? = Test.current?.id) -> String {
    let parts = fileID.split(separator: "/").map { $0.prefix { $0 != "." } } + [function.prefix { $0 != "(" }]
    let text = parts.map { part in String(part.map { isPlain($0) ? $0 : "_" }) }.joined(separator: ".")
    // A suite's init is one function for all of its tests, and has one name in all suites of a file. The test's line is left
    // out: each edit above it would make a new domain and leave the old files behind.
    let path = test.map { [$0.moduleName] + $0.nameComponents } ?? []
    return "\(text.prefix(longestText)).\(digits(of: ([fileID, function] + path).joined(separator: "\n")))"
  }

  /// The same in every run, so that a run reuses the last one's files. FNV-1a of 64 bits (Fowler, Noll and Vo).
  private static func digits(of text: String) -> String {
    let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(hash, radix: 16)
  }

  private static func isPlain(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber || character == "-" || character == "_")
  }
}

extension DefaultsStore {
  /// The calling test's own, emptied domain: no test sees values of another.
  ///
  /// ```swift
  /// let controller = ThemeController(defaults: try .makeClearedInstance())
  /// ```
  ///
  /// It lies in ``/CofferTesting/TestHome/current``, or in a folder for this user's tests. A suite may make it in its `init`:
  /// each of its tests gets another. These share one: the cases of a parameterized test, and tests of one suite whose names
  /// differ only in the types of arguments. Give them their own homes with ``/CofferTesting/IsolatedDefaults``.
  ///
  /// In XCTest, in a detached task or on a test's own thread the calling function stands for the test. Two tests then share a
  /// domain if one function, such as `setUp()`, makes it for both, or if a file has two of one name.
  ///
  /// - Parameters:
  ///   - arguments: launch arguments that override values.
  ///   - function: the calling function.
  ///   - fileID: its module and file.
  /// - Throws: the errors of opening a domain.
  public static func makeClearedInstance(
    arguments: [String] = [], function: String = #function, fileID: String = #fileID
  ) throws(StoreError) -> DefaultsStore {
    let home = TestHome.current
    let folder = if let home { home.places.defaults } else { try commonFolder() }
    let domain = TestDomain.name(function, fileID)
    do throws(StoreError) { return try opened(domain, in: folder, arguments) } catch {
      // Left by an interrupted run or another version. A program would have to keep these files; a test need not.
      switch error.kind {
      case .damaged, .newerFormat: break
      default: throw error
      }
      for name in [".\(domain).plist.coffer", "\(domain).plist"] { unlink(folder.appending(name).string) }
      return try opened(domain, in: folder, arguments)
    }
  }

  private static func opened(_ domain: String, in folder: FilePath, _ arguments: [String]) throws(StoreError) -> DefaultsStore {
    let store = try DefaultsStore.open(domain: domain, in: folder, arguments: arguments)
    try store.removeAll()
    return store
  }

  /// Private to the user: the folder for temporary files is shared.
  private static func commonFolder() throws(StoreError) -> FilePath {
    let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
    return try TrustedPath.makePrivateFolder(FilePath(folder.path).appending("coffer-tests-\(getuid())"))
  }
}

extension StorageRouter {
  /// The calling test's own router: preferences in an emptied domain, secrets in guarded memory.
  ///
  /// - Throws: the errors of ``/CofferDefaults/DefaultsStore/makeClearedInstance(arguments:function:fileID:)`` and of opening
  ///   a router.
  public static func makeClearedInstance(
    keys spaces: any KeySpace..., arguments: [String] = [], function: String = #function, fileID: String = #fileID
  ) throws(StoreError) -> StorageRouter {
    try StorageRouter(
      plain: DefaultsStore.makeClearedInstance(arguments: arguments, function: function, fileID: fileID),
      vault: MemoryStore<Vault>(), spaces: spaces)
  }
}
