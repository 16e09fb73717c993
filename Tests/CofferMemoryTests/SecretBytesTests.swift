import CofferTestSupport
import Foundation
import Testing

@testable import CofferMemory

@Suite struct SecretBytesTests {
  @Test func `wipes its bytes when its life ends`() async {
    // In a separate process: another thread would get the block that was just released.
    await #expect(processExitsWith: .success) { try Self.lookAtReleased() }
  }

  private static func lookAtReleased() throws {
    // Blocks up to 16 KiB stay mapped after release, so they can be inspected.
    for count in [1, 31, 32, 33, 1000, SecretArena.largestBlock] {
      let place = try filledAndReleased(count)
      #expect(place.allSatisfy { $0 == 0 }, "\(count) bytes")
    }
  }

  private static func filledAndReleased(_ count: Int) throws -> UnsafeRawBufferPointer {
    var secret = try SecretBytes(zeros: count)
    secret.withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: 0xA5) }
    let place = secret.withUnsafeBytes { UnsafeRawBufferPointer(start: $0.baseAddress, count: $0.count) }
    #expect(place.allSatisfy { $0 == 0xA5 })
    return place
  }

  @Test func `comes zeroed, also from a block that was used`() throws {
    for _ in 0..<3 {
      var secret = try SecretBytes(zeros: 700)
      #expect(secret.withUnsafeBytes { $0.allSatisfy { $0 == 0 } })
      secret.withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: 1) }
    }
  }

  @Test func `lives twenty thousand times at once, each in a block of its own`() throws {
    var held: [Held] = []
    for number in 0..<20_000 { held.append(try Held(UInt64(number))) }
    #expect(Set(held.map(\.address)).count == 20_000)
    #expect(held.enumerated().allSatisfy { $1.number == UInt64($0) })
  }

  @Test func `can be empty`() throws {
    let none = try SecretBytes(zeros: 0)
    #expect(none.count == 0)
    #expect(none.withUnsafeBytes { $0.count } == 0)
    let another = try SecretBytes(copying: UnsafeRawBufferPointer(start: nil, count: 0))
    let areSame = areEqual(none, another)
    #expect(areSame)
    #expect(try none.duplicate().count == 0)
  }

  @Test func `can be larger than a slab`() throws {
    let count = 2 * 1024 * 1024 + 7
    let secret = try SecretBytes.random(count)
    let copy = try secret.duplicate()
    let areSame = areEqual(secret, copy)
    #expect(areSame)
    let isSame = secret.withUnsafeBytes { $0.baseAddress } == copy.withUnsafeBytes { $0.baseAddress }
    #expect(!isSame)
    #expect(secret.isIntact && copy.isIntact)
  }

  @Test func `equals the same bytes and no others`() throws {
    let secret = try SecretBytes.random(64)
    for place in [0, 1, 31, 63] {
      var other = try secret.duplicate()
      let areSame = areEqual(secret, other)
      #expect(areSame)
      other.withUnsafeMutableBytes { $0[place] ^= 1 }
      let areDifferent = !areEqual(secret, other)
      #expect(areDifferent, "differs at \(place)")
    }
    let shorter = try secret.prefix(63)
    let areDifferent = !areEqual(secret, shorter)
    #expect(areDifferent)
    #expect(shorter.count == 63)
  }

  @Test func `is filled in place, and released when filling fails`() async {
    // As above.
    await #expect(processExitsWith: .success) { try Self.failToFill() }
  }

  private static func failToFill() throws {
    struct Refusal: Error {}
    var place: UnsafeRawPointer?
    let failed = Result {
      try SecretBytes(count: 40, memory: { _ in Refusal() as any Error }) { (out) throws in
        place = UnsafeRawPointer(out.baseAddress)
        out[0] = 7
        throw Refusal()
      }.count
    }
    #expect(throws: Refusal.self) { try failed.get() }
    #expect(place?.load(as: UInt8.self) == 0)
  }

  @Test func `draws different random bytes each time`() throws {
    let one = try SecretBytes.random(32)
    let two = try SecretBytes.random(32)
    let areDifferent = !areEqual(one, two)
    #expect(areDifferent)
  }

  @Test func `tells how much of its memory is locked`() async {
    // It counts the whole process, so in one without other secrets.
    await #expect(processExitsWith: .success) { try Self.compareReports() }
  }

  private static func compareReports() throws {
    let before = SecretMemory.report
    let secret = try SecretBytes(zeros: 300_000)
    let after = SecretMemory.report
    #expect(after.lockedBytes + after.unlockedBytes >= before.lockedBytes + before.unlockedBytes)
    #expect(after.lockedBytes + after.unlockedBytes >= secret.count)
    #expect((after.unlockedBytes == 0) == (after.firstError == 0))
  }

  @Test func `serves many threads without mixing their bytes`() {
    let failures = Counter()
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for round in 0..<2_000 {
        let count = [1, 32, 100, 5_000, 20_000][(round + thread) % 5]
        let fill = UInt8(truncatingIfNeeded: thread &* 31 &+ round)
        do {
          var secret = try SecretBytes(zeros: count)
          secret.withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: fill) }
          if round % 16 == 0 { sched_yield() }
          if !secret.withUnsafeBytes({ $0.allSatisfy { $0 == fill } }) { failures.add() }
        } catch {
          failures.add()
        }
      }
    }
    #expect(failures.value == 0)
  }
}

/// The macros of Testing copy their operands.
private func areEqual(_ left: borrowing SecretBytes, _ right: borrowing SecretBytes) -> Bool { left.isEqual(to: right) }

private final class Held {
  private let secret: SecretBytes

  init(_ number: UInt64) throws {
    var bytes = try SecretBytes(zeros: 8)
    bytes.withUnsafeMutableBytes { $0.storeBytes(of: number, as: UInt64.self) }
    secret = bytes
  }

  var address: UnsafeRawPointer? { secret.withUnsafeBytes { $0.baseAddress } }
  var number: UInt64 { secret.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) } }
}

private final class Counter: @unchecked Sendable {
  private let lock = NSLock()
  private var count = 0
  func add() { lock.withLock { count += 1 } }
  var value: Int { lock.withLock { count } }
}
