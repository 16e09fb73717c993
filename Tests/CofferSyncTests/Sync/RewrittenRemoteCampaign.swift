import CofferPlatform
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferSync
@testable import CofferVaultFormat

/// Remotes that their keeper has rewritten: each is told by its word, and then nothing has changed here.
@Suite(.tags(.campaign), .wholeRun) struct RewrittenRemoteCampaign {
  private typealias Files = [String: [UInt8]]

  /// One rewriting by a keeper without a key, and the words that may follow from it. None: the sync may also succeed.
  private enum Rewriting: CaseIterable {
    case removed, cut, flipped, exchanged, emptied, renamed, stale, foreign, stranger
    case otherState, otherHeader, otherGroup, lessGroups, otherVaultID, manyHeads

    var words: [StoreError.Kind] {
      switch self {
      case .removed, .cut, .flipped, .exchanged: [.unreachable, .rolledBack]
      case .emptied, .stale: [.rolledBack]
      case .renamed: [.damaged]
      case .foreign: [.replaced]
      case .otherVaultID: [.damaged, .replaced]
      case .stranger: []
      case .otherState, .lessGroups: [.tampered]
      case .otherHeader: [.tampered, .damaged, .replaced, .locked, .forked, .rolledBack, .unsupported]
      case .otherGroup: [.tampered, .damaged]
      case .manyHeads: [.damaged]
      }
    }
  }

  /// What lies at the remote: a put that `lap` has seen, and a later one.
  private struct Scene {
    let lap: Laptop
    let stale: Files, newest: Files, foreign: Files
    let home: [String: Data]

    init(_ remote: String) throws {
      let desk = try Laptop.first("desk", remote)
      for name in ["ada", "bob", "eve"] { try desk.set(name, "old") }
      try desk.sync()
      stale = try RewrittenRemoteCampaign.files(remote)
      lap = try desk.another("lap")
      try lap.sync()
      try lap.set("lap", "own")
      try lap.sync()
      home = try RewrittenRemoteCampaign.home(of: lap)
      for name in ["ada", "bob"] { try desk.set(name, "new") }
      try desk.sync()
      newest = try RewrittenRemoteCampaign.files(remote)
      let other = try TestFolder("other")
      let stranger = try Laptop.first("other", other.path.string)
      try stranger.set("ada", "foreign")
      try stranger.sync()
      foreign = try RewrittenRemoteCampaign.files(other.path.string)
    }
  }

  @Test func `a rewritten remote is told by its word, and changes neither the vault nor the memory`() throws {
    let folder = try TestFolder("store")
    let remote = folder.path.string + "/r"
    try FileManager.default.createDirectory(atPath: remote, withIntermediateDirectories: true)
    let scene = try Scene(remote)
    var random = Random(seed: 1)
    var counts: [String: Int] = [:]
    for number in 0..<Campaign.size(short: 400, long: 10_000) {
      let rewritings = (0..<Int.random(in: 1...3, using: &random)).map { _ in
        Rewriting.allCases.randomElement(using: &random) ?? .cut
      }
      var files = scene.newest
      for rewriting in rewritings { try apply(rewriting, to: &files, scene, &random) }
      try Self.put(files, at: remote)
      let words = rewritings.flatMap(\.words)
      let found = try kind { try scene.lap.sync { $0.accepts = false } }
      counts[found.map { "\($0)" } ?? "none", default: 0] += 1
      if let found {
        #expect(words.contains(found), "case \(number): \(rewritings), \(found)")
        #expect(try Self.home(of: scene.lap) == scene.home, "case \(number): \(rewritings), \(found)")
      } else {
        // Whole, or as it was before.
        let values = try ["ada", "bob", "eve", "lap"].map { try scene.lap.value($0) }
        #expect(
          [["new", "new", "old", "own"], ["old", "old", "old", "own"]].contains(values),
          "case \(number): \(rewritings), \(values)")
      }
      try Self.restore(scene.home, to: scene.lap)
    }
    print("rewritten remotes:", counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))
  }

  private func apply(_ rewriting: Rewriting, to files: inout Files, _ scene: Scene, _ random: inout Random) throws {
    let name = files.keys.sorted().randomElement(using: &random) ?? ""
    switch rewriting {
    case .removed: files[name] = nil
    case .cut: files[name] = files[name]?.dropLast(Int.random(in: 1...40, using: &random))
    case .flipped: files[name] = files[name].map { Self.flipped($0, from: 0, &random) }
    case .exchanged:
      let other = files.keys.sorted().randomElement(using: &random) ?? ""
      let (first, second) = (files[name], files[other])
      files[name] = second
      files[other] = first
    case .emptied: files = [:]
    case .stale: files = scene.stale
    case .foreign: files.merge(scene.foreign) { $1 }
    case .stranger: files["h/notes (conflicted copy).txt"] = [1, 2, 3]
    case .renamed:
      guard let head = Self.newest(of: files), let bytes = files.removeValue(forKey: head) else { return }
      files["h/\(Int.random(in: 90...99, using: &random))" + head.drop { $0 != "-" }] = bytes
    // So many that none of the other rewritings makes them too few.
    case .manyHeads: for number in 0..<1_030 { files["h/\(number + 1)-" + String(repeating: "ab", count: 32)] = [0] }
    case .otherState: try rewrite(&files) { head in Head.with(head, state: Self.flipped(head.state, from: 8, &random)) }
    case .otherHeader: try rewrite(&files) { head in Head.with(head, header: Self.flipped(head.header, from: 0, &random)) }
    case .otherVaultID:
      try rewrite(&files) { head in
        let id = scene.lap.idBytes
        guard let place = head.header.firstRange(of: id) else { return head }
        var header = head.header
        header[place.lowerBound] ^= 1
        return Head.with(head, header: header)
      }
    case .lessGroups: try rewrite(&files) { head in Head.with(head, groups: Array(head.groups.dropLast())) }
    case .otherGroup:
      guard let head = Self.newest(of: files), let bytes = files[head], let found = try? decoded(bytes),
        let entry = found.groups.randomElement(using: &random), var group = files["o/\(entry.hash)"]
      else { return }
      Self.flip(&group, &random)
      let hash = PlainHash.digest(group)
      files["o/\(hash)"] = group
      try rewrite(&files) { head in
        Head.with(
          head,
          groups: head.groups.map {
            $0.number == entry.number ? Head.Entry(number: $0.number, hash: hash, byteCount: group.count) : $0
          })
      }
    }
  }

  /// Gives the newest head other content under the name that fits it.
  private func rewrite(_ files: inout Files, _ change: (Head) throws -> Head) throws {
    guard let name = Self.newest(of: files), let bytes = files[name], let head = try? decoded(bytes),
      // One that was flipped before would get a name that fits, and with it another word.
      name == PieceName.head(head.name).description
    else { return }
    let next = try change(head)
    files[name] = nil
    files["h/\(next.name.generation)-\(next.name.hash)"] = next.encoded()
  }

  private static func newest(of files: Files) -> String? {
    files.keys.filter { $0.hasPrefix("h/") }.max { generation(of: $0) < generation(of: $1) }
  }

  private static func generation(of name: String) -> UInt64 { UInt64(name.dropFirst(2).prefix { $0 != "-" }) ?? 0 }

  private static func flip(_ bytes: inout [UInt8], from start: Int = 0, _ random: inout Random) {
    guard bytes.count > start else { return }
    bytes[Int.random(in: start..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
  }

  private static func flipped(_ bytes: [UInt8], from start: Int, _ random: inout Random) -> [UInt8] {
    var bytes = bytes
    flip(&bytes, from: start, &random)
    return bytes
  }

  // MARK: Files

  private static func files(_ root: String) throws -> Files {
    var files: Files = [:]
    for part in ["h", "o"] {
      for name in try FileManager.default.contentsOfDirectory(atPath: "\(root)/\(part)") {
        files["\(part)/\(name)"] = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(root)/\(part)/\(name)")))
      }
    }
    return files
  }

  private static func put(_ files: Files, at root: String) throws {
    for part in ["h", "o"] {
      try? FileManager.default.removeItem(atPath: "\(root)/\(part)")
      try FileManager.default.createDirectory(atPath: "\(root)/\(part)", withIntermediateDirectories: true)
    }
    for (name, bytes) in files { try Data(bytes).write(to: URL(fileURLWithPath: "\(root)/\(name)")) }
  }

  /// The vault and this machine's memory.
  private static func home(of laptop: Laptop) throws -> [String: Data] {
    var found: [String: Data] = [:]
    let root = laptop.folder.path.string
    for name in try FileManager.default.subpathsOfDirectory(atPath: root) where !name.hasPrefix("cache") {
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: "\(root)/\(name)", isDirectory: &isFolder), !isFolder.boolValue else {
        continue
      }
      found[name] = try Data(contentsOf: URL(fileURLWithPath: "\(root)/\(name)"))
    }
    return found
  }

  private static func restore(_ files: [String: Data], to laptop: Laptop) throws {
    let root = laptop.folder.path.string
    try? FileManager.default.removeItem(atPath: root + "/cache")
    for name in try home(of: laptop).keys where files[name] == nil {
      try FileManager.default.removeItem(atPath: "\(root)/\(name)")
    }
    for (name, bytes) in files {
      let file = URL(fileURLWithPath: "\(root)/\(name)")
      guard try Data(contentsOf: file) != bytes else { continue }
      try bytes.write(to: file)
    }
  }
}

extension Head {
  fileprivate static func with(
    _ head: Head, header: [UInt8]? = nil, state: [UInt8]? = nil, groups: [Entry]? = nil
  ) -> Head {
    Head(groupCount: head.groupCount, header: header ?? head.header, state: state ?? head.state, groups: groups ?? head.groups)
  }
}

extension Laptop {
  fileprivate var idBytes: [UInt8] { (try? withVault { vault in vault.id.bytes }) ?? [] }
}
