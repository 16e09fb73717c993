import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// A process's changes to the files of one folder, from strace(1), in order.
struct DiskRecording {
  enum Event {
    case created(String)
    case madeFolder(String)
    case wrote(String, offset: Int, Data)
    case cut(String, Int)
    case synchronized(String)
    case renamed(String, String)
    case removed(String)
    case said(String)
  }

  enum Keeping { case nothing, everything, chance }

  private(set) var events: [Event] = []
  private let folder: String
  private let before: KeptFiles
  private static let calls = "openat,pwrite64,write,fsync,fdatasync,ftruncate,fallocate,unlink,rename,renameat2,link,mkdir"

  init(of arguments: [String], _ place: TemporaryVault) throws {
    folder = place.folder.string
    before = try KeptFiles(place.folder)
    let log = folder + ".strace"
    defer { unlink(log) }
    let tool = TracedTool(place, "")
    let end = try tool.run(
      "/usr/bin/strace",
      ["-f", "-y", "-xx", "-s", "10000000", "-o", log, "-e", "trace=\(Self.calls)", TracedTool.path] + arguments)
    guard end.code == 0 else { throw TracedTool.Failed(what: end.output) }
    for line in try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n") { try read(line) }
  }

  func wrote(_ text: String) -> Bool {
    let bytes = Data(text.utf8)
    return events.contains { if case .wrote(_, _, let data) = $0 { data.range(of: bytes) != nil } else { false } }
  }

  /// Reads a line such as `PID pwrite64(5</path>, "\x01", 1, 0) = 1`.
  private mutating func read(_ line: Substring) throws {
    guard let open = line.firstIndex(of: "("), let name = line[..<open].split(separator: " ").last,
      let equals = line.range(of: ") = ", options: .backwards), !line[equals.upperBound...].hasPrefix("-")
    else { return }
    let fields = Fields(line[line.index(after: open)..<equals.lowerBound])
    let result = Int(line[equals.upperBound...].prefix { $0.isNumber }) ?? 0
    switch name {
    case "openat":
      let flags = fields.plain(2)
      let path = fields.text(1)
      guard path.hasPrefix(folder), flags.contains("O_CREAT") else { return }
      if !isThere(path) { events.append(.created(path)) } else if flags.contains("O_TRUNC") { events.append(.cut(path, 0)) }
    case "pwrite64":
      guard let path = file(fields) else { return }
      events.append(.wrote(path, offset: Int(fields.plain(3)) ?? 0, fields.bytes(1).prefix(result)))
    case "write":
      if fields.plain(0).hasPrefix("1<") {
        events += String(decoding: fields.bytes(1), as: UTF8.self).split(separator: "\n").map { .said(String($0)) }
      } else if file(fields) != nil {
        throw TracedTool.Failed(what: "a write without an offset: \(line.prefix(200))")
      }
    case "fsync", "fdatasync": if let path = file(fields) { events.append(.synchronized(path)) }
    case "ftruncate": if let path = file(fields) { events.append(.cut(path, Int(fields.plain(1)) ?? 0)) }
    case "fallocate": if file(fields) != nil, !line.contains("-shm") { throw TracedTool.Failed(what: "\(line.prefix(200))") }
    case "unlink": events.append(.removed(fields.text(0)))
    case "mkdir": if fields.text(0).hasPrefix(folder) { events.append(.madeFolder(fields.text(0))) }
    case "rename": events.append(.renamed(fields.text(0), fields.text(1)))
    case "renameat2": events.append(.renamed(fields.text(1), fields.text(3)))
    default: throw TracedTool.Failed(what: "unexpected: \(line.prefix(200))")
    }
  }

  /// A descriptor's file, unless it is elsewhere or unlinked.
  private func file(_ fields: Fields) -> String? {
    let text = fields.plain(0)
    guard !text.contains("(deleted)"), let path = Fields.path(text), path.hasPrefix(folder) else { return nil }
    return path
  }

  private func isThere(_ path: String) -> Bool {
    for event in events.reversed() {
      switch event {
      case .created(path), .renamed(_, path): return true
      case .removed(path), .renamed(path, _): return false
      default: continue
      }
    }
    return before.files[String(path.dropFirst(folder.count + 1))] != nil
  }

  /// Puts a possible disk state after a power loss at event `count` into the folder.
  func replay<Random: RandomNumberGenerator>(upTo count: Int, keeping: Keeping, _ random: inout Random) throws {
    var disk = Disk(before, folder)
    for event in events[..<count] { disk.take(event) }
    let files = disk.afterPowerLoss(keeping, &random)
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
    }
    for path in files.folders { mkdir(path, 0o700) }
    for (path, bytes) in files.files {
      _ = FileManager.default.createFile(atPath: path, contents: bytes, attributes: [.posixPermissions: 0o600])
    }
  }
}

private struct Fields {
  private let fields: [Substring]

  init(_ text: Substring) {
    var fields: [Substring] = []
    var rest = text
    // Texts are all hexadecimal, so they contain no comma or quote.
    while let comma = rest.range(of: ", ") {
      fields.append(rest[..<comma.lowerBound])
      rest = rest[comma.upperBound...]
    }
    self.fields = fields + [rest]
  }

  func plain(_ index: Int) -> Substring { index < fields.count ? fields[index] : "" }
  func text(_ index: Int) -> String { String(decoding: bytes(index), as: UTF8.self) }

