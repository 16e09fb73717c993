import CofferClient
import CofferMemory
import CofferPlatform
import Foundation
import SystemPackage
import Testing

@testable import CofferAgent

@Suite struct ErrorTests {
  private static let id = TransactionID.random()

  /// Each kind's code on the wire: programs of other builds read it.
  private static let codes: [(UInt8, StoreError.Kind, String)] = [
    (1, .invalidName, "invalidName"), (2, .undeclared, "undeclared"), (3, .duplicateKey, "duplicateKey"),
    (4, .refused, "refused"),
    (5, .tooLarge(limit: 9), "tooLarge"), (6, .reentrant, "reentrant"), (7, .closed, "closed"),
    (8, .undecodable(stored: "data"), "undecodable"), (9, .unencodable, "unencodable"), (10, .expired, "expired"),
    (11, .clockBehind, "clockBehind"), (12, .notFound, "notFound"), (13, .alreadyExists, "alreadyExists"),
    (14, .ambiguous, "ambiguous"), (15, .conflict, "conflict"), (16, .pending(id), "pending"), (17, .locked, "locked"),
    (18, .wrongSecret, "wrongSecret"), (19, .noVault, "noVault"), (20, .notAVault, "notAVault"), (21, .damaged, "damaged"),
    (22, .tampered, "tampered"), (23, .rolledBack, "rolledBack"), (24, .forked, "forked"), (25, .replaced, "replaced"),
    (26, .newerFormat(found: 3, supported: 2), "newerFormat"), (27, .kdfMemory(needs: 7, has: -1), "kdfMemory"),
    (28, .busy, "busy"),
    (29, .denied, "denied"), (30, .readOnly, "readOnly"), (31, .noSpace, "noSpace"), (32, .io(EIO), "io"),
    (33, .outcomeUnknown, "outcomeUnknown"),
    (34, .unsupported, "unsupported"),
    (35, .incomplete, "incomplete"),
    (36, .closureThrew, "closureThrew"),
    (37, .afterFork, "afterFork"),
    (38, .givenUp, "givenUp"),
    (39, .noAgent, "noAgent"),
    (40, .noCredentials, "noCredentials"),
    (41, .unfitSecret, "unfitSecret"),
    (42, .lastSlot, "lastSlot"),
    (43, .otherVault, "otherVault"),
    (44, .unproven, "unproven"),
    (45, .moved, "moved"),
    (46, .inUse, "inUse"),
    (47, .memory, "memory"), (48, .unreachable, "unreachable"), (49, .loginRefused, "loginRefused"),
    (50, .cancelled, "cancelled"),
  ]

  @Test func `every kind of error crosses the wire under its code, with all that it carries`() throws {
    #expect(Self.codes.map(\.0) == StoreError.Kind.all.map(\.code))
    for (code, kind, word) in Self.codes {
      #expect(kind.word == word)
      var writer = try FrameWriter(answer: .failed)
      try writer.put(
        StoreError(kind, "it happened", key: "k", place: "/p", cure: "do this", underlying: AgentCause(description: "why")))
      let bytes = try writer.withFrame { (raw) throws(StoreError) in Array(raw.dropFirst(4)) }
      #expect(bytes[2] == code)
      let error = try bytes.dropFirst(2).withUnsafeBytes { raw in
        var reader = FrameReader(raw)
        let error = try reader.error()
        try reader.end()
        return error
      }
      #expect(error.kind == kind && error.description == "key 'k': it happened (/p): why; do this")
    }
  }

  @Test func `an error crosses the wire with its remedy, which a program may have a command for`() throws {
    for remedy in StoreError.Remedy.allCases {
      var writer = try FrameWriter(answer: .failed)
      try writer.put(StoreError(.newerFormat(found: 3, supported: 2), "it happened", cure: "do this", remedy: remedy))
      let error = try writer.withFrame { (raw) throws(StoreError) in
        var reader = FrameReader(UnsafeRawBufferPointer(rebasing: raw[6...]))
        return try reader.error()
      }
      #expect(error.remedy == remedy && error.kind == .newerFormat(found: 3, supported: 2) && error.cure == "do this")
    }
  }

  /// The error of a receiver of `bytes`, whose peer then closes the connection or keeps silent.
  private static func failure(after bytes: [UInt8], closing: Bool = false) throws -> TransportFailure? {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { throw CancellationError() }
    let here = LocalSocket(ends[0])
    let there = LocalSocket(ends[1])
    defer { withExtendedLifetime(there) {} }
    #expect(write(there.descriptor, bytes, bytes.count) == bytes.count)
    if closing { shutdown(there.descriptor, Int32(SHUT_RDWR)) }
    do throws(TransportFailure) { _ = try here.receive(begins: .seconds(60), whole: .milliseconds(1)) } catch { return error }
    return nil
  }

  @Test func `a failure of the transport has a type of its own, whatever a vault's error says of its place`() throws {
    guard case .tooShort? = try Self.failure(after: [1, 0, 0, 0]) else { Issue.record("not too short"); return }
    guard case .tooLarge(let bytes)? = try Self.failure(after: [255, 255, 255, 255]) else {
      Issue.record("not too large"); return
    }
    #expect(bytes == Int(UInt32.max))
    guard case .slow? = try Self.failure(after: [10, 0]) else { Issue.record("not slow"); return }
    guard case .gone? = try Self.failure(after: [10, 0], closing: true) else { Issue.record("not gone"); return }
    #expect(
      TransportFailure.gone.error(as: StoreError.self).kind == .io(ECONNRESET)
        && TransportFailure.slow.error(as: StoreError.self).kind == .busy)
    #expect(TransportFailure.system(doing: "wait", code: EIO).error(as: StoreError.self).kind == .io(EIO))
  }

  @Test func `that no agent is running is said where nobody is there, and not where this end fails`() {
    let line = AgentLine<SecretBytes>(AgentPlace(folder: "/nowhere").address, answerTime: .seconds(1)) { _ in }
    let exhausted = TransportFailure.unmade(StoreError(.memory, "memory ran out", cure: "free some"))
    let refused = TransportFailure.system(doing: "wait", code: EIO)
    let kinds: [(failure: TransportFailure, kind: StoreError.Kind)] = [
      (.gone, .noAgent), (.slow, .busy), (exhausted, .memory), (refused, .io(EIO)),
    ]
    for (failure, kind) in kinds {
      #expect(line.said(of: .unsent(failure), isWrite: false).kind == kind)
      #expect(line.said(of: .unanswered(failure), isWrite: false).kind == kind)
      // Nothing was sent, so nothing was done.
      #expect(line.said(of: .unsent(failure), isWrite: true).kind == kind)
      let unknown = line.said(of: .unanswered(failure), isWrite: true)
      #expect(unknown.kind == .outcomeUnknown)
    }
  }
}
