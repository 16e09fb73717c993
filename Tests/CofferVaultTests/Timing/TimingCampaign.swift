import CofferMemory
import CofferPlatform
import CofferTestSupport
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Whether comparing and searching leak secrets by time. Each gets constant and random inputs in random order. The long form
/// judges, and needs a release build on a quiet core: `swift test -c release -Xswiftc -enable-testing`. The short form only
/// runs the code.
@Suite(.serialized, .tags(.campaign, .slow), .wholeRun)
struct TimingCampaign {
  private static let samples = Campaign.size(short: 100, long: 1_000_000)
  private static let batch = min(samples, 20_000)

  /// Measures `body` on `samples` inputs of either class, and reports how many it was true of.
  ///
  /// - Parameters:
  ///   - fixed: the input of one class; the other class gets as many random bytes.
  ///   - prepare: makes `body`'s argument from an input, outside of the measured time.
  private func measure<Input: ~Copyable>(
    _ title: String, fixed: [UInt8], prepare: ([UInt8]) throws -> Input, _ body: (borrowing Input) -> Bool
  ) throws -> (leak: LeakTest, fixed: Int, random: Int) {
    var random = Random(campaign: title), leak: LeakTest?
    var trues = (fixed: 0, random: 0)
    // One extra batch finds the crops, and one makes up for the samples left out of each.
    for _ in 0...(Self.samples / Self.batch + 1) {
      // The cost of making a sample must not depend on its class. A fixed input in one place would be cached, which would
      // look like a leak of some nanoseconds.
      let inputs = (0..<Self.batch).map { _ in
        var bytes = fixed.map { _ in UInt8.random(in: .min ... .max, using: &random) }
        let isFixed = Bool.random(using: &random)
        if isFixed { bytes.replaceSubrange(bytes.indices, with: fixed) }
        return (bytes: bytes, isFixed: isFixed)
      }
      var times: [Double] = []
      times.reserveCapacity(Self.batch)
      for (bytes, isFixed) in inputs {
        // A buffer for each, so that none is nearer to the processor than another.
        let input = try prepare(
          Array(unsafeUninitializedCapacity: bytes.count) { buffer, count in
            count = buffer.initialize(fromContentsOf: bytes)
          })
        let begin = Self.now
        let answer = body(input)
        times.append(Double(Self.now - begin))
        if answer, isFixed { trues.fixed += 1 } else if answer { trues.random += 1 }
      }
      guard leak != nil else {
        leak = LeakTest(cropping: times)
        continue
      }
      // The first of a batch find caches as the making of the inputs left them.
      for (time, input) in zip(times, inputs).dropFirst(10) { leak?.add(time, isFixed: input.isFixed) }
    }
    let made = try #require(leak)
    if Campaign.isLong {
      print(
        "time of \(title): \(made.samples) samples, t \(Self.text(made.worst.t)) of \(made.worst.times),",
        "of which the fixed class takes \(Self.text(made.worst.difference)) more")
    }
    return (made, trues.fixed, trues.random)
  }

