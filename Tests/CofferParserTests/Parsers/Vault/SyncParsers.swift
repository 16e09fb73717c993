import CofferPlatform

#if canImport(FuzzShared)
  import FuzzShared
#endif

@testable import CofferSync
@testable import CofferVaultFormat
@testable import CofferVaultRows

/// The files at a remote, and a machine's memory of one.
enum SyncParsers {
  static let all = [head, group, memory, name]

  static let head = Parser("sync-head", longest: 2048, words: ["COFFERH1"]) { content in
    let head = try content.lent { (bytes) throws(FormatError) in try Head(decoding: bytes) }
    try promise(head.encoded() == content, "a head has another encoding")
    try promise(head.name.hash == PlainHash.digest(content), "a head has another name than its bytes")
    try promise(head.groups.count <= head.groupCount, "a head lists more groups than it has")
    for entry in head.groups {
      try promise(head.pairs(of: entry.number).upperBound <= Group.pairs, "a group has pairs that no vault has")
    }
  }

  static let group = Parser("sync-group", longest: 2048) { content in
    let group = try Group(decoding: content, of: 0..<Group.pairs)
    var written: [UInt8] = []
    for pair in 0..<Group.pairs {
      for table in RecordTable.allCases {
        var indices: [RecordIndex] = []
        group.forEachRow(inBucket: table.buckets.lowerBound + pair) { index, columns in
          Group.append(columns, at: index, in: table, to: &written)
          if let index = RecordIndex(index) { indices.append(index) }
        }
        for index in indices {
          var found = 0
          group.lendRow(at: index, in: table) { _ in found += 1 }
          try promise(found == 1, "a row is not found at its index")
        }
      }
    }
    try promise(written == content, "a group has another encoding")
  }

  /// With a valid checksum.
  static let memory = Parser("sync-memory", longest: 512, words: ["COFFERY1"]) { content in
    let bytes = content + PlainHash.digest(content).bytes
    let record = try bytes.lent { (bytes) throws(FormatError) in try SyncRecord(decoding: bytes) }
    try promise(record.encoded() == bytes, "a memory has another encoding")
  }

  static let name = Parser("sync-name", longest: 128, words: ["h/", "o/", "-"]) { content in
    let text = String(decoding: content, as: UTF8.self)
    guard let name = PieceName(text) else { throw FormatError.damaged("name", "it is refused") }
    try promise(name.description == text, "a name has another spelling")
  }
}
