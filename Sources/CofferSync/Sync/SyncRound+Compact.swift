internal import CofferPlatform
internal import CofferVault
internal import CofferVaultFormat
internal import FoundationEssentials
internal import SystemPackage

extension SyncRound {
  /// In milliseconds. By then each machine that was putting has put, or is to begin anew.
  static let day: UInt64 = 86_400_000
  /// The heads that an unasked compaction leaves: a few bytes each, for a search for an earlier put.
  private static let leftHeads = 16

  /// Removes dominated heads, and the groups that no other head names.
  ///
  /// Unasked, a head goes a day after it was first seen to be dominated. One under a former key goes a day after it was first
  /// seen: its machine has its items, and puts them again. A group goes if a removed head of more than a day ago
  /// named it, or a day after it was first seen without a head: a machine puts groups before their head.
  ///
  /// Groups are looked at seldom, as a remote may have many.
  ///
  /// - Parameters:
  ///   - heads: those under this vault's key.
  ///   - former: those under keys that this one comes from. Others stay.
  ///   - vector: that of a head which was just put.
  ///   - names: all whole heads there. Their bytes are in the cache. Others may name any group: nothing goes then.
  func compact(
    _ heads: [Found], _ former: [HeadName], below vector: VersionVector? = nil, _ names: [HeadName], isAsked: Bool
  ) throws(StoreError) -> SyncCompaction {
    let now = Milliseconds.count(clock())
    var garbage = try Garbage(in: folder.path, now)
    let vectors = heads.map(\.vector) + [vector].compactMap(\.self)
    let dominated = heads.filter { head in vectors.contains { $0.dominates(head.vector) } }
      .sorted { $0.state.generation > $1.state.generation }
    for name in dominated.map(\.head.name) + former { garbage.note(.head(name)) }
    let gone = isAsked ? dominated : dominated.dropFirst(Self.leftHeads).filter { garbage.isOld(.head($0.head.name)) }
    // One under the key of all must lie there first.
    let outdated = vectors.isEmpty ? [] : former.filter { garbage.isOld(.head($0)) }
    let goneNames = Set(gone.map(\.head.name) + outdated)
    guard isAsked || !goneNames.isEmpty || garbage.hasOldGroups else {
      try garbage.write()
      if names.last.map({ $0.generation % UInt64(Self.leftHeads) == 0 }) ?? false { try tidyCache(names) }
      return SyncCompaction()
    }
    let there = Set(try carrier.names().names.compactMap { if case .group(let hash) = $0 { hash } else { nil } })
    // Again, and last: another machine's newest head may name an old group.
    let left = try carrier.heads().heads.filter { !goneNames.contains($0) }
    try bring(left.map { .head($0) })
    let nameless = there.subtracting(try tidyCache(left))
    for hash in nameless { garbage.note(.group(hash)) }
    let unneeded = gone.filter { $0.state.time + Self.day < now }.flatMap { $0.head.groups.map(\.hash) }
    let old = nameless.intersection(unneeded).union(nameless.filter { garbage.isOld(.group($0)) })
    try carrier.remove(goneNames.map { .head($0) } + old.map { .group($0) })
    let kept = Set(dominated.map(\.head.name) + former).subtracting(goneNames)
    garbage.keep(Set(kept.map { .head($0) } + nameless.subtracting(old).map { .group($0) }))
    try garbage.write()
    var compaction = SyncCompaction()
    (compaction.heads, compaction.groups) = (goneNames.count, old.count)
    return compaction
  }

  /// Removes all from the cache but some heads and their groups.
  ///
  /// - Returns: these groups.
  @discardableResult
  private func tidyCache(_ heads: [HeadName]) throws(StoreError) -> Set<Digest32> {
    var groups: Set<Digest32> = []
    for name in heads { groups.formUnion(try self.groups(of: name)) }
    try folder.keep(Set(heads.map { .head($0) } + groups.map { .group($0) }))
    return groups
  }

  private func groups(of name: HeadName) throws(StoreError) -> [Digest32] {
    try Head(bytes(of: .head(name)), named: name, at: remote).groups.map(\.hash)
  }
}

/// Unneeded files at a remote, and since when this machine knows of them. It is in the cache: without it a day begins anew.
struct Garbage {
  private let file: FilePath
  private let now: UInt64
  private var since: [PieceName: UInt64] = [:]
  /// A line for each of a remote's most names.
  private static let largest = 16 << 20

  init(in folder: FilePath, _ now: UInt64) throws(StoreError) {
    (file, self.now) = (folder.appending("garbage"), now)
    let text = String(decoding: try PieceFolder.read(file, limit: Self.largest) ?? [], as: UTF8.self)
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count == 2, let name = PieceName(words[0]), let time = UInt64(words[1]) { since[name] = min(time, now) }
    }
  }

  mutating func note(_ name: PieceName) { since[name] = since[name] ?? now }
  mutating func keep(_ names: Set<PieceName>) { since = since.filter { names.contains($0.key) } }

  func isOld(_ name: PieceName) -> Bool { since[name].map { $0 + SyncRound.day < now } ?? false }

  var hasOldGroups: Bool {
    since.keys.contains { name in if case .group = name { isOld(name) } else { false } }
  }

  func write() throws(StoreError) {
    let lines = since.map { "\($0.key) \($0.value)\n" }.sorted().joined()
    try PieceFolder.write(Array(lines.utf8), to: file)
  }
}