  private static var now: Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }

  private static func text(_ number: Double) -> String { "\((number * 100).rounded() / 100)" }

  private func expectNothing(_ leak: LeakTest) {
    if Campaign.isLong { #expect(leak.worst.t < LeakTest.limit, "of \(leak.worst.times)") }
  }

  /// `bytes` with the last bit changed: the difference that a comparison from the front finds last.
  private func nearly(_ bytes: [UInt8]) -> [UInt8] { bytes.dropLast() + [(bytes.last ?? 0) ^ 1] }

  @Test func `whether two secrets are equal is not told by the time`() throws {
    let mine = try SecretBytes.random(32).revealed, reference = try SecretBytes(mine)
    let found = try measure("equal secrets", fixed: mine, prepare: { try SecretBytes($0) }, { $0.isEqual(to: reference) })
    #expect(found.fixed > 0 && found.random == 0)
    expectNothing(found.leak)
  }

  @Test func `how far a tag is right is not told by the time`() throws {
    let key = try SecretBytes.random(32).revealed, nonce = Nonce24.random()
    let message = [UInt8](repeating: 7, count: 256)
    let box = [UInt8](unsafeUninitializedCapacity: message.count + AEAD.tagBytes) { box, count in
      message.withUnsafeBytes { message in
        key.withUnsafeBytes { AEAD.seal(message, key: $0, nonce: nonce, into: UnsafeMutableRawBufferPointer(box)) }
      }
      count = box.count
    }
    let sealed = box.dropLast(AEAD.tagBytes), tag = Array(box.suffix(AEAD.tagBytes))
    let opens = { (box: borrowing [UInt8]) in
      box.withUnsafeBytes { box in key.withUnsafeBytes { AEAD.authenticates(box, key: $0, nonce: nonce) } }
    }
    #expect(opens(box))
    let found = try measure("tags of boxes", fixed: nearly(tag), prepare: { sealed + $0 }, opens)
    #expect(found.fixed == 0 && found.random == 0)
    expectNothing(found.leak)
  }

  @Test func `how far a commitment is right is not told by the time`() throws {
    let ikm = try SecretBytes.random(32).revealed, salt = SlotID.random()
    let box = ikm.withUnsafeBytes { CommittedBox.seal($0, under: $0, for: .own, salt: salt, context: [1, 2, 3]).bytes }
    let opens = { (box: borrowing CommittedBox) -> Bool in
      ikm.withUnsafeBytes { ikm in
        do throws(FormatError) {
          return try box.open(under: ikm, for: .own, salt: salt, context: [1, 2, 3], part: "box").count > 0
        } catch {
          return false
        }
      }
    }
    #expect(opens(CommittedBox(bytes: box)))
    let found = try measure(
      "commitments of boxes", fixed: nearly(Array(box[24..<56])), prepare: { CommittedBox(bytes: box[..<24] + $0 + box[56...]) },
      opens)
    #expect(found.fixed == 0 && found.random == 0)
    expectNothing(found.leak)
  }

  private final class Waiting {
    private var given: Credentials?
    init(_ given: consuming Credentials) { self.given = consume given }

    func take() throws(StoreError) -> Credentials {
      guard let taken = given.take() else { throw StoreError(.noCredentials, "they were taken already", cure: "prepare others") }
      return taken
    }
  }

  private func search(_ title: String, _ header: VaultHeader, fixed: [UInt8], credentials: ([UInt8]) throws -> Credentials) throws
  {
    let opens = { (given: borrowing Waiting) -> Bool in
      do throws(StoreError) {
        _ = try SlotSearch.open(header, with: try given.take(), memory: SlotSample.memory)
        return true
      } catch {
        return false
      }
    }
    let found = try measure(title, fixed: fixed, prepare: { Waiting(try credentials($0)) }, opens)
    #expect(found.fixed == 0 && found.random == 0)
    expectNothing(found.leak)
  }

  @Test func `how near a wrong key file is to the right one is not told by the search of the slots`() throws {
    let sample = try SlotSample(), header = try sample.header([.keyFile, .keyFile, .keyFile])
    let text = CheckedHex(mark: "PVKEY1-", name: "key file")
    let right = try text.decoded(try SecretBytes(sample.generated)).revealed
    try search("slots for key files", header, fixed: nearly(right)) { key in
      let key = try SecretBytes(key)
      return Credentials(keyFile: try key.withUnsafeBytes { (key) throws(FormatError) in try text.encoded(key, lineFeed: true) })
    }
  }

  @Test func `how near a wrong recovery code is to the right one is not told by the search of the slots`() throws {
    let sample = try SlotSample(), header = try sample.header([.recoveryCode, .recoveryCode, .recoveryCode])
    let right = try RecoveryCode.bytes(of: try SecretBytes(sample.code)).revealed
    try search("slots for recovery codes", header, fixed: nearly(right)) { bytes in
      var credentials = Credentials()
      credentials.recoveryCode = try RecoveryCode.text(of: try SecretBytes(bytes))
      return credentials
    }
  }

  @Test func `how near a wrong identity is to the right one is not told by the search of the slots`() throws {
    let sample = try SlotSample(), header = try sample.header([.recipient, .recipient, .recipient])
    try search("slots for recipients", header, fixed: nearly(sample.identity)) { key in
      var credentials = Credentials()
      credentials.identity = try SecretBytes(key)
      return credentials
    }
  }

  @Test func `a comparison that stops at the first difference is found`() throws {
    let mine = try SecretBytes.random(32).revealed
    let isEqual = { (other: borrowing [UInt8]) -> Bool in
      for index in mine.indices where mine[index] != other[index] { return false }
      return true
    }
    let found = try measure("a comparison that leaks", fixed: mine, prepare: { $0 }, isEqual)
    #expect(found.fixed > 0 && found.random == 0)
    if Campaign.isLong { #expect(found.leak.worst.t > 10 * LeakTest.limit) }
  }
}
