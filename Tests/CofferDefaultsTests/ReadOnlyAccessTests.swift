import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferDefaults

@Suite struct ReadOnlyAccessTests {
  private func reader(_ folder: TemporaryFolder, domain: String = "d") throws -> DefaultsStore {
    try DefaultsStore.open(domain: domain, in: folder.path, access: .readOnly)
  }

  @Test
  func `makes neither a folder nor a journal`() throws {
    let folder = try TemporaryFolder()
    let nowhere = folder.file("not/there")
    let store = try DefaultsStore.open(domain: "d", in: nowhere, access: .readOnly)
    #expect(try store.load("a") == nil)
    #expect(try store.contents().isEmpty)
    try store.synchronize()
    try store.close()
    #expect(try folder.names().isEmpty)
  }

  @Test
  func `sees what a writer acknowledges with the next read, also when the writer comes later`() throws {
    let folder = try TemporaryFolder()
    let reader = try reader(folder)
    #expect(try reader.load("a") == nil)
    let writer = try folder.open()
    for number in 1...20 {
      try writer.save(.integer(Int64(number)), for: "a")
      #expect(try reader.load("a") == .integer(Int64(number)))
      if number.isMultiple(of: 5) { try writer.synchronize() }
    }
    #expect(try reader.contents() == ["a": .integer(20)])
  }

