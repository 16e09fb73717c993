import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct PinFileTests {
  @Test func `a vault has one pin for itself and one for its place, both its owner's alone`() throws {
    let pinned = try PinnedVault()
    let id = try pinned.locked.id
    #expect(try pinned.pin("id-").lastComponent?.string == "id-\(id)")
    #expect(try pinned.content(pinned.pin("at-")) == Data(id.bytes))
    #expect(try pinned.content(pinned.pin("id-")).count == 4096 + 160)
    for file in [try pinned.pin("id-"), try pinned.pin("at-")] {
      #expect(try Stat(file).permissions == FilePermissions(rawValue: 0o600))
    }
    #expect(try Stat(pinned.pins).permissions == FilePermissions(rawValue: 0o700))
    #expect(try FileManager.default.contentsOfDirectory(atPath: pinned.pins.string).count == 2)
  }

  @Test func `without a folder nothing is remembered and nothing is said`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    #expect(try vault.pinStatus() == .none)
    #expect(kind { _ = try LockedVault.open(place.path).unlockAcceptingPin(with: TemporaryVault.credentials()) } == .incomplete)
  }

  @Test func `the first use is told, and a pin that is gone begins anew`() throws {
    let pinned = try PinnedVault()
    unlink(try pinned.pin("id-").string)
    #expect(try pinned.unlock().pinStatus() == .firstUse)
    #expect(try pinned.unlock().pinStatus() == .upToDate)
    try FileManager.default.removeItem(atPath: pinned.pins.string)
    #expect(try pinned.unlock().pinStatus() == .firstUse)
    try pinned.write("on")
    #expect(try pinned.unlock().pinStatus() == .upToDate)
  }

  @Test(.tags(.campaign), .wholeRun) func `of one flipped byte anywhere nothing worse comes than one generation forgotten`()
    throws
  {
    let pinned = try PinnedVault()
    let pin = try pinned.pin("id-")
    let original = try pinned.content(pin)
    for offset in Array(0..<128) + Array(4096..<4224) + [128, 4095] {
      var changed = original
      changed[offset] ^= 1 << UInt8(offset % 8)
      try pinned.put(changed, pin)
      #expect(try pinned.refusal() == nil, "\(offset)")
    }
    try pinned.put(original, pin)
    #expect(try pinned.refusal() == nil)
  }

  @Test(.tags(.campaign), .wholeRun) func `two damaged records are damage that names the pin, at every pair of bytes`() throws {
    let pinned = try PinnedVault()
    let pin = try pinned.pin("id-")
    let original = try pinned.content(pin)
    for offset in 0..<128 {
      var changed = original
      changed[offset] ^= 1
      changed[4096 + 127 - offset] ^= 1
      try pinned.put(changed, pin)
      do {
        _ = try pinned.unlock()
        Issue.record("accepted with both records damaged at \(offset)")
      } catch let error as StoreError {
        #expect(error.kind == .damaged && error.place == pin.string && error.remedy == .acceptUnpinned)
      }
    }
    for garbage in [Data(), Data(original.prefix(100)), Data(repeating: 7, count: 9000), Data(original.dropFirst())] {
      try pinned.put(garbage, pin)
      #expect(try pinned.refusal() == .damaged)
    }
    _ = try pinned.accept().lock()
    #expect(try pinned.refusal() == nil)
    try pinned.put(Data([1, 2, 3]), try pinned.pin("at-"))
    #expect(try pinned.refusal() == .damaged)
    _ = try pinned.accept().lock()
    #expect(try pinned.refusal() == nil)
  }

  @Test func `the pin of another vault under this one's name is damage`() throws {
    let pinned = try PinnedVault()
    let other = try PinnedVault()
    try pinned.put(other.content(other.pin("id-")), pinned.pin("id-"))
    #expect(try pinned.refusal() == .damaged)
  }

  @Test func `a pin that is a link, or open to others, is refused and not followed`() throws {
    let pinned = try PinnedVault()
    for prefix in ["id-", "at-"] {
      let pin = try pinned.pin(prefix)
      let content = try pinned.content(pin)
      let elsewhere = pinned.place.folder.appending("elsewhere")
      try pinned.put(content, elsewhere)
      unlink(pin.string)
      symlink(elsewhere.string, pin.string)
      #expect(try pinned.refusal() == .denied)
      if prefix == "id-" { #expect(kind { _ = try pinned.accept() } == .denied) }
      unlink(pin.string)
      try pinned.put(content, pin)
      chmod(pin.string, 0o644)
      #expect(try pinned.refusal() == .denied)
      chmod(pin.string, 0o600)
      mkfifo(pin.string + ".fifo", 0o600)
      rename(pin.string + ".fifo", pin.string)
      #expect(try pinned.refusal() == .denied)
      unlink(pin.string)
      try pinned.put(content, pin)
    }
    chmod(pinned.pins.string, 0o777)
    #expect(try pinned.refusal() == .denied)
  }

  @Test func `a pin that cannot be written is no reason for a commit to fail`() throws {
    let pinned = try PinnedVault()
    let vault = try OpenVault.unlock(.file(pinned.place.path), with: TemporaryVault.credentials())
    var calls = SystemCalls()
    calls.write = { _, _, _ in -Int(Errno.readOnlyFileSystem.rawValue) }
    let watch = try PinWatch(pinned.pins, vault: vault.view.header.vault, place: vault.view.place, calls: calls)
    try watch.check(vault.view.state, key: vault.view.keys.epochMark)
    vault.view.pins = watch
    for round in 0..<3 {
      _ = try vault.write { (_, change) throws(StoreError) in
        do { return try vault.items.put(form("\(round)"), for: pinned.name, if: .always, &change) } catch let error as StoreError
        {
          throw error
        } catch { throw StoreError(.closed, "test", cure: "test") }
      }
    }
    #expect(watch.status == .notWritten)
    #expect(text(try vault.items.get(pinned.name)?.form) == "2")
    #expect(try pinned.refusal() == nil, "the pin behind is brought up by the next one who can write it")
  }

  @Test func `where the folder cannot be made the vault works without a pin`() throws {
    let place = try TemporaryVault()
    try Data().write(to: URL(fileURLWithPath: place.folder.appending("file").string))
    let options = VaultOptions(pins: place.folder.appending("file").appending("pins"))
    let made = try? UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), options: options).pinStatus()
    #expect(made == PinStatus.none)
  }

  @Test func `a place that another process named just now is not another place`() throws {
    let place = try TemporaryVault(), vault = VaultSalt.random()
    let pins = place.folder.appending("pins"), here = VaultPlace.file(place.path)
    var other = try PinFolder(pins, calls: SystemCalls())
    let mark = PinRecord.Mark(generation: 1, commit: .random())
    _ = try other.make(PinRecord(vault: vault, replica: .random(), key: .some(1), seen: mark, own: .never))
    try other.expect(vault, at: here)
    // It looked for the place before that.
    let found = try PinFolder(pins, calls: SystemCalls()).pin(of: vault, at: here, isExpected: false)
    #expect(found.file != nil && !found.isOfCopy)
    let there = VaultPlace.file(place.folder.appending("copy.sqlite"))
    let copy = try PinFolder(pins, calls: SystemCalls()).pin(of: vault, at: there, isExpected: false)
    #expect(copy.file == nil && copy.isOfCopy)
  }

  @Test func `of many who make the pin at once, all use the same`() async throws {
    let place = try TemporaryVault()
    _ = try await place.create().lock()
    let options = VaultOptions(pins: place.folder.appending("pins"))
    let path = place.path
    let replicas = try await withThrowingTaskGroup(of: ReplicaID?.self) { group in
      for _ in 0..<8 {
        group.addTask {
          try OpenVault.unlock(.file(path), with: TemporaryVault.credentials(), options: options).view.pins?.replica
        }
      }
      return try await group.reduce(into: Set<ReplicaID>()) { if let replica = $1 { $0.insert(replica) } }
    }
    #expect(replicas.count == 1)
  }
}
