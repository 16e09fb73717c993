import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVaultRows
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferSync
@testable import CofferVault
@testable import CofferVaultFormat

/// A vault with the slot of a key file in a private folder, removed with this value.
final class PutVault: Sendable {
  let home: TestFolder
  var path: FilePath { home.path.appending("vault.sqlite") }
  static let keyFile = "PVKEY1-" + String(repeating: "00", count: 32) + "89eb0d6a\n"

  init() throws { home = try TestFolder("pieces") }

  static func credentials() throws -> Credentials { Credentials(keyFile: try secret(Array(keyFile.utf8))) }

  func create() throws -> UnlockedVault {
    try UnlockedVault.create(at: .file(path), with: Self.credentials(), options: .withoutPins)
  }

  func unlock() throws -> UnlockedVault {
    try LockedVault.open(.file(path), options: .withoutPins).unlock(with: Self.credentials())
  }

  func copy(to other: PutVault) throws {
    _ = try LockedVault.open(.file(path), options: .withoutPins).backup(to: other.path)
  }
}

/// A head and all groups that were lent for it.
struct Put: Sendable {
  static let machine = ReplicaID([UInt8](repeating: 7, count: 16)) ?? .zero

  private static var key: MergeKey {
    get throws(StoreError) {
      do throws(SecretMemoryError) { return MergeKey(try SecretBytes.random(32)) } catch { throw StoreError(memory: error) }
    }
  }

  /// The digests of a vault's pairs, as a head has them.
  static func digests(_ vault: borrowing UnlockedVault) throws -> [[Digest32]] {
    let content = try vault.mergeBase(key)
    return (0..<1024).map { content.digests(ofPair: $0) }
  }

  var head: Head
  var groups: [Digest32: [UInt8]]
  var lent: [Digest32] = []

  /// - Parameter changed: the pairs that are not those of `previous`; nil to read all.
  static func make(
    _ vault: borrowing UnlockedVault, generation: UInt64 = 1, since previous: Put? = nil, changed: Set<Int>? = nil
  ) throws -> Put {
    let commit = CommitID.random()
    let replicas = [VaultState.Replica(id: machine, generation: generation, commit: commit)]
    let lent = Mutex<[(Digest32, [UInt8])]>([])
    let head = try HeadVault.read(vault) { (rows) throws(StoreError) in
      let isUnchanged: (Int) -> Bool = { pair in changed.map { !$0.contains(pair) } ?? false }
      let content = try rows.mergeBase(Self.key, from: nil)
      let cutter = GroupCutter(rows, content, since: previous?.head, isUnchanged: isUnchanged) { hash, bytes in
        lent.withLock { $0.append((hash, bytes)) }
      }
      return try cutter.head(generation: generation, commit: commit, replicas: replicas)
    }
    let found = lent.withLock { $0 }
    var groups = previous?.groups ?? [:]
    for (hash, bytes) in found { groups[hash] = bytes }
    return Put(head: head, groups: groups, lent: found.map(\.0))
  }

  func pieces(digests: [Int: Digest32] = [:], mostKept: Int = 16 << 20) -> SealedPieces {
    let groups = groups
    return SealedPieces(head, at: "https://host/vault.git", digests: digests, mostKept: mostKept) { (hash) throws(StoreError) in
      guard let bytes = groups[hash] else { throw StoreError(.unreachable, "a group is missing", cure: "try again later") }
      return bytes
    }
  }

  /// Writes the files as they lie at a remote.
  func write(to folder: FilePath) throws {
    let root = URL(filePath: folder.string)
    for name in ["h", "o"] {
      try FileManager.default.createDirectory(at: root.appending(path: name), withIntermediateDirectories: true)
    }
    try Data(head.encoded()).write(to: root.appending(path: PieceName.head(head.name).description))
    for (hash, bytes) in groups { try Data(bytes).write(to: root.appending(path: PieceName.group(hash).description)) }
  }
}

func secret(_ bytes: [UInt8]) throws -> SecretBytes { try bytes.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) } }

func form(_ text: String) throws -> SecretForm { SecretForm(try secret(Array(text.utf8)), metadata: ItemMetadata()) }

func text(_ form: SecretForm?) -> String? {
  form.map { form in form.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}

/// The kind of the error that `body` throws, which has a cure; nil if it throws none.
func kind(_ body: () throws -> Void) throws -> StoreError.Kind? {
  do {
    try body()
    return nil
  } catch let error as StoreError {
    #expect(!error.cure.isEmpty, "\(error)")
    return error.kind
  }
}

func decoded(_ bytes: [UInt8]) throws(FormatError) -> Head {
  try bytes.span.bytes.withUnsafeBytes { (bytes) throws(FormatError) in try Head(decoding: bytes) }
}