  @Test
  func `writes are refused, and say why`() throws {
    let folder = try TemporaryFolder()
    try folder.open().save(.bool(true), for: "a")
    let reader = try reader(folder)
    let writes: [() throws -> Void] = [
      { try reader.save(.bool(false), for: "a") }, { try reader.update("a") { _ in nil } }, { try reader.rename("a", to: "b") },
      { try reader.scrub() },
      { try reader.importPropertyList(Data("<plist><dict><key>a</key><true/></dict></plist>".utf8), from: "x") },
    ]
    for write in writes { #expect(kind(write) == .readOnly) }
    #expect(try reader.load("a") == .bool(true))
  }

  @Test
  func `a domain that could not be written can be when it is opened again, while the first store is still open`() throws {
    let folder = try TemporaryFolder()
    try folder.open(isShared: false).close()
    var calls = SystemCalls()
    let open = calls.open
    calls.open = { path, flags, mode in flags & O_ACCMODE == O_RDONLY ? open(path, flags, mode) : -EROFS }
    let first = try folder.open(calls: calls)
    #expect(kind { try first.save(.integer(1), for: "a") } == .readOnly)
    #expect(try folder.open(calls: calls).engine === first.engine, "it still cannot")
    try folder.open().save(.integer(2), for: "a")
    #expect(try first.load("a") == .integer(2))
  }

  @Test
  func `stores of a domain that cannot be written share what they read, until there is a journal to read too`() throws {
    let folder = try TemporaryFolder()
    try folder.write("<plist><dict><key>a</key><integer>1</integer></dict></plist>", to: "d.plist")
    var calls = SystemCalls()
    let open = calls.open
    calls.open = { path, flags, mode in flags & O_ACCMODE == O_RDONLY ? open(path, flags, mode) : -EROFS }
    let (first, second) = (try folder.open(calls: calls), try folder.open(calls: calls))
    #expect(!folder.exists(".d.plist.coffer") && first.engine === second.engine)
    #expect(try second.load("a") == .integer(1))
    // As another user with write permission for the folder does.
    try folder.open(isShared: false).save(.integer(2), for: "a")
    let third = try folder.open(calls: calls)
    #expect(try third.engine !== first.engine && third.load("a") == .integer(2))
    #expect(try folder.open(calls: calls).engine === third.engine)
  }

  @Test
  func `domains of one name in two folders that cannot be made are two`() throws {
    // Nobody can make a folder there, not even root.
    let stores = try ["one", "two"].map { try DefaultsStore.open(domain: "d", in: FilePath("/sys/coffer-\($0)")) }
    #expect(stores.map(\.place) == ["/sys/coffer-one/d.plist", "/sys/coffer-two/d.plist"])
  }

  @Test
  func `goes on when the domain is removed, and when it comes back`() throws {
    let folder = try TemporaryFolder()
    let writer = try folder.open()
    try writer.save(.string("old"), for: "a")
    let reader = try reader(folder)
    #expect(try reader.load("a") == .string("old"))
    try writer.domain.remove()
    #expect(try reader.load("a") == nil)
    try folder.open().save(.string("new"), for: "a")
    #expect(try reader.load("a") == .string("new"))
  }

  @Test
  func `damage is an error, whatever the policy, for healing would write`() throws {
    let folder = try TemporaryFolder()
    try folder.write("<plist><dict><key>a", to: "d.plist")
    let names = try folder.names()
    #expect(kind { _ = try DefaultsStore.open(domain: "d", in: folder.path, access: .readOnly, damage: .startEmpty) } == .damaged)
    #expect(try folder.names() == names)
  }
}

@Suite struct WholeDomainTests {
  @Test(.tags(.campaign), .wholeRun, arguments: [true, false])
  func `what is written after a removal is what every process reads next`(mayWrite: Bool) throws {
    let folder = try TemporaryFolder()
    let writer = try folder.open()
    try writer.save(.integer(0), for: "k")
    let access: DefaultsAccess = mayWrite ? .readWrite : .readOnly
    var options = EngineOptions(access: access)
    options.isShared = false
    options.foldsWhenIdle = false
    for number in 1...Campaign.size(short: 10, long: 300) {
      let reader = try DefaultsStore.open(domain: "d", in: folder.path, options: options)
      #expect(try reader.load("k") != nil)
      try writer.domain.remove()
      if number.isMultiple(of: 2) { #expect(try reader.load("k") == nil) }
      try folder.open(isShared: false).save(.integer(Int64(number)), for: "k")
      #expect(try reader.load("k") == .integer(Int64(number)))
      #expect(try writer.load("k") == .integer(Int64(number)))
    }
  }

  @Test
  func `rename is one step: nobody sees both names or none`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try store.save(.integer(1), for: "a")
    let other = try folder.open(isShared: false)
    let watching = Task.detached { () throws in
      for _ in 0..<2_000 { #expect(try other.contents().count == 1) }
    }
    for _ in 0..<200 {
      try store.rename("a", to: "b")
      try store.rename("b", to: "a")
    }
    try await watching.value
    #expect(kind { try store.rename("nothing", to: "a") } == .notFound)
    #expect(kind { try store.rename("a", to: "") } == .invalidName)
    #expect(try store.contents() == ["a": .integer(1)])
  }

  @Test
  func `renames by two writers at once lose no value`() async throws {
    let folder = try TemporaryFolder()
    let stores = [try folder.open(), try folder.open(isShared: false)]
    try stores[0].save(.integer(7), for: "k")
    await withTaskGroup(of: Void.self) { group in
      for (index, store) in stores.enumerated() {
        group.addTask {
          for _ in 0..<100 {
            do { try store.rename("k", to: "k\(index)") } catch {}
            do { try store.rename("k\(index)", to: "k") } catch {}
          }
        }
      }
    }
    #expect(try Array(stores[0].contents().values) == [.integer(7)])
  }

  @Test
  func `what is exported is what is imported, under a prefix too`() throws {
    let folder = try TemporaryFolder()
    let store = try DefaultsStore.open(domain: "d", in: folder.path, registered: ["r": .bool(true)], prefix: "p.")
    try store.save(.array([.data(Data([1])), .real(0.5)]), for: "a")
    let plain = try folder.open()
    try plain.save(.string("not mine"), for: "q")
    let list = try store.exportPropertyList()
    #expect(try store.contents().keys.sorted() == ["a"])
    let other = try folder.open(domain: "e")
    try other.importPropertyList(list, from: "test")
    #expect(try other.contents() == ["a": .array([.data(Data([1])), .real(0.5)])])
    #expect(kind { try other.importPropertyList(Data("x".utf8), from: "test") } == .damaged)
    let forbidden = Data("<plist><dict><key>ok</key><true/><key></key><true/></dict></plist>".utf8)
    #expect(kind { try other.importPropertyList(forbidden, from: "test") } == .invalidName)
    #expect(try other.contents().count == 1)
  }
}