  func bytes(_ index: Int) -> Data { Self.decoded(plain(index)) }

  static func path(_ text: Substring) -> String? {
    guard let open = text.firstIndex(of: "<"), let close = text.lastIndex(of: ">") else { return nil }
    let path = text[text.index(after: open)..<close]
    return path.contains("\\x") ? String(decoding: decoded(path), as: UTF8.self) : String(path)
  }

  private static func decoded(_ text: Substring) -> Data {
    var bytes = Data()
    var digits: UInt8?
    for unit in text.utf8 {
      let value: UInt8? =
        switch unit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): unit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): unit - UInt8(ascii: "a") + 10
        default: nil
        }
      guard let value else {
        digits = nil
        continue
      }
      if let high = digits {
        bytes.append(high << 4 | value)
        digits = nil
      } else {
        digits = value
      }
    }
    return bytes
  }
}

/// A disk with a cache: durable content, and data not yet synchronized.
private struct Disk {
  private enum Change {
    case write(Int, Data)
    case cut(Int)
  }

  private final class File {
    var durable = Data()
    var changes: [Change] = []
  }

  private enum Naming {
    case name(String, File)
    case folder(String)
    case rename(String, String)
    case remove(String)

    var folder: String {
      switch self {
      case .name(let path, _), .folder(let path), .rename(_, let path), .remove(let path):
        String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
      }
    }
  }

  private let root: String
  private var names: [String: File] = [:]
  private var durableNames: [String: File] = [:]
  private var durableFolders: Set<String> = []
  private var namings: [Naming] = []

  init(_ before: KeptFiles, _ folder: String) {
    root = folder
    for (name, bytes) in before.files {
      let file = File()
      file.durable = bytes
      names["\(folder)/\(name)"] = file
    }
    durableNames = names
  }

  mutating func take(_ event: DiskRecording.Event) {
    switch event {
    case .created(let path):
      let file = File()
      names[path] = file
      namings.append(.name(path, file))
    case .madeFolder(let path): namings.append(.folder(path))
    case .wrote(let path, let offset, let bytes): names[path]?.changes.append(.write(offset, bytes))
    case .cut(let path, let length): names[path]?.changes.append(.cut(length))
    case .synchronized(let path): synchronize(path)
    case .renamed(let from, let to):
      names[to] = names.removeValue(forKey: from)
      namings.append(.rename(from, to))
    case .removed(let path):
      if names.removeValue(forKey: path) != nil { namings.append(.remove(path)) }
    case .said: break
    }
  }

  private mutating func synchronize(_ path: String) {
    if let file = names[path] {
      for change in file.changes { Self.apply(change, to: &file.durable) }
      file.changes = []
      return
    }
    // A folder: only its own names become durable.
    for naming in namings where naming.folder == path { Self.apply(naming, &durableNames, &durableFolders) }
    namings.removeAll { $0.folder == path }
  }

  func afterPowerLoss<Random: RandomNumberGenerator>(
    _ keeping: DiskRecording.Keeping, _ random: inout Random
  ) -> (files: [String: Data], folders: [String]) {
    var found = durableNames
    var folders = durableFolders
    let done =
      switch keeping {
      case .nothing: 0
      case .everything: namings.count
      case .chance: Int.random(in: 0...namings.count, using: &random)
      }
    for naming in namings.prefix(done) { Self.apply(naming, &found, &folders) }
    var files: [String: Data] = [:]
    for (path, file) in found {
      let parent = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
      guard parent == root || folders.contains(parent) else { continue }
      var bytes = file.durable
      for change in file.changes { Self.apply(change, to: &bytes, keeping, &random) }
      files[path] = bytes
    }
    return (files, folders.sorted())
  }

  private static func apply(_ naming: Naming, _ names: inout [String: File], _ folders: inout Set<String>) {
    switch naming {
    case .name(let path, let file): names[path] = file
    case .folder(let path): folders.insert(path)
    case .rename(let from, let to): if let file = names.removeValue(forKey: from) { names[to] = file }
    case .remove(let path): names[path] = nil
    }
  }

  private static func apply(_ change: Change, to bytes: inout Data) {
    switch change {
    case .write(let offset, let data):
      if bytes.count < offset + data.count { bytes.append(Data(count: offset + data.count - bytes.count)) }
      bytes.replaceSubrange(offset..<offset + data.count, with: data)
    case .cut(let length):
      if bytes.count > length { bytes.removeLast(bytes.count - length) } else { bytes.append(Data(count: length - bytes.count)) }
    }
  }

  private static func apply<Random: RandomNumberGenerator>(
    _ change: Change, to bytes: inout Data, _ keeping: DiskRecording.Keeping, _ random: inout Random
  ) {
    switch keeping {
    case .nothing: return
    case .everything: return apply(change, to: &bytes)
    case .chance:
      let fate = Int.random(in: 0..<3, using: &random)
      guard fate > 0 else { return }
      guard fate == 1, case .write(let offset, let data) = change else { return apply(change, to: &bytes) }
      // A sector is written whole or not at all.
      var start = 0
      while start < data.count {
        let end = min(data.count, (offset + start) / 512 * 512 + 512 - offset)
        if Bool.random(using: &random) {
          apply(.write(offset + start, Data(data[data.startIndex + start..<data.startIndex + end])), to: &bytes)
        }
        start = end
      }
    }
  }
}
