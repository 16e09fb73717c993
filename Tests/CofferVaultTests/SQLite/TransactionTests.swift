import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultRows

@Suite struct TransactionTests {
  let fixture: VaultFixture
  let vault: VaultDatabase
  init() throws {
    fixture = try VaultFixture()
    vault = try fixture.create()
  }

  private func state(_ vault: VaultDatabase) throws(StoreError) -> UInt8? { try vault.withState { $0[0] } }

  @Test func `what a body that throws changed is rolled back`() throws {
    expectError(.conflict) { () throws(StoreError) in
      try vault.write { () throws(StoreError) in
        try vault.putState(bytes: [9])
        throw StoreError(.conflict, "a test", cure: "none")
      }
    }
    #expect(try state(vault) == 2)
    try vault.write { () throws(StoreError) in try vault.putState(bytes: [9]) }
    #expect(try state(fixture.open()) == 9)
  }

  @Test func `a transaction inside another is refused and the outer one ends well`() throws {
    try vault.write { () throws(StoreError) in
      try vault.putState(bytes: [9])
      expectError(.reentrant) { () throws(StoreError) in try vault.read {} }
    }
    #expect(try state(vault) == 9)
  }

  @Test func `a read sees one state whatever others commit`() throws {
    let other = try fixture.open()
    try vault.read { () throws(StoreError) in
      #expect(try state(vault) == 2)
      try other.write { () throws(StoreError) in try other.putState(bytes: [3]) }
      #expect(try state(vault) == 2)
    }
    #expect(try state(vault) == 3)
  }

  @Test func `the data version tells of foreign commits only`() throws {
    let other = try fixture.open()
    let before = try vault.dataVersion()
    try vault.write { () throws(StoreError) in try vault.putState(bytes: [3]) }
    #expect(try vault.dataVersion() == before)
    try other.write { () throws(StoreError) in try other.putState(bytes: [4]) }
    #expect(try vault.dataVersion() != before)
  }

  @Test func `a writer that cannot have the lock is told so in time`() throws {
    let other = try fixture.open(.init(busyMilliseconds: 50))
    try vault.write { () throws(StoreError) in
      expectError(.busy) { () throws(StoreError) in try other.write {} }
      #expect(try state(other) == 2)
    }
    try other.write { () throws(StoreError) in try other.putState(bytes: [5]) }
    #expect(try state(vault) == 5)
  }

  @Test func `a writer waits for the lock`() throws {
    let path = fixture.vault
    try vault.connection.perform(.beginWriting)
    let (isOpen, isDone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    // A thread, because it blocks.
    Thread.detachNewThread {
      do {
        let other = try VaultDatabase.open(path)
        isOpen.signal()
        try other.write { () throws(StoreError) in try other.putState(bytes: [6]) }
      } catch {
        Issue.record(error)
        isOpen.signal()
      }
      isDone.signal()
    }
    isOpen.wait()
    // No event: time for it to begin to wait. It cannot have written, however long this takes.
    usleep(50_000)
    #expect(try state(vault) == 2)
    try vault.connection.perform(.commit)
    isDone.wait()
    #expect(try state(vault) == 6)
  }

  @Test func `after closing every call says so`() throws {
    let statement = try vault.statement(.state)
    vault.close()
    vault.close()
    expectError(.closed) { () throws(StoreError) in try vault.read {} }
    expectError(.closed) { () throws(StoreError) in _ = try vault.dataVersion() }
    expectError(.closed) { () throws(StoreError) in _ = try statement.first { _ in true } }
    expectError(.closed) { () throws(StoreError) in _ = try vault.withState { _ in true } }
  }

  @Test func `the last close leaves the file alone`() throws {
    vault.close()
    #expect(fixture.names == ["vault.sqlite"])
  }

  /// When a process closes any descriptor of a file, the system drops all its locks on the file.
  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/locks"), "needs /proc/locks"))
  func `opening and closing twice in one process keeps the locks`() throws {
    let inode = try Stat(fixture.vault).inode.rawValue
    let log = try Stat(FilePath(fixture.side("-shm"))).inode.rawValue
    func locks(_ inode: some BinaryInteger) throws -> Int {
      try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n").count {
        $0.contains(" \(getpid()) ") && $0.contains(":\(inode) ")
      }
    }
    try vault.write { () throws(StoreError) in
      let before = (try? locks(inode), try? locks(log))
      #expect(before.0 == 1 && before.1 ?? 0 >= 1)
      try fixture.open().close()
      let after = (try? locks(inode), try? locks(log))
      #expect(before == after)
    }
  }

  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/fd"), "needs /proc/self/fd"))
  func `every descriptor goes with the last connection also when opening fails`() throws {
    let other = try VaultFixture()
    func descriptors() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter {
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        return target?.hasPrefix(other.folder.string) ?? false
      }
    }
    do {
      let first = try other.create()
      let second = try other.open()
      #expect(try !descriptors().isEmpty)
      first.close()
      second.close()
    }
    #expect(try descriptors().isEmpty)
    try other.attack("CREATE VIEW v AS SELECT 1")
    #expect(other.openingError()?.kind == .tampered)
    #expect(try descriptors().isEmpty)
    #expect(truncate(other.vault.string, 4096) == 0)
    #expect(other.openingError()?.kind == .damaged)
    #expect(try descriptors().isEmpty)
  }
}
