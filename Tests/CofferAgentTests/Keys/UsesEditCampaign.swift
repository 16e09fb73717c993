import CofferPlatform
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferAgent

/// Edits of a log of uses by somebody who has its files and not its key. Each is either tampering, or an end that is cut after
/// the anchor; none passes for the whole log.
@Suite(.tags(.campaign), .wholeRun) struct UsesEditCampaign {
  /// The contents of the files 1, 2, …; empty for one that is not there.
  private typealias Files = [[UInt8]]

  private struct Log {
    let scene: LoggedVault
    /// The files after each of three unlocks.
    var states: [Files] = []

    init(uses: Int, bytes: Int, isClosed: Bool) throws {
      scene = try LoggedVault()
      for unlock in 0..<3 {
        let log = scene.log()
        for use in 0..<uses {
          var row = UseRow.made(.login, "\(unlock) \(use)")
          for text: WritableKeyPath<UseRow, String> in [\.host, \.hostKey, \.program, \.client, \.approval] {
            row[keyPath: text] = String(repeating: "x", count: bytes / 5)
          }
          try log.record(row, in: scene.vault)
        }
        if isClosed || unlock < 2 { log.close(in: scene.vault) }
        states.append(try scene.names.compactMap { Int($0) }.map { try scene.content($0) })
      }
    }

    func store(_ new: Files, over old: Files) throws {
      for index in 0..<max(new.count, old.count) {
        let (bytes, before) = (index < new.count ? new[index] : [], index < old.count ? old[index] : [])
        if bytes.isEmpty { unlink(scene.path(index + 1)) } else if bytes != before { try scene.write(bytes, index + 1) }
      }
    }
  }

  private static func number(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { [UInt8]($0) } }

  private static let kinds = 16

  /// - Parameters:
  ///   - states: the log after each unlock. The last one is changed.
  ///   - other: the log of another vault.
  ///   - anchors: rows and the chain's head after them.
  private static func edit(
    _ kind: Int, of states: [Files], other: Files, anchors: [(count: UInt64, head: [UInt8])], _ random: inout Random
  ) -> Files {
    var files = states[2]
    let index = random.below(files.count)
    var (content, (head, rows)) = (files[index], LoggedVault.parts(files[index]))
    let (one, two, place) = (random.below(rows.count), random.below(rows.count), random.below(content.count))
    let stranger = LoggedVault.parts(other[0])
    switch kind {
    case 0: content[place] ^= 1 << UInt8(random.below(8))
    case 1: content.replaceSubrange(place..<min(content.count, place + 200), with: random.bytes(200))
    case 2: rows.removeSubrange(min(one, two)...max(one, two))
    case 3: rows.swapAt(one, two)
    case 4: rows.insert(rows[one], at: two)
    case 5:
      let length = withUnsafeBytes(of: UInt32(48 + 256).littleEndian) { [UInt8]($0) }
      rows.insert(length + number(UInt64(one + 1)) + random.bytes(40 + 256), at: one)
    case 6: content.removeSubrange(place...)
    case 7: (content, files[random.below(files.count)]) = (files[random.below(files.count)], content)
    case 8: content = []
    case 9: rows[one] = stranger.rows[random.below(stranger.rows.count)]
    case 10: (head, rows) = (one % 2 == 0 ? head : stranger.head, stranger.rows)
    case 11: return states[random.below(2)]
    case 12:
      let field = 8 + 8 * random.below(4)
      content.replaceSubrange(field..<field + 8, with: number(one % 2 == 0 ? .max : UInt64(random.below(9))))
    case 13:
      // It begins later, as all heads say.
      for other in files.indices {
        files[other].replaceSubrange(16..<24, with: number(UInt64(index + 1)))
        if other < index { files[other] = [] }
      }
      return files
    case 14:
      // It begins after an earlier row, with the chain's head of that time.
      let anchor = anchors[random.below(anchors.count)]
      head.replaceSubrange(24..<64, with: number(anchor.count) + anchor.head)
      rows.removeFirst(min(rows.count - 1, Int(anchor.count)))
    default:
      let more = [[UInt8](repeating: 0, count: one + 1), rows[one].dropLast(two + 1), random.bytes(60), rows[rows.count - 1]]
      files[files.count - 1] += more[random.below(more.count)]
      return files
    }
    files[index] = [2, 3, 4, 5, 9, 10, 14].contains(kind) ? head + rows.joined() : content
    return files
  }

  private static func check(_ count: Int, uses: Int, bytes: Int, isClosed: Bool) throws {
    var random = Random(campaign: "edits of the log of uses")
    let log = try Log(uses: uses, bytes: bytes, isClosed: isClosed), other = try Log(uses: 5, bytes: bytes, isClosed: true)
    let (scene, files) = (log.scene, log.states[2])
    let whole = Array(try scene.read().prefix { $0.kind != .cut })
    #expect(whole.count == 3 * uses + (isClosed ? 6 : 5))
    let (anchored, attributes) = (try scene.anchor, try scene.attributes)
    let digits = Array(try #require(attributes["coffer.uses.head"]))
    let head = try stride(from: 0, to: 64, by: 2).map { try #require(UInt8(String(digits[$0...($0 + 1)]), radix: 16)) }
    let none = [UInt8](repeating: 0, count: 32)
    let anchors: [(count: UInt64, head: [UInt8])] = [(try #require(anchored), head), (1, head), (0, none)]
    var (tampered, cut) = (0, 0)
    for number in 0..<count {
      let edited = edit(number % kinds, of: log.states, other: other.states[2], anchors: anchors, &random)
      guard edited != files else { continue }
      try log.store(edited, over: files)
      do {
        let rows = try scene.read()
        let isReported = rows.last?.kind == .cut && rows.last?.number == 0
        #expect(isReported && rows.dropLast() == whole.prefix(rows.count - 1), "edit \(number) passes for the whole log")
        cut += 1
      } catch let error as StoreError {
        #expect(error.kind == .tampered, "edit \(number): \(error)")
        #expect(kind { try scene.log().record(.made(.sign), in: scene.vault) } == .tampered, "edit \(number)")
        tampered += 1
      }
      try log.store(files, over: edited)
    }
    #expect(tampered > count / 3)
    #expect(try scene.read().prefix(whole.count) == whole[...])
    print("edits of a log of uses in \(files.count) files: \(tampered) tampered, \(cut) cut after the anchor")
  }

  @Test(arguments: [true, false]) func `no edit of a log passes for the whole`(isClosed: Bool) throws {
    try Self.check(Campaign.size(short: 400, long: 4_500), uses: 5, bytes: 100, isClosed: isClosed)
  }

  @Test(arguments: [true, false]) func `no edit of a log of several files passes for the whole`(isClosed: Bool) throws {
    try Self.check(Campaign.size(short: 32, long: 500), uses: 150, bytes: 5_000, isClosed: isClosed)
  }
}

extension Random {
  fileprivate mutating func below(_ count: Int) -> Int { .random(in: 0..<count, using: &self) }
  fileprivate mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: .min ... .max, using: &self) } }
}
